#include "estimator/training/saved.h"

#include <numeric>

#include "estimator/infer/find_strided.h"

namespace dlcost {

std::vector<TensorId> ViewedRoots(const InferredModel& step) {
  const Graph& graph = step.model->graph;
  std::vector<TensorId> root(graph.tensors.size());
  std::iota(root.begin(), root.end(), TensorId{0});
  const std::vector<bool> views = FindStrided(ValueGraph(step), true, false).views;
  for (std::size_t n = 0; n < step.nodes.size(); ++n) {
    const CountedNode& counted = step.nodes[n];
    const Node& node = *counted.node;
    const bool looks = views[n] || counted.status == NodeStatus::kView;
    if (counted.graph != &graph || !looks || node.inputs.empty() || node.inputs[0] == kNoTensor) {
      continue;
    }
    for (const TensorId id : node.outputs) {
      if (id == kNoTensor) continue;
      root[static_cast<std::size_t>(id)] = root[static_cast<std::size_t>(node.inputs[0])];
    }
  }
  return root;
}

std::vector<TensorId> SavedValues(const InferredModel& step) {
  const Graph& graph = step.model->graph;
  const std::vector<TensorId> root = ViewedRoots(step);
  std::vector<bool> made_before(root.size(), false), saved(root.size(), false);
  std::vector<bool> is_input(root.size(), false);
  for (const TensorId id : graph.inputs) is_input[static_cast<std::size_t>(id)] = true;
  for (const CountedNode& counted : step.nodes) {
    if (counted.graph != &graph) continue;
    const Node& node = *counted.node;
    const bool forward = node.phase == Phase::kForward || node.phase == Phase::kLoss;
    if (forward) {
      ForEachRead(node, [&](TensorId id) {
        const auto t = static_cast<std::size_t>(id);
        made_before[t] = made_before[t] || is_input[t];
      });
    }
    for (const TensorId id : node.outputs) {
      if (id == kNoTensor || root[static_cast<std::size_t>(id)] != id) continue;
      made_before[static_cast<std::size_t>(id)] = forward;
    }
    const bool backward = node.phase == Phase::kRecompute || node.phase == Phase::kBackwardData ||
                          node.phase == Phase::kBackwardWeights;
    if (!backward) continue;
    const auto save = [&](TensorId id) {
      saved[static_cast<std::size_t>(root[static_cast<std::size_t>(id)])] = true;
    };
    // Control flow costs nothing by itself: what its graphs read, it hands them.
    if (counted.def != nullptr && counted.def->control != ControlFlow::kNone) {
      ForEachRead(node, save);
    }
    for (const Access& access : counted.cost.accesses) {
      if (access.is_output || access.operand < 0 || access.bytes == Bytes(0)) continue;
      const TensorId id = node.inputs[static_cast<std::size_t>(access.operand)];
      if (id != kNoTensor) save(id);
    }
  }
  std::vector<TensorId> values;
  for (std::size_t t = 0; t < root.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    if (!saved[t] || !made_before[t] || tensor.constant || tensor.foldable || !tensor.type.shape) {
      continue;
    }
    values.push_back(static_cast<TensorId>(t));
  }
  return values;
}

Bytes SavedBytes(const InferredModel& step) {
  Bytes bytes;
  for (const TensorId id : SavedValues(step)) {
    const TensorType& type = step.model->graph.tensors[static_cast<std::size_t>(id)].type;
    bytes += SizeOf(type.dtype, type.shape->Elements());
  }
  return bytes;
}

}  // namespace dlcost
