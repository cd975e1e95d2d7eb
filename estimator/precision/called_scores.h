#pragma once

#include <unordered_map>

#include "estimator/graph/graph.h"

namespace dlcost {

// Scores inside a call of scaled_dot_product_attention of operands with other than four axes, for
// which PyTorch has no fused kernel: its products and the softmax between them run in the half type
// of the call, as autocast converts the call's operands and nothing inside
// (aten/src/ATen/native/transformers/attention.cpp: _scaled_dot_product_attention_math;
// autocast_mode.h: scaled_dot_product_attention is cast as one function).
class CalledScores {
 public:
  // Nodes in their order, with the operands that the file gives them.
  void Look(const Graph& graph, const Node& node);
  bool Has(TensorId id) const { return scores_.count(id) != 0; }

 private:
  std::unordered_map<TensorId, double> scaled_;  // by a stored number
  std::unordered_map<TensorId, double> scores_;  // of operands that are scaled alike, by the factor
};

}  // namespace dlcost
