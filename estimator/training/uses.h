#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "estimator/graph/graph.h"
#include "models/operators/op_context.h"

namespace dlcost {

// Who makes and who reads each value of a graph, as the graph was when this was made.
class Uses {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);  // no node

  explicit Uses(Graph& graph);

  const Node& node(std::size_t n) const { return graph_.nodes[n]; }
  const Tensor& tensor(TensorId id) const { return graph_.tensors[static_cast<std::size_t>(id)]; }
  OpContext ContextOf(std::size_t n) const { return {graph_, node(n), 1}; }
  // Whether a node is this operator of ONNX; false for kNone.
  bool Is(std::size_t n, std::string_view op) const {
    return n != kNone && node(n).domain.empty() && node(n).op == op;
  }
  // A node's input; kNoTensor where it has none.
  TensorId In(std::size_t n, std::size_t i) const {
    return i < node(n).inputs.size() ? node(n).inputs[i] : kNoTensor;
  }
  // The node that makes a value; kNone for inputs, parameters and kNoTensor.
  std::size_t Maker(TensorId id) const {
    return id == kNoTensor ? kNone : makers_[static_cast<std::size_t>(id)];
  }
  // The nodes that read a value, one for each time; kNone for an output of the graph.
  const std::vector<std::size_t>& Readers(TensorId id) const {
    return readers_[static_cast<std::size_t>(id)];
  }
  // The one node that reads a value; kNone where there is none, or others.
  std::size_t OnlyReader(TensorId id) const {
    return id != kNoTensor && Readers(id).size() == 1 ? Readers(id)[0] : kNone;
  }
  // Null where it is not known.
  const Shape* ShapeOf(TensorId id) const {
    return id != kNoTensor && tensor(id).type.shape ? &*tensor(id).type.shape : nullptr;
  }
  // The number of a tensor with one element, where it is known.
  std::optional<double> Number(TensorId id) const;

 private:
  Graph& graph_;
  std::vector<std::size_t> makers_;                // per tensor
  std::vector<std::vector<std::size_t>> readers_;  // per tensor
};

}  // namespace dlcost
