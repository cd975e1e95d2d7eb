#include "estimator/parallel/step_memory.h"

#include <algorithm>
#include <string>
#include <vector>

#include "estimator/infer/memory.h"
#include "estimator/training/optimizer.h"
#include "estimator/training/recompute.h"
#include "estimator/training/saved.h"

namespace dlcost {

RunningBytes BesideLasting(const InferredModel& step, const KernelOfNode& kernel_of_node,
                           const std::vector<Bytes>& workspaces) {
  std::vector<std::size_t> kernel_of;
  kernel_of.reserve(kernel_of_node.of.size());
  std::size_t last = 0;
  for (const std::size_t kernel : kernel_of_node.of) {
    if (kernel != kNoKernel) last = std::max(last, kernel);
    kernel_of.push_back(kernel == kNoKernel ? last : kernel);
  }
  const std::unordered_map<TensorId, TensorId> behind = GradientsBehindUpdate(step.model->graph);
  std::vector<bool> lasting(step.model->graph.tensors.size(), false);
  const auto lasts_always = [&](TensorId id) {
    if (id != kNoTensor) lasting[static_cast<std::size_t>(id)] = true;
  };
  for (const Node& node : step.model->graph.nodes) {
    const OptimizerOperands operands = OperandsOf(node);
    std::for_each(operands.parameters.begin(), operands.parameters.end(), lasts_always);
    std::for_each(operands.states.begin(), operands.states.end(), lasts_always);
    for (const TensorId used : operands.gradients) {
      const auto before = behind.find(used);
      lasts_always(used);
      if (before != behind.end()) lasts_always(before->second);
    }
  }
  // Moments are those of the kernels of the main graph. What runs inside control flow runs while
  // the node does that holds it, whose kernel comes before.
  std::vector<std::size_t> order;
  for (std::size_t n = 0; n < step.nodes.size(); ++n) {
    if (step.nodes[n].graph == &step.model->graph) order.push_back(kernel_of[n]);
  }
  std::sort(order.begin(), order.end());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  const auto moment_of = [&](std::size_t kernel) {
    const auto after = std::upper_bound(order.begin(), order.end(), kernel) - order.begin();
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(after, 1));
  };
  const LiveBuffers memory = LiveAndBuffers(step, kernel_of);
  const std::vector<Bytes>& live = memory.live;
  std::vector<Bytes> begins(live.size() + 1), ends(live.size() + 1);  // of what lasts, by moment
  for (const Buffer& buffer : memory.buffers) {
    if (!lasting[static_cast<std::size_t>(buffer.tensor)]) continue;
    begins[buffer.from + 1] += buffer.size;
    ends[buffer.to + 2] += buffer.size;
  }
  std::vector<bool> updates(live.size(), false);
  for (std::size_t n = 0; n < step.nodes.size(); ++n) {
    if (step.nodes[n].node->phase == Phase::kOptimizer) updates[moment_of(kernel_of[n])] = true;
  }
  std::vector<Bytes> beside(live.size());
  Bytes lasts;
  // What is there at the start is there while the first kernel runs.
  for (std::size_t moment = 1; moment < live.size(); ++moment) {
    lasts = lasts + begins[moment] - ends[moment];
    if (live[moment] > lasts) beside[moment] = live[moment] - lasts;
  }
  RunningBytes running{.peak = *std::max_element(live.begin(), live.end()),
                       .of = std::vector<Bytes>(workspaces.size())};
  for (std::size_t kernel = 0; kernel < workspaces.size(); ++kernel) {
    const std::size_t moment = moment_of(kernel);
    running.of[kernel] = beside[moment] + workspaces[kernel];
    Bytes& most = updates[moment] ? running.update : running.passes;
    most = std::max(most, running.of[kernel]);
  }
  return running;
}

std::vector<std::size_t> KeptFor(const InferredModel& step, const KernelOfNode& kernel_of) {
  const std::vector<TensorId> root = ViewedRoots(step);
  std::vector<std::size_t> kept_for(root.size(), kNoKernel);
  for (const CountedNode& counted : step.nodes) {
    if (counted.graph != &step.model->graph) continue;
    const Node& node = *counted.node;
    const bool backward = node.phase == Phase::kRecompute || node.phase == Phase::kBackwardData ||
                          node.phase == Phase::kBackwardWeights;
    if (!backward) continue;
    // Nodes of the way back are named after the forward node that they are for.
    const std::size_t end = std::min(counted.name.find("/grad/"), counted.name.rfind("/again"));
    if (end == std::string::npos) continue;
    const std::size_t kernel = kernel_of.Named(std::string_view(counted.name).substr(0, end));
    if (kernel == kNoKernel) continue;
    ForEachRead(node, [&](TensorId id) {
      std::size_t& first = kept_for[static_cast<std::size_t>(root[static_cast<std::size_t>(id)])];
      first = std::min(first, kernel);  // kNoKernel is above all
    });
  }
  return kept_for;
}

}  // namespace dlcost
