#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/attention_core.h"
#include "models/operators/cache.h"
#include "models/operators/common.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Counting: attention_core.h; a cache grows in place (cache.h). RotaryEmbedding: every rotated pair
// is 4 multiplications and 2 additions; it reads the rows of cos and sin that the positions pick.

// Batch, heads, length and head size of [batch, heads, length, size] or, packed,
// [batch, length, heads * size].
struct Heads {
  std::int64_t batch, heads, length, size;
};

Heads HeadsOf(const OpContext& ctx, int input, std::string_view heads_attribute) {
  const Shape& shape = ctx.InputShape(input);
  if (shape.rank() == 4) return {shape[0], shape[1], shape[2], shape[3]};
  if (shape.rank() != 3) {
    throw Error("input {} {} is neither [batch, heads, length, size] nor [batch, length, width]",
                input, ToString(shape));
  }
  const std::int64_t heads = ctx.RequiredInt(heads_attribute);
  return {shape[0], heads, shape[1], HeadSize(shape[2], heads)};
}

AttentionCore CoreOf(const OpContext& ctx) {
  const Heads q = HeadsOf(ctx, 0, "q_num_heads");
  const Heads k = HeadsOf(ctx, 1, "kv_num_heads");
  const Heads v = HeadsOf(ctx, 2, "kv_num_heads");
  if (q.size != k.size) throw Error("queries have {} numbers per head, keys {}", q.size, k.size);
  if (k.length != v.length) throw Error("{} keys, {} values", k.length, v.length);
  if (k.heads != v.heads || k.heads < 1 || q.heads % k.heads != 0) {
    throw Error("{} query, {} key and {} value heads", q.heads, k.heads, v.heads);
  }
  AttentionCore core{.batch = q.batch,
                     .q_heads = q.heads,
                     .kv_heads = k.heads,
                     .q_len = q.length,
                     .kv_len = k.length,
                     .qk_dim = k.size,
                     .v_dim = v.size,
                     .type = ctx.InputType(0)};
  if (ctx.HasInput(4)) {  // past_key [batch, kv_heads, past, size]
    RequireRank(ctx, 4, 4);
    core.cached = true;
    core.offset = ctx.InputDim(4, 2);
    core.kv_len = (Count(k.length) + Count(core.offset)).value();
  }
  return core;
}

void InferAttention(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutputType(1, ctx.InputType(1));
  ctx.SetOutputType(2, ctx.InputType(2));
  ctx.SetOutputType(3, ctx.InputType(0));
  const AttentionCore core = CoreOf(ctx);
  const bool packed = ctx.InputRank(0) == 3;
  ctx.SetOutput(0, ctx.InputType(0),
                packed ? Shape({core.batch, core.q_len, (Count(core.q_heads) * core.v_dim).value()})
                       : Shape({core.batch, core.q_heads, core.q_len, core.v_dim}));
  ctx.SetOutput(1, ctx.InputType(1), {core.batch, core.kv_heads, core.kv_len, core.qk_dim});
  ctx.SetOutput(2, ctx.InputType(2), {core.batch, core.kv_heads, core.kv_len, core.v_dim});
  ctx.SetOutput(3, ctx.InputType(0), {core.batch, core.q_heads, core.q_len, core.kv_len});
}

OpCost CostAttention(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AttentionCore core = CoreOf(ctx);
  core.causal = ctx.Int("is_causal", 0) != 0;
  core.softcap = ctx.Float("softcap", 0) != 0;
  core.added_masks = ctx.HasInput(3) ? 1 : 0;
  core.left = ctx.Int("left_window_size", -1);
  core.right = ctx.Int("right_window_size", -1);
  for (const int i : {1, 2}) {
    GrowCache(cost, ctx,
              {.past = 3 + i,
               .present = i,
               .filled = core.CacheRead(),
               .fresh = Count(core.kv_len) - Count(core.offset)});
  }
  if (ctx.HasAttribute("softmax_precision")) {
    core.softmax_type = DTypeFromOnnx(static_cast<int>(ctx.Int("softmax_precision", 1)));
  }
  if (const Value* lengths = ctx.InputValue(6); lengths != nullptr && lengths->is_integer()) {
    core.key_lengths = lengths->ints();
  }
  PlaceInMiddle(core, ctx);
  AddAttention(cost, core);
  return cost;
}

