#pragma once

#include <cstdint>

#include "models/operators/op_context.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// Attention with a recurrent state S of qk_dim x v_dim per key-value head instead of a score
// matrix. Counted per token as the recurrence, whatever chunked algorithm runs it:
// - per key-value head: update S += k v^T, qk_dim * v_dim MACs; a decay costs one exp per decay and
//   qk_dim * v_dim multiplications; the delta rule reads S^T k, qk_dim * v_dim MACs, subtracts and
//   multiplies by beta, v_dim each;
// - per query head (per key-value head where those are more): S^T q, qk_dim * v_dim MACs, and v_dim
//   multiplications by the scale.
struct LinearAttentionShape {
  std::int64_t batch = 0, tokens = 0, q_heads = 1, kv_heads = 1, qk_dim = 0, v_dim = 0;
  std::int64_t decays = 1;  // per head: 1, or qk_dim
  std::string rule;         // "linear", "gated", "delta", "gated_delta"
  DType type = DType::kFloat32;
};

void AddLinearAttention(OpCost& cost, const LinearAttentionShape& shape);

// Its way back, in one kernel that computes the states again instead of reading them. With y = s S'
// q, S = g T + k u', u = beta (v - (g T)' k) and T the state before, per token:
// - per key-value head the states again, as above; du = dS' k and dk = dS u, qk_dim * v_dim MACs
//   each; for the delta rule, with dr = -beta du, dk += (g T) dr and dS += k dr' too, dbeta = du (v
//   - (g T)' k), v_dim MACs, and v_dim each to multiply by beta and to negate; for a decay dg = dS
//   T, qk_dim * v_dim MACs, dS g as many multiplications, and one per decay for its exponential;
// - per query head dq = S dy and dS += q dy', qk_dim * v_dim MACs each, and the scale of dy.
void AddLinearAttentionGrad(OpCost& cost, const LinearAttentionShape& shape);

// Attribute update_rule, one of the four.
std::string UpdateRuleOf(const OpContext& ctx);

}  // namespace dlcost
