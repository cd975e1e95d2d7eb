#include "estimator/precision/stored_matrices.h"

#include <algorithm>

namespace dlcost {
namespace {

constexpr int kMostRearranged = 4;  // steps between a stored matrix and its reader

}  // namespace

bool IsMatrixProduct(const Node& node) {
  return node.domain.empty() && (node.op == "MatMul" || node.op == "Gemm");
}

bool Rearranges(const Node& node) {
  return node.domain.empty() &&
         (node.op == "Transpose" || node.op == "Identity" || node.op == "Cast") &&
         node.inputs.size() == 1 && node.outputs.size() == 1;
}

bool TransposesSecond(const Node& node) {
  const AttributeValue* value = node.FindAttribute("transB");
  const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return number != nullptr && *number != 0;
}

StoredMatrices::StoredMatrices(const Graph& graph, const std::vector<TensorId>& stored,
                               const std::vector<Node>& nodes)
    : graph_(graph), stored_(graph.tensors.size(), false), reads_(stored_.size(), 0) {
  for (const TensorId id : stored) stored_[static_cast<std::size_t>(id)] = true;
  for (const Node& node : nodes) {
    ForEachRead(node, [&](TensorId id) { ++reads_[static_cast<std::size_t>(id)]; });
  }
  for (const Node& node : nodes) {
    if (Rearranges(node)) rearranged_.emplace(node.outputs[0], node);
    if (Joins(node)) joined_.emplace(node.outputs[0], node.inputs);
  }
}

bool StoredMatrices::IsMatrix(TensorId id) const {
  const auto n = static_cast<std::size_t>(id);
  if (id == kNoTensor || n >= stored_.size() || !stored_[n]) return false;
  const auto& shape = graph_.tensors[n].type.shape;
  return shape && shape->rank() > 1;
}

bool StoredMatrices::Joins(const Node& node) const {
  return node.domain.empty() && node.op == "Concat" && node.outputs.size() == 1 &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
           return IsMatrix(id) && reads_[static_cast<std::size_t>(id)] == 1;
         });
}

TensorId StoredMatrices::Of(TensorId id) const {
  for (int steps = 0; id != kNoTensor && steps <= kMostRearranged; ++steps) {
    const bool joined =
        joined_.contains(id) && graph_.tensors[static_cast<std::size_t>(id)].type.shape;
    if (IsMatrix(id) || joined) return id;
    const auto made = rearranged_.find(id);
    if (made == rearranged_.end()) return kNoTensor;
    id = made->second.inputs[0];
  }
  return kNoTensor;
}

std::vector<TensorId> StoredMatrices::Parts(TensorId matrix) const {
  const auto joined = joined_.find(matrix);
  return joined == joined_.end() ? std::vector<TensorId>() : joined->second;
}

std::vector<const Node*> StoredMatrices::Path(TensorId input) const {
  std::vector<const Node*> path;
  const TensorId matrix = Of(input);
  for (TensorId at = input; at != matrix; at = path.back()->inputs[0]) {
    path.push_back(&rearranged_.at(at));
  }
  return path;
}

std::size_t StoredMatrices::SummedAxis(TensorId input, bool transposes) const {
  const std::vector<const Node*> path = Path(input);
  const auto turns = std::count_if(path.begin(), path.end(),
                                   [](const Node* node) { return node->op == "Transpose"; });
  const bool turned = turns % 2 != 0;
  const TensorId matrix = Of(input);
  const std::size_t rank = graph_.tensors[static_cast<std::size_t>(matrix)].type.shape->rank();
  return turned != transposes ? rank - 1 : rank - 2;
}

}  // namespace dlcost
