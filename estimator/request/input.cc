#include "estimator/request/input.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "estimator/core/error.h"
#include "estimator/report/format.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

// The devices themselves, as the last stage.
void AddCompute(const InputRequest& request, std::vector<InputStage>& stages) {
  for (const auto& rate :
       {request.compute_items_per_s, request.compute_flops_per_s, request.flops_per_item}) {
    if (rate && !(*rate > 0)) throw Error("--compute, --work: {:g} is not above 0", *rate);
  }
  if (request.compute_items_per_s) {
    const double rate = *request.compute_items_per_s;
    stages.push_back(
        {"compute", request.devices * rate, fmt::format("{} x {:g}/s", request.devices, rate)});
  }
  if (request.compute_flops_per_s.has_value() != request.flops_per_item.has_value()) {
    throw Error(request.flops_per_item ? "--work needs --compute, as in 21TFLOP/s"
                                       : "--compute in FLOP/s needs --work, the FLOP of an item");
  }
  if (!request.flops_per_item) return;
  const double rate = *request.compute_flops_per_s, work = *request.flops_per_item;
  stages.push_back(
      {"compute", request.devices * rate / work,
       fmt::format("{} x {} / {:g} FLOP", request.devices, ReadableRate(rate, "FLOP"), work)});
}

}  // namespace

InputBounds BoundInput(const InputRequest& request) {
  InputBounds bounds;
  bounds.stages = StagesOf(request.input, request.system, request.devices);
  AddCompute(request, bounds.stages);
  if (bounds.stages.empty()) {
    throw Error("no stage given: --storage, --decode, --augment, --host-link or --compute");
  }
  bounds.slowest = *SlowestStage(bounds.stages);
  return bounds;
}

std::string InputText(const InputBounds& bounds, std::size_t max_width) {
  Table table({"stage", "items/s", "over the slowest", "arithmetic"}, {true, false, false, true});
  for (const InputStage& stage : bounds.stages) {
    table.Add({stage.name, fmt::format("{:.0f}", stage.rate),
               fmt::format("{:.2f}", stage.rate / bounds.slowest.rate), stage.how});
  }
  table.MayStandBelow("arithmetic");
  return table.Fit(max_width, "--format json has them") +
         fmt::format("\n{} bounds: {:.0f} items/s\n", bounds.slowest.name, bounds.slowest.rate);
}

std::string InputJson(const InputBounds& bounds) {
  using Json = nlohmann::ordered_json;
  Json stages = Json::array();
  for (const InputStage& stage : bounds.stages) {
    stages.push_back({{"stage", stage.name}, {"items_per_s", stage.rate}, {"how", stage.how}});
  }
  const Json json = {{"schema", "dlcost.input/1"},
                     {"stages", std::move(stages)},
                     {"bound_by", bounds.slowest.name},
                     {"items_per_s", bounds.slowest.rate}};
  return json.dump(2) + "\n";
}

}  // namespace dlcost
