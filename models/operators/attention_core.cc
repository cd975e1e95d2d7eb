#include "models/operators/attention_core.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/counting.h"

namespace dlcost {
namespace {

// Sum of clamp(i + first, 0, top) over i in [0, n), in closed form.
Count ClampedSum(Count n, Count first, Count top) {
  const Count zero = 0;
  const Count rise = std::clamp(zero - first, zero, n);  // i + first > 0 from here on
  const Count full = std::clamp(top - first, rise, n);   // i + first >= top from here on
  const Count ramp = full - rise;
  return ramp * (rise + first) + ramp * std::max(ramp - Count(1), zero) / 2 + (n - full) * top;
}

}  // namespace

Count ValidScores(std::int64_t q_len, std::int64_t kv_len, std::int64_t offset, std::int64_t left,
                  std::int64_t right) {
  Count valid = right < 0 ? Count(q_len) * kv_len
                          : ClampedSum(q_len, Count(offset) + right + Count(1), kv_len);
  if (left >= 0) valid -= ClampedSum(q_len, Count(offset) - Count(left), kv_len);
  return std::max(valid, Count(0));
}

void PlaceInMiddle(AttentionCore& core, const OpContext& ctx) {
  if (ctx.Int(kContextDevices, 1) > 1) core.offset = (core.kv_len - core.q_len) / 2;
}

std::int64_t HeadSize(std::int64_t extent, std::int64_t heads) {
  if (heads < 1) throw Error("the number of heads is {}", heads);
  if (extent % heads != 0) throw Error("{} does not divide into {} heads", extent, heads);
  return extent / heads;
}

AttentionNest NestOf(const AttentionCore& core) {
  return {.batch = core.batch,
          .q_heads = core.q_heads,
          .kv_heads = core.kv_heads,
          .q_len = core.q_len,
          .kv_len = core.kv_len,
          .qk_dim = core.qk_dim,
          .v_dim = core.v_dim,
          .causal = core.causal,
          .cached = core.cached,
          .left = core.left,
          .right = core.right};
}

void AddAttention(OpCost& cost, const AttentionCore& core) {
  const DType softmax = core.softmax_type == DType::kUndefined ? core.type : core.softmax_type;
  const Count scores = core.Scores();
  const Count per_score = Count(core.qk_dim) + Count(core.v_dim);
  const AttentionNest nest = NestOf(core);
  cost.nest = nest;
  if (cost.parts.empty()) {
    cost.work.Add(OpClass::kMac, core.type, scores * per_score);
  } else {
    cost.AddPart("attention", nest, core.type);
  }
  cost.work.Add(OpClass::kMul, core.type, scores);
  if (core.softcap) {
    cost.work.Add(OpClass::kDiv, core.type, scores);
    cost.work.Add(OpClass::kTrig, core.type, scores);
    cost.work.Add(OpClass::kMul, core.type, scores);
  }
  cost.work.Add(OpClass::kAdd, core.type, scores * Count(core.added_masks));
  AddSoftmax(cost.work, softmax, scores, core.kv_len > 0 ? core.Rows() : Count(0));

  std::int64_t right = core.right;
  if (core.causal) right = right < 0 ? 0 : std::min<std::int64_t>(right, 0);
  if (right >= 0 || core.left >= 0 || !core.key_lengths.empty()) {
    Count valid;
    if (core.key_lengths.empty()) {
      valid = ValidScores(core.q_len, core.kv_len, core.offset, core.left, right) * core.batch;
    }
    for (const std::int64_t keys : core.key_lengths) {
      if (keys < 0 || keys > core.kv_len) {
        throw Error("a sample has {} keys of {}", keys, core.kv_len);
      }
      valid += ValidScores(core.q_len, keys, core.offset + keys - core.q_len, core.left, right);
    }
    cost.valid_macs = Macs(valid * core.q_heads * per_score);
    cost.note = "all scores are counted, masked ones included";
  }
}

}  // namespace dlcost