// Q, K, V always of rank 4; two optional subgraphs work on all scores and all probabilities.
void InferFlexAttention(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  for (int i = 0; i < 3; ++i) RequireRank(ctx, i, 4);
  const AttentionCore core = CoreOf(ctx);
  ctx.SetOutput(0, ctx.InputType(0), {core.batch, core.q_heads, core.q_len, core.v_dim});
}

OpCost CostFlexAttention(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AttentionCore core = CoreOf(ctx);
  const DType usual = core.type == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  core.softmax_type = DTypeFromOnnx(
      static_cast<int>(ctx.Int("softmax_precision", static_cast<std::int64_t>(usual))));
  AddAttention(cost, core);
  if (ctx.HasAttribute("score_mod") || ctx.HasAttribute("prob_mod")) {
    cost.note = "without what score_mod and prob_mod compute";
    cost.status = NodeStatus::kBounded;
  }
  return cost;
}

void InferRotaryEmbedding(OpContext& ctx) {
  InferSameAsInput(ctx);
  HeadsOf(ctx, 0, "num_heads");
}

OpCost CostRotaryEmbedding(const OpContext& ctx) {
  OpCost cost;
  const Heads x = HeadsOf(ctx, 0, "num_heads");
  const std::int64_t given = ctx.Int("rotary_embedding_dim", 0);
  const std::int64_t rotated = given > 0 ? given : x.size;
  if (rotated > x.size || rotated % 2 != 0) {
    throw Error("{} of {} numbers per head cannot be rotated in pairs", rotated, x.size);
  }
  AddRead(cost, ctx, 0);
  for (const int cache : {1, 2}) {
    if (ctx.HasInput(3)) {
      const Count positions = std::min(Count(x.batch) * x.length, Count(ctx.InputDim(cache, 0)));
      AddPartialRead(cost, ctx, cache, positions * (rotated / 2), AccessKind::kGather);
    } else {
      AddRead(cost, ctx, cache);
    }
  }
  AddRead(cost, ctx, 3);
  AddWrite(cost, ctx, 0);
  const Count pairs = Count(x.batch) * x.heads * x.length * (rotated / 2);
  cost.work.Add(OpClass::kMul, ctx.InputType(0), pairs * 4);
  cost.work.Add(OpClass::kAdd, ctx.InputType(0), pairs * 2);
  cost.nest = ElementwiseNest{ctx.InputShape(0).Elements()};
  return cost;
}

