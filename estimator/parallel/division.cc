#include "estimator/parallel/division.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/infer/edit.h"
#include "estimator/infer/parameters.h"
#include "estimator/parallel/unshared_experts.h"

namespace dlcost {
namespace {

constexpr int kExpertsOpset = 13;  // what the experts' parts are written in

// Whole experts on each device; `names` become those of their weights.
InferredModel ShareOutExperts(const InferredModel& model, const ExpertPlaces& places,
                              const InferOptions& options, std::set<std::string>& names) {
  Model edited = EditableCopy(model);
  StoreGenerated(edited.graph);
  const auto opset = edited.opset.find("");
  NodeWriter writer(edited.graph,
                    std::max(kExpertsOpset, opset == edited.opset.end() ? 0 : opset->second));
  const GroupedExperts experts = GroupExperts(writer, places);
  if (experts.weights.empty()) {
    throw Error("ep={}: {}", places.devices, WhyNotShared(model));
  }
  names.insert(experts.weights.begin(), experts.weights.end());
  InferredModel result = InferEdited(std::move(edited), model, options);
  result.notes.insert(result.notes.end(), experts.notes.begin(), experts.notes.end());
  result.notes.push_back(
      places.load > 1
          ? fmt::format("the busiest device's experts get {} times their share of the tokens",
                        places.load)
          : "every expert gets as many tokens; --expert-load says what the busiest ones get");
  return result;
}

}  // namespace

Division DivisionOf(const HybridPlan& plan, bool trains, double expert_load,
                    const DeviceConfiguration* annotations) {
  return {.tensor = {plan.tensor, plan.sequence, annotations, trains, plan.experts > 1},
          .context = {plan.context, plan.tensor, trains},
          .experts = {plan.experts, plan.folds() ? 1 : plan.tensor, expert_load}};
}

DividedModel Divide(const InferredModel& model, const Division& division,
                    const InferOptions& options) {
  DividedModel divided;
  const InferredModel* now = &model;
  const auto become = [&](InferredModel next) {
    divided.model = std::move(next);
    now = &divided.model;
  };
  if (division.context.devices > 1) become(InferContextRank(*now, division.context, options));
  if (division.tensor.devices > 1) become(InferRank(*now, division.tensor, options));
  if (division.experts.devices > 1) {
    become(ShareOutExperts(*now, division.experts, options, divided.experts));
  }
  return divided;
}

}  // namespace dlcost
