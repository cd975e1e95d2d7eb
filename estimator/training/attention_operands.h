#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "estimator/training/uses.h"

namespace dlcost {

// A tensor as the kernel of attention reads it: its axes in the order of memory (AttentionAxes).
struct AttentionOperand {
  TensorId id = kNoTensor;
  std::vector<std::int64_t> axes;
  double scale = 1;
  std::optional<Shape> heads_apart = {};  // where the tensor has its heads side by side
};

// Batch, heads, length and width; nullopt where the shape is not known.
std::optional<std::array<std::int64_t, 4>> ExtentsOf(const Uses& uses,
                                                     const AttentionOperand& operand);

// The operand beside a known factor of a Mul or Div, which `scale` takes up.
std::optional<TensorId> BesideFactor(const Uses& uses, std::size_t n, double& scale);

// An operand before the nodes that only lay it out or scale it, which are added to `laid_out`.
AttentionOperand BeforeLayout(const Uses& uses, AttentionOperand operand,
                              std::vector<std::size_t>& laid_out);

// Queries, keys and values as one product made them: [batch, length, heads of q, k and v, width].
struct PackedOperand {
  AttentionOperand all;
  std::int64_t kv_heads = 0;
  std::vector<std::size_t> unpacking;  // nodes that took the three apart
};

// nullopt where the three do not come from one tensor, in order.
std::optional<PackedOperand> BeforeUnpacking(const Uses& uses, const AttentionOperand& q,
                                             const AttentionOperand& k, const AttentionOperand& v);

}  // namespace dlcost