// 2 * 8 * 16 * 16 = 4096 scores in 256 rows, 64 + 64 MACs each; besides, per score: scale, softmax
// (compare, subtract, add, divide, less 2 per row).
constexpr OpCase kAttentionCases[] = {
    {.what = "self-attention, 8 heads",
     .inputs = "f32[2,8,16,64] f32[2,8,16,64] f32[2,8,16,64]",
     .outputs = "f32[2,8,16,64]",
     .macs = 524288,
     .flops = 1048576 + 4096 + 4 * 4096 - 2 * 256,
     .bytes_read = 3 * 65536,
     .bytes_written = 65536},
    {.what = "grouped queries, decoding with a cache of 7: 64 scores in 8 rows, masked",
     .attributes = "q_num_heads=8 kv_num_heads=2",
     .inputs = "f16[1,1,32] f16[1,1,8] f16[1,1,8] f16[1,8] f16[1,2,7,4] f16[1,2,7,4]",
     .outputs = "f16[1,1,32] f16[1,2,8,4] f16[1,2,8,4]",
     .macs = 64 * 8,
     .flops = 1024 + 64 + 64 + 4 * 64 - 16,
     .bytes_read = 2 * (32 + 8 + 8 + 8 + 56 + 56),
     .bytes_written = 2 * (32 + 8 + 8)},
    {.what = "the same with a window of 3 keys, no mask: 2 positions of the cache are read",
     .attributes = "q_num_heads=8 kv_num_heads=2 is_causal=1 left_window_size=2",
     .inputs = "f16[1,1,32] f16[1,1,8] f16[1,1,8] _ f16[1,2,7,4] f16[1,2,7,4]",
     .outputs = "f16[1,1,32] f16[1,2,8,4] f16[1,2,8,4]",
     .macs = 64 * 8,
     .flops = 1024 + 64 + 4 * 64 - 16,
     .bytes_read = 2 * (32 + 8 + 8 + 16 + 16),
     .bytes_written = 2 * (32 + 8 + 8)},
    {.what = "softcap, causal: dense all the same",
     .attributes = "is_causal=1 softcap=30.0",
     .inputs = "f32[1,1,4,2] f32[1,1,4,2] f32[1,1,4,3]",
     .outputs = "f32[1,1,4,3] _ _ f32[1,1,4,4]",
     .macs = 16 * 5,
     .flops = 160 + 16 + 32 + 4 * 16 - 8,
     .bytes_read = 4 * (8 + 8 + 12),
     .bytes_written = 4 * (12 + 16)},
};

constexpr OpCase kFlexAttentionCases[] = {
    {.what = "without modifiers",
     .inputs = "f32[1,2,4,2] f32[1,1,4,2] f32[1,1,4,3]",
     .outputs = "f32[1,2,4,3]",
     .macs = 32 * 5,
     .flops = 320 + 32 + 4 * 32 - 16,
     .bytes_read = 4 * (16 + 8 + 12),
     .bytes_written = 96},
};

// 2 * 3 * 4 * 4 = 96 pairs of 6 operations.
constexpr OpCase kRotaryEmbeddingCases[] = {
    {.what = "whole heads, 12 positions of a cache of 50",
     .inputs = "f32[2,4,3,8] f32[50,4] f32[50,4] i64[2,3]",
     .outputs = "f32[2,4,3,8]",
     .flops = 96 * 6,
     .bytes_read = 768 + 2 * 6 * 16 + 48,
     .bytes_written = 768},
    {.what = "packed, half of each head, no positions",
     .attributes = "num_heads=4 rotary_embedding_dim=4",
     .inputs = "f32[2,3,32] f32[2,3,2] f32[2,3,2]",
     .outputs = "f32[2,3,32]",
     .flops = 48 * 6,
     .bytes_read = 768 + 96,
     .bytes_written = 768},
};

constexpr OpDef kAttentionOps[] = {
    {.name = "Attention",
     .since = {23, 24, 25},
     .formula = "MACs = batch * q_heads * q_len * kv_len * (qk_dim + v_dim)",
     .infer = InferAttention,
     .cost = CostAttention,
     .cases = kAttentionCases},
    {.name = "FlexAttention",
     .domain = "ai.onnx.preview",
     .since = {1},
     .formula = "MACs = batch * q_heads * q_len * kv_len * (qk_dim + v_dim)",
     .infer = InferFlexAttention,
     .cost = CostFlexAttention,
     .cases = kFlexAttentionCases},
    {.name = "RotaryEmbedding",
     .since = {23},
     .formula = "4 mul, 2 add per rotated pair",
     .infer = InferRotaryEmbedding,
     .cost = CostRotaryEmbedding,
     .role = FusionRole::kElementwise,
     .cases = kRotaryEmbeddingCases},
};

}  // namespace

std::span<const OpDef> AttentionOps() { return kAttentionOps; }

}  // namespace dlcost
