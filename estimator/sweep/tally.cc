#include "estimator/sweep/tally.h"

#include <functional>

#include "estimator/plan/kernel_memory.h"

namespace dlcost {
namespace {

constexpr Fusion kLevels[] = {Fusion::kNone, Fusion::kDefault, Fusion::kIdeal};

CountFamily FamilyOf(Fusion fusion) {
  if (fusion == Fusion::kNone) return CountFamily::kNodes;
  return fusion == Fusion::kDefault ? CountFamily::kFused : CountFamily::kIdeal;
}

// Walks over what is counted; `structure(hash)` takes what is no number, `number(slot, value)` the
// rest.
template <typename Structure, typename Number>
void Walk(const InferredModel& model, const PlanOptions& plan, Structure structure, Number number) {
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const CountedNode& counted = model.nodes[n];
    structure(std::hash<std::string>()(counted.name));
    structure(static_cast<std::size_t>(counted.status));
    structure((counted.upper_bound ? 2u : 0u) + (counted.assumed ? 1u : 0u));
    for (const Work::Entry& entry : counted.cost.work.entries()) {
      structure(static_cast<std::size_t>(entry.dtype) + 1000);
      for (int c = 0; c < kOpClassCount; ++c) {
        number(CountSlot{.what = CountSlot::What::kWork,
                         .op_class = static_cast<OpClass>(c),
                         .dtype = entry.dtype,
                         .node = static_cast<std::int32_t>(n)},
               entry.counts[static_cast<std::size_t>(c)].value());
      }
    }
  }
  for (const Fusion fusion : kLevels) {
    PlanOptions options = plan;
    options.fusion = fusion;
    ForEachKernel(model, options, [&](const Kernel& kernel) {
      structure(kernel.main);
      structure(kernel.nodes.size());
      number(CountSlot{.what = CountSlot::What::kBytes,
                       .family = FamilyOf(fusion),
                       .fusion = fusion,
                       .node = static_cast<std::int32_t>(kernel.main)},
             kernel.bytes().value());
    });
  }
  number(CountSlot{.what = CountSlot::What::kParameters}, model.parameters.value());
  number(CountSlot{.what = CountSlot::What::kWeightBytes}, model.weight_bytes.value());
  for (const Bytes live : LiveBytes(model, plan)) {
    number(CountSlot{.what = CountSlot::What::kLiveBytes, .family = CountFamily::kLive},
           live.value());
  }
}

}  // namespace

std::string_view Name(CountFamily family) {
  switch (family) {
    case CountFamily::kNodes:
      return "nodes";
    case CountFamily::kFused:
      return "bytes of fused kernels";
    case CountFamily::kIdeal:
      return "compulsory bytes";
    case CountFamily::kLive:
      return "live memory";
  }
  return "";
}

CountTally TallyOf(const InferredModel& model, const PlanOptions& plan) {
  CountTally tally;
  Walk(
      model, plan, [&](std::size_t hash) { tally.structure = tally.structure * 1000003 + hash; },
      [&](const CountSlot&, std::int64_t value) { tally.values.push_back(value); });
  tally.structure = tally.structure * 1000003 + tally.values.size();
  return tally;
}

std::vector<CountSlot> LayoutOf(const InferredModel& model, const PlanOptions& plan) {
  std::vector<CountSlot> layout;
  Walk(
      model, plan, [](std::size_t) {},
      [&](const CountSlot& slot, std::int64_t) { layout.push_back(slot); });
  return layout;
}

}  // namespace dlcost
