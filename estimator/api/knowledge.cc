// What dlcost knows: runtimes, operators, reference networks.
#include "dlcost/network.h"
#include "dlcost/operators.h"
#include "dlcost/runtime.h"
#include "estimator/api/state.h"
#include "estimator/report/derivative_list.h"
#include "estimator/report/operator_list.h"
#include "estimator/request/network.h"
#include "estimator/runtime/runtime_list.h"

namespace dlcost::api {
namespace {

Runtime PublicRuntime(const dlcost::Runtime& from) {
  Runtime runtime{.id = from.id,
                  .name = from.name,
                  .aliases = from.aliases,
                  .vendors = from.vendors,
                  .parts = {},
                  .text = RuntimeText(from)};
  for (const dlcost::RuntimePart& part : from.parts) {
    runtime.parts.push_back({part.name, part.value, part.meaning, part.source});
  }
  return runtime;
}

}  // namespace

Runtime FindRuntime(const std::string& name) {
  return Guarded(
      [&] { return PublicRuntime(dlcost::FindRuntime(name, OpenDatabase().directories())); });
}

std::vector<Runtime> Runtimes() {
  return Guarded([&] {
    std::vector<Runtime> runtimes;
    for (const dlcost::Runtime& one : AllRuntimes(OpenDatabase().directories())) {
      runtimes.push_back(PublicRuntime(one));
    }
    return runtimes;
  });
}
std::string RuntimesText() {
  return Guarded([] { return RuntimeListText(AllRuntimes(OpenDatabase().directories())); });
}
std::string RuntimesJson(const std::string& name) {
  return Guarded([&] {
    const std::vector<std::string> directories = OpenDatabase().directories();
    return RuntimeListJson(name.empty() ? AllRuntimes(directories)
                                        : std::vector{dlcost::FindRuntime(name, directories)});
  });
}

std::vector<Operator> Operators(const std::string& domain) {
  return Guarded([&] {
    std::vector<Operator> operators;
    for (const OperatorFacts& from : OperatorList(domain)) {
      operators.push_back(
          {from.name, from.domain, from.versions, from.removed_in, from.formula, from.derivative});
    }
    return operators;
  });
}
std::string OperatorsText(const std::string& domain) {
  return Guarded([&] { return OperatorListText(domain); });
}
std::string OperatorText(const std::string& name) {
  return Guarded([&] { return dlcost::OperatorText(name); });
}
std::string DerivativesText(const std::string& domain) {
  return Guarded([&] { return DerivativeListText(domain); });
}

std::vector<Network> Networks() {
  std::vector<Network> networks;
  for (const NetworkInfo& from : dlcost::Networks()) {
    Network& network = networks.emplace_back();
    network.name = from.name;
    network.description = from.description;
    for (const NetworkOption& option : from.options) {
      network.settings.push_back({option.name, option.default_value, option.description});
    }
  }
  return networks;
}

std::string BuildNetwork(const std::string& name,
                         const std::map<std::string, std::string>& settings) {
  return Guarded([&] { return BuildNetworkOf(name, settings); });
}

}  // namespace dlcost::api
