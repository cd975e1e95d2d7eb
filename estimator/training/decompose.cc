#include "estimator/training/decompose.h"

#include <algorithm>
#include <utility>

#include "estimator/core/error.h"
#include "estimator/training/reverse.h"
#include "models/decompositions/decomposition.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

// What the outputs of the node are made of: values of the same type and shape.
bool Fits(const NodeWriter& w, const FusedNode& fused) {
  const Node& node = fused.node();
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == kNoTensor) continue;
    const TensorId value = fused.ValueOf(i);
    if (value == kNoTensor || w.TypeOf(value) != w.TypeOf(node.outputs[i]) ||
        w.ShapeOf(value) != w.ShapeOf(node.outputs[i])) {
      return false;
    }
  }
  return true;
}

// Whether the parts of the node are written.
bool Write(NodeWriter& w, const Node& node, const Decomposition& decomposition) {
  const OpDef* op = FindOperator(node.domain, node.op);
  FusedNode fused(w, node, op == nullptr ? 1 : SinceVersion(*op, node.opset));
  w.Place(node.name, node.scope, node.phase);
  const std::size_t before = w.written().size();
  try {
    // Where inference found that the operands fit.
    for (const TensorId id : node.outputs) {
      if (id != kNoTensor) w.ShapeOf(id);
    }
    decomposition.write(fused);
    if (Fits(w, fused)) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i] != kNoTensor) w.Become(fused.ValueOf(i), node.outputs[i]);
      }
      return true;
    }
  } catch (const Unresolved&) {  // its derivative will say that it is not written
  } catch (const Error&) {
  }
  w.DropFrom(before);
  return false;
}

}  // namespace

void Decompose(NodeWriter& writer, const std::vector<TensorId>& parameters) {
  Graph& graph = writer.graph();
  const auto consists = [](const Node& node) {
    return FindDecomposition(node.domain, node.op) != nullptr;
  };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), consists)) return;
  std::vector<bool> active(graph.tensors.size(), false);
  for (const TensorId id : parameters) active[Index(id)] = true;
  SpreadActivity(graph, active);
  std::vector<Node> nodes = std::exchange(graph.nodes, {});
  for (Node& node : nodes) {
    const Decomposition* decomposition = FindDecomposition(node.domain, node.op);
    bool trained = false;
    ForEachRead(node, [&](TensorId id) { trained |= active[Index(id)]; });
    if (decomposition == nullptr || !trained || node.outputs.empty() ||
        !Write(writer, node, *decomposition)) {
      graph.nodes.push_back(std::move(node));
    }
    writer.Take();
  }
}

}  // namespace dlcost
