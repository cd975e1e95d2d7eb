#include "estimator/parallel/step_memory.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "estimator/infer/memory.h"
#include "estimator/training/optimizer.h"
#include "estimator/training/recompute.h"

namespace dlcost {

RunningBytes BesideLasting(const InferredModel& step, const KernelOfNode& kernel_of_node) {
  std::vector<std::size_t> kernel_of;
  std::size_t last = 0;
  for (const CountedNode& counted : step.nodes) {
    const auto kernel = kernel_of_node.find(counted.name);
    if (kernel != kernel_of_node.end()) last = std::max(last, kernel->second);
    kernel_of.push_back(kernel == kernel_of_node.end() ? last : kernel->second);
  }
  const std::unordered_map<TensorId, TensorId> behind = GradientsBehindUpdate(step.model->graph);
  std::unordered_set<TensorId> lasting;
  for (const Node& node : step.model->graph.nodes) {
    const OptimizerOperands operands = OperandsOf(node);
    lasting.insert(operands.parameters.begin(), operands.parameters.end());
    lasting.insert(operands.states.begin(), operands.states.end());
    for (const TensorId used : operands.gradients) {
      const auto before = behind.find(used);
      lasting.insert({used, before == behind.end() ? used : before->second});
    }
  }
  // Numbers of the kernels without gaps, as moments are counted.
  std::vector<std::size_t> order = kernel_of;
  std::sort(order.begin(), order.end());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  for (std::size_t& k : kernel_of) {
    k = static_cast<std::size_t>(std::lower_bound(order.begin(), order.end(), k) - order.begin());
  }
  const std::vector<Bytes> live = LiveBytes(step, kernel_of);
  std::vector<Bytes> begins(live.size() + 1), ends(live.size() + 1);  // of what lasts, by moment
  for (const Buffer& buffer : Buffers(step, kernel_of)) {
    if (lasting.count(buffer.tensor) == 0) continue;
    begins[buffer.from + 1] += buffer.size;
    ends[buffer.to + 2] += buffer.size;
  }
  std::vector<bool> updates(live.size(), false);
  for (std::size_t n = 0; n < step.nodes.size(); ++n) {
    if (step.nodes[n].node->phase == Phase::kOptimizer) updates[kernel_of[n] + 1] = true;
  }
  RunningBytes running;
  Bytes lasts;
  // What is there at the start is there while the first kernel runs.
  for (std::size_t moment = 1; moment < live.size(); ++moment) {
    lasts = lasts + begins[moment] - ends[moment];
    if (live[moment] <= lasts) continue;
    Bytes& most = updates[moment] ? running.update : running.passes;
    most = std::max(most, live[moment] - lasts);
  }
  return running;
}

std::unordered_map<TensorId, std::size_t> KeptFor(const InferredModel& step,
                                                  const KernelOfNode& kernel_of) {
  std::unordered_map<TensorId, std::size_t> kept_for;
  std::unordered_map<TensorId, TensorId> viewed;  // what a view is of
  for (const CountedNode& counted : step.nodes) {
    if (counted.graph != &step.model->graph) continue;
    const Node& node = *counted.node;
    if (counted.status == NodeStatus::kView && !node.inputs.empty() &&
        node.inputs[0] != kNoTensor) {
      const auto from = viewed.find(node.inputs[0]);
      const TensorId root = from == viewed.end() ? node.inputs[0] : from->second;
      for (const TensorId id : node.outputs) viewed.emplace(id, root);
    }
    const bool backward = node.phase == Phase::kRecompute || node.phase == Phase::kBackwardData ||
                          node.phase == Phase::kBackwardWeights;
    // Nodes of the way back are named after the forward node that they are for.
    const std::size_t end = std::min(counted.name.find("/grad/"), counted.name.rfind("/again"));
    const auto kernel = kernel_of.find(counted.name.substr(0, end));
    if (!backward || end == std::string::npos || kernel == kernel_of.end()) continue;
    ForEachRead(node, [&](TensorId id) {
      const auto from = viewed.find(id);
      const auto [known, fresh] =
          kept_for.emplace(from == viewed.end() ? id : from->second, kernel->second);
      if (!fresh) known->second = std::min(known->second, kernel->second);
    });
  }
  return kept_for;
}

}  // namespace dlcost
