#pragma once

#include <array>
#include <span>
#include <string_view>

#include "models/operators/op_def.h"

namespace dlcost {

inline constexpr std::string_view kFusedAttention = "FusedAttention";
inline constexpr std::string_view kFusedAttentionGrad = "FusedAttentionGrad";

// The axes of an operand of FusedAttention, as attribute `name` orders them: axis i of the operand
// is axis order[i] of [batch, heads, length, width].
std::vector<std::int64_t> AttentionAxes(const OpContext& ctx, std::string_view name);
// [batch, heads, length, width] of an operand of this shape; an axis that the order leaves out
// is 1.
std::array<std::int64_t, 4> AttentionExtents(const Shape& shape,
                                             const std::vector<std::int64_t>& order);

// The definitions of attention and its way back as one kernel each.
std::span<const OpDef> FusedAttentionOps();

}  // namespace dlcost
