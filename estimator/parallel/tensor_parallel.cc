#include "estimator/parallel/tensor_parallel.h"

#include <fmt/format.h>

#include "estimator/core/error.h"
#include "estimator/infer/edit.h"
#include "estimator/parallel/rank_graph.h"

namespace dlcost {
namespace {

// The last axis of the exchanged sums that the products' weights do not have: the sequence, of
// [batch, sequence, width].
std::set<FactorId> SequenceOf(const RankGraph& rank) {
  const Graph& graph = rank.model.graph;
  const Factors& factors = rank.axes.factors;
  std::set<FactorId> sequence;
  for (std::size_t n = 0; n < graph.nodes.size() && sequence.empty(); ++n) {
    if (!rank.axes.nodes[n] || rank.macs[n] == Macs(0) || !rank.IsPartial(*rank.axes.nodes[n])) {
      continue;
    }
    const NodeSharding& sharding = *rank.axes.nodes[n];
    std::set<FactorId> in_weights;
    for (std::size_t i = 0; i < sharding.inputs.size(); ++i) {
      const TensorId id = graph.nodes[n].inputs[i];
      if (id == kNoTensor || !graph.tensors[static_cast<std::size_t>(id)].constant) continue;
      for (const Axis& axis : sharding.inputs[i]) {
        for (const FactorId leaf : factors.Leaves(axis)) in_weights.insert(leaf);
      }
    }
    for (const Axis& axis : sharding.outputs[0]) {
      for (const FactorId term : factors.Terms(axis)) {
        if (in_weights.count(term) == 0 && !factors.blocked(term)) sequence = {term};
      }
    }
  }
  if (sequence.empty()) throw Error("sp=1: the sums of this model have no sequence to divide");
  const std::int64_t length = factors.SizeOf({*sequence.begin()});
  const int devices = rank.plan.devices;
  if (length % devices != 0) {
    throw Error("sp=1: a sequence of {} does not divide among tp={} devices; {} would", length,
                devices, (length / devices + 1) * devices);
  }
  return sequence;
}

// Mixtures of experts (com.microsoft MoE) whose inner axes are not split.
void KeepExperts(RankGraph& rank) {
  constexpr std::size_t kFirstWeight = 2, kFc2 = 4, kInner = 2;
  const Graph& graph = rank.model.graph;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool experts = node.op == "MoE" && node.domain == "com.microsoft" && rank.axes.nodes[n];
    if (!experts || node.inputs.size() <= kFc2) continue;
    const Axes& fc2 = rank.axes.nodes[n]->inputs[kFc2];
    if (fc2.size() > kInner) rank.axes.nodes[n]->whole.push_back(fc2[kInner]);
    rank.axes.nodes[n]->summed.clear();
    rank.gathered.insert(node.inputs.begin() + kFirstWeight, node.inputs.end());
  }
}

}  // namespace

InferredModel InferRank(const InferredModel& model, const TensorParallel& plan,
                        const InferOptions& options) {
  if (plan.devices < 2) throw Error("tp={}: operators are split among two or more", plan.devices);
  RankGraph rank(model, {.option = fmt::format("tp={}", plan.devices),
                         .devices = plan.devices,
                         .trains = plan.trains});
  rank.axes = AxesOf(rank.model.graph);
  if (plan.sequence && plan.whole_experts) KeepExperts(rank);
  Split split = plan.annotations != nullptr
                    ? SplitAsAnnotated(rank.model.graph, rank.axes, *plan.annotations, plan.devices)
                    : ChooseSplit(rank.model.graph, rank.axes, rank.macs, plan.devices);
  rank.split = std::move(split.factors);
  rank.notes = std::move(split.notes);
  if (plan.sequence) rank.sequence = SequenceOf(rank);
  WriteRank(rank);
  return InferWritten(std::move(rank), model, options);
}

}  // namespace dlcost
