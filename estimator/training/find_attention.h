#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/training/attention_operands.h"
#include "estimator/training/fused_attention.h"

namespace dlcost {

// Nodes that are one attention, by their indices.
struct FoundAttention {
  AttentionOperand q, k, v;
  std::int64_t kv_heads = 0;  // of q, k and v packed in q; 0: each is one of its own
  std::vector<TensorId> masks;
  std::vector<std::string> kinds;  // of each mask: add, keep, drop
  double scale = 1, softcap = 0, dropout = 0;
  bool causal = false, triangular = false, spelled = true;
  std::int64_t left = -1, right = -1;
  std::int64_t context_devices = 1;  // attention_core.h
  std::vector<std::int64_t> y_axes;
  TensorId y = kNoTensor;
  std::optional<Shape> y_shape;       // where the kernel's is another view of it
  std::vector<std::size_t> nodes;     // that the kernel stands for
  std::vector<std::size_t> laid_out;  // that only laid out its operands, if nobody else needs them
};

// Every attention of a graph that `options` would run as one kernel, in the order of its softmax.
std::vector<FoundAttention> FindAttention(Graph& graph, const std::vector<TensorId>& parameters,
                                          const AttentionFusion& options);

}  // namespace dlcost
