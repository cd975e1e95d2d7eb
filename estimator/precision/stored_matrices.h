#pragma once

#include <map>
#include <vector>

#include "estimator/graph/graph.h"

namespace dlcost {

// MatMul and Gemm of ai.onnx, whose second input may be a stored matrix.
bool IsMatrixProduct(const Node& node);
// One input that is turned, cast or passed on as it is.
bool Rearranges(const Node& node);

// Which inputs of a graph's products are stored matrices, however they come there.
class StoredMatrices {
 public:
  // `stored`: the floating-point weights of the graph, whose nodes `nodes` are, in any order.
  StoredMatrices(const Graph& graph, const std::vector<TensorId>& stored,
                 const std::vector<Node>& nodes);

  // Whether a tensor is a stored one of two axes and more.
  bool IsMatrix(TensorId id) const;
  // The stored matrix, or what stored matrices are joined to, that an input is, maybe rearranged
  // before the run; kNoTensor: none.
  TensorId Of(TensorId input) const;
  // The matrices that are joined to this one, along its columns or rows: query, key and value.
  // Empty for others.
  std::vector<TensorId> Parts(TensorId matrix) const;
  // The nodes between an input and its matrix, the nearest to the input first.
  std::vector<const Node*> Path(TensorId input) const;
  // The axis of the matrix along which the product sums: the last one of a matrix that is
  // transposed, by the product (`transposes`) or on the way, else the one before.
  std::size_t SummedAxis(TensorId input, bool transposes) const;
  // Whether the node joins stored matrices that nothing else reads.
  bool Joins(const Node& node) const;

 private:
  const Graph& graph_;
  std::vector<bool> stored_;                          // per tensor
  std::vector<std::size_t> reads_;                    // how many nodes read it
  std::map<TensorId, Node> rearranged_;               // what is turned or cast, and how
  std::map<TensorId, std::vector<TensorId>> joined_;  // what Concat makes, and of what
};

// The attribute transB of a product.
bool TransposesSecond(const Node& node);

}  // namespace dlcost
