#include "estimator/training/plane_norms.h"

#include <optional>

#include "models/operators/op_context.h"

namespace dlcost {
namespace {

// Planes with statistics of their own in each sample, and whether each has one scale.
struct Planes {
  std::int64_t each_sample = 0;
  bool scaled = true;
};

std::optional<Planes> PlanesOf(Graph& graph, const Node& node) {
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
  const std::int64_t channels = (*x)[1], scales = (*shape(1))[0];
  const std::int64_t planes =
      instance ? channels : OpContext(graph, node, node.opset).Int("num_groups", 0);
  if (planes < 1 || channels % planes != 0 || (scales != planes && scales != channels)) {
    return std::nullopt;
  }
  return Planes{.each_sample = planes, .scaled = scales == planes};
}

}  // namespace

bool TrainPlaneNorm(NodeWriter& w, const Node& node) {
  const std::optional<Planes> planes = PlanesOf(w.graph(), node);
  if (!planes) return false;
  w.Place(node.name, node.scope, node.phase);
  const Shape shape = w.ShapeOf(node.inputs[0]);
  const Count all = Count(shape[0]) * planes->each_sample;
  const Count rest = shape.Elements() / all;
  const DType type = w.TypeOf(node.inputs[1]);
  const auto filled = [&](double value) { return w.Expand(w.Scalar(value, type), {all.value()}); };
  // Input i, again for each sample.
  const auto repeated = [&](std::size_t i) {
    return w.Reshape(w.Expand(node.inputs[i], {shape[0], planes->each_sample}), {all.value()});
  };
  const TensorId none = filled(0);
  const double epsilon = OpContext(w.graph(), node, node.opset).Float("epsilon", 1e-5);
  const TensorId normal = w.NodeWith(
      "BatchNormInternal", kMicrosoft,
      {w.Reshape(node.inputs[0], {1, all.value(), rest.value()}),
       planes->scaled ? repeated(1) : filled(1), planes->scaled ? repeated(2) : none, none, none},
      {RealAttribute("epsilon", epsilon)}, {true, false, false, true, true})[0];
  TensorId y = w.Reshape(normal, shape);
  if (!planes->scaled) {
    std::vector<std::int64_t> column(shape.rank() - 1, 1);
    column[0] = shape[1];
    const auto for_each_channel = [&](std::size_t i) {
      return w.InType(w.Reshape(node.inputs[i], Shape(column)), w.TypeOf(y));
    };
    y = w.Mul(y, for_each_channel(1));
    y = w.Add(y, for_each_channel(2));
  }
  w.Become(y, node.outputs[0]);
  return true;
}

}  // namespace dlcost
