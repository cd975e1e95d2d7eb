#pragma once

#include <algorithm>
#include <cstdint>

#include "models/operators/op_context.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// softmax(scale * Q K^T + mask) V, as every attention operator counts it, with S = batch * q_heads
// * q_len * kv_len scores in batch * q_heads * q_len rows: S * qk_dim MACs for the scores, S *
// v_dim for the values; 1 multiplication per score by the scale; softcap divides, takes tanh,
// multiplies; each mask or bias is 1 addition per score; Softmax as AddSoftmax. All scores are
// counted, as other tools and most kernels' counters do; valid_macs leaves out those that the
// operator's own attributes mask (causal, windows, known lengths).
struct AttentionCore {
  std::int64_t batch = 1, q_heads = 1, kv_heads = 1, q_len = 0, kv_len = 0, qk_dim = 0, v_dim = 0;
  DType type = DType::kFloat32;            // of Q, K, V
  DType softmax_type = DType::kUndefined;  // kUndefined: as `type`
  int added_masks = 0;
  bool softcap = false;
  bool causal = false;
  bool cached = false;  // AttentionNest::cached
  // Query i sits at key position offset + i; it sees `left` keys before and `right` keys after
  // that, -1: all.
  std::int64_t offset = 0, left = -1, right = -1;
  // Keys of each sample that are not padding, where known.
  std::vector<std::int64_t> key_lengths;

  // Positions of the cache, of `offset`, that a query sees.
  Count CacheRead() const {
    return left < 0 ? Count(offset) : std::min(Count(offset), Count(left));
  }
  Count Rows() const { return Count(batch) * q_heads * q_len; }
  Count Scores() const { return Rows() * kv_len; }
};

AttentionNest NestOf(const AttentionCore& core);

// Adds work, valid MACs, nest and note; behind other parts (a projection), a part of its own.
void AddAttention(OpCost& cost, const AttentionCore& core);

// Scores that are not masked, per head and sample with `kv_len` keys.
Count ValidScores(std::int64_t q_len, std::int64_t kv_len, std::int64_t offset, std::int64_t left,
                  std::int64_t right);

// Attribute of attention on one of several devices that each have a piece of the begin and one of
// the end of a sequence of queries, and all keys (context parallelism).
inline constexpr std::string_view kContextDevices = "context_devices";
// What their queries see under a causal mask is what as many neighbours in the middle see.
void PlaceInMiddle(AttentionCore& core, const OpContext& ctx);

// Heads of a packed last axis: extent / heads, or an Error.
std::int64_t HeadSize(std::int64_t extent, std::int64_t heads);

}  // namespace dlcost
