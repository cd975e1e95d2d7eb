#include "estimator/training/plane_norms.h"

#include <optional>

#include "models/operators/op_context.h"

namespace dlcost {
namespace {

// How many planes of each sample have statistics and a scale of their own.
std::optional<std::int64_t> PlanesOf(Graph& graph, const Node& node) {
  const bool instance = node.op == "InstanceNormalization";
  if ((!instance && node.op != "GroupNormalization") || !node.domain.empty() ||
      node.inputs.size() != 3) {
    return std::nullopt;
  }
  const auto shape = [&](std::size_t i) { return graph.tensors[Index(node.inputs[i])].type.shape; };
  const auto x = shape(0);
  if (!x || x->rank() < 3 || x->Elements() == Count(0) || !shape(1) || shape(1)->rank() != 1 ||
      shape(2) != shape(1)) {
    return std::nullopt;
  }
  const std::int64_t channels = (*x)[1];
  const std::int64_t planes =
      instance ? channels : OpContext(graph, node, node.opset).Int("num_groups", 0);
  if (planes < 1 || channels % planes != 0 || (*shape(1))[0] != planes) return std::nullopt;
  return planes;
}

}  // namespace

bool TrainPlaneNorm(NodeWriter& w, const Node& node) {
  const std::optional<std::int64_t> planes = PlanesOf(w.graph(), node);
  if (!planes) return false;
  w.Place(node.name, node.scope, node.phase);
  const Shape shape = w.ShapeOf(node.inputs[0]);
  const Count all = Count(shape[0]) * *planes;
  const Count rest = shape.Elements() / all;
  const DType type = w.TypeOf(node.inputs[1]);
  // Input i, again for each sample.
  const auto repeated = [&](std::size_t i) {
    return w.Reshape(w.Expand(node.inputs[i], {shape[0], *planes}), {all.value()});
  };
  const TensorId none = w.Expand(w.Scalar(0, type), {all.value()});
  const double epsilon = OpContext(w.graph(), node, node.opset).Float("epsilon", 1e-5);
  const TensorId normal =
      w.NodeWith("BatchNormInternal", kMicrosoft,
                 {w.Reshape(node.inputs[0], {1, all.value(), rest.value()}), repeated(1),
                  repeated(2), none, none},
                 {RealAttribute("epsilon", epsilon)}, {true, false, false, true, true})[0];
  w.Become(w.Reshape(normal, shape), node.outputs[0]);
  return true;
}

}  // namespace dlcost
