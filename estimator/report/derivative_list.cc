#include "estimator/report/derivative_list.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "estimator/core/error.h"
#include "estimator/report/table.h"
#include "models/gradients/gradient.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

// By the worked examples: what the first output holds.
bool WritesReals(const OpDef& def) {
  if (def.cases.empty()) return true;
  for (const OpCase& example : def.cases) {
    std::string_view type = example.outputs;
    for (const std::string_view prefix : {"seq:", "opt:"}) {
      if (type.substr(0, prefix.size()) == prefix) type.remove_prefix(prefix.size());
    }
    const bool real = type.substr(0, 1) == "f" || type.substr(0, 2) == "bf" ||
                      type.substr(0, 1) == "c" || type.substr(0, 1) == "_";
    if (real) return true;
  }
  return false;
}

bool IsOfAStep(const OpDef& def) {
  return def.domain == "ai.onnx.preview.training" || def.domain == "dlcost.training" ||
         def.name.find("Grad") != std::string_view::npos ||
         def.name.find("Optimizer") != std::string_view::npos;
}

std::string_view DerivativeOf(const OpDef& def) {
  if (const GradientDef* rule = FindGradient(def.domain, def.name)) {
    return rule->write == nullptr ? "zero wherever there is one" : "a rule";
  }
  if (def.name == "BatchNormalization") return "a rule, as BatchNormInternal in training";
  if (def.name == "RMSNormalization") return "a rule, as SimplifiedLayerNormalization in training";
  if (IsOfAStep(def)) return "none: part of a step itself";
  if (def.control != ControlFlow::kNone) return "not written: bodies of control flow";
  if (def.random) return "none: draws numbers";
  if (!WritesReals(def)) return "none: writes no reals";
  return "not written";
}

}  // namespace

std::string DerivativeListText(const std::string& domain) {
  std::map<std::pair<std::string, std::string>, std::string_view> operators;
  for (const std::span<const OpDef> family : OperatorFamilies()) {
    for (const OpDef& def : family) {
      const std::string own = def.domain.empty() ? "ai.onnx" : std::string(def.domain);
      if (!domain.empty() && domain != own) continue;
      operators.emplace(std::pair(own, std::string(def.name)), DerivativeOf(def));
    }
  }
  if (operators.empty()) throw Error("no operators of domain '{}'", Printable(domain));
  Table table({"domain", "operator", "derivative"}, {true, true, true});
  std::map<std::string_view, int> totals;
  for (const auto& [key, derivative] : operators) {
    table.Add({key.first, key.second, std::string(derivative)});
    ++totals[derivative];
  }
  std::string text = table.Render() + "\n";
  for (const auto& [derivative, count] : totals)
    text += fmt::format("{:>4}  {}\n", count, derivative);
  return text;
}

}  // namespace dlcost
