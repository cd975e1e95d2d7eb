#include "estimator/plan/execute.h"

#include <algorithm>

#include "estimator/core/integer.h"
#include "models/algorithms/attention.h"
#include "models/algorithms/pointwise.h"

namespace dlcost {
namespace {

bool Contains(const std::vector<std::size_t>& nodes, std::size_t n) {
  return std::find(nodes.begin(), nodes.end(), n) != nodes.end();
}

// Takes `count` multiply-accumulates of any type out of `work` and returns the rest of it.
Work WithoutMacs(const Work& work) {
  Work rest;
  for (const Work::Entry& entry : work.entries()) {
    for (int c = 0; c < kOpClassCount; ++c) {
      const auto op_class = static_cast<OpClass>(c);
      if (op_class == OpClass::kMac) continue;
      rest.Add(op_class, entry.dtype, entry.counts[static_cast<std::size_t>(c)]);
    }
  }
  return rest;
}

struct Chooser {
  const Target& target;
  DType type;

  std::optional<Choice> operator()(const GemmNest& nest) const {
    return ChooseGemm(nest, type, target);
  }
  std::optional<Choice> operator()(const ConvNest& nest) const {
    return ChooseConv(nest, type, target);
  }
  std::optional<Choice> operator()(const AttentionNest& nest) const {
    return ChooseAttention(nest, type, target);
  }
  std::optional<Choice> operator()(const RecurrentNest& nest) const {
    return ChooseRecurrent(nest, type, target);
  }
  template <typename Other>
  std::optional<Choice> operator()(const Other&) const {
    return std::nullopt;
  }
};

void Repeat(Execution& execution, Count times) {
  if (times == Count(1)) return;
  for (Stage& stage : execution.stages) {
    stage.launches *= times;
    stage.extra_read = stage.extra_read * times;
    stage.extra_written = stage.extra_written * times;
    for (Term& term : stage.terms) term.instructions = term.instructions * times;
  }
}

// The least multiply-accumulates of any kernel that works like this one.
Count LeastMacs(const Kernel& kernel, Count macs) {
  if (const auto* conv = std::get_if<ConvNest>(&kernel.nest)) {
    return LeastConvMacs(*conv, kernel.execution->algorithm, macs);
  }
  const auto* nest = std::get_if<AttentionNest>(&kernel.nest);
  if (nest == nullptr || kernel.execution->algorithm != Algorithm::kFlashAttention) return macs;
  const Count scores = nest->q_len * nest->kv_len;
  if (scores == Count(0)) return macs;
  return Truncate(macs.AsDouble() * VisibleScores(*nest).AsDouble() / scores.AsDouble());
}

}  // namespace

Work ToWork(const Execution& execution) {
  Work work;
  for (const Stage& stage : execution.stages) {
    for (const Term& term : stage.terms) {
      work.Add(OpClass::kMac, term.type, term.instructions.fma);
      work.Add(OpClass::kAdd, term.type, term.instructions.add);
      work.Add(OpClass::kMul, term.type, term.instructions.mul);
      work.Add(OpClass::kExp, term.type, term.instructions.special);
    }
  }
  return work;
}

void ExecuteKernel(Kernel& kernel, const Group& group, const ValueGraph& values,
                   const Target& target) {
  // Folded nodes are done before the run, or on the way into the product.
  Work needed, epilogue;
  for (const std::size_t n : group.nodes) {
    if (!values.Runs(n) || Contains(group.folded, n)) continue;
    const Work& work = values.node(n).cost.work;
    needed.Add(work);
    epilogue.Add(WithoutMacs(work));
  }
  const Count macs = needed.Of(OpClass::kMac);
  kernel.least = WithoutMacs(needed);
  kernel.least.Add(OpClass::kMac, kernel.math, macs);
  kernel.executed = kernel.least;
  if (target.device == nullptr || macs == Count(0)) return;

  std::optional<Choice> choice = std::visit(Chooser{target, kernel.math}, kernel.nest);
  if (!choice) return;
  Execution& execution = choice->execution;
  Repeat(execution, values.node(kernel.main).repeat);
  // An attention kernel's own terms cover its softmax and masks; layers of recurrent cells end with
  // the stage that computes the gates.
  if (!std::holds_alternative<AttentionNest>(kernel.nest)) {
    AddPointwise(execution, "bias, activation and fused neighbours", TermKind::kEpilogue, epilogue);
  }
  kernel.algorithm = execution.name;
  kernel.runner_up = choice->runner_up;
  kernel.launches = execution.Launches();
  kernel.executed = ToWork(execution);
  kernel.execution = std::make_shared<const Execution>(std::move(execution));
  const Count least = LeastMacs(kernel, macs);
  kernel.least = WithoutMacs(needed);
  kernel.least.Add(OpClass::kMac, kernel.math, least);
}

}  // namespace dlcost
