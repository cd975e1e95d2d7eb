#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/attention_core.h"
#include "models/operators/cache.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// ONNX Runtime's attention over separate heads. Counting: attention_core.h; a bias is 1 addition
// per projected element; a padding mask and an attention bias are added to every score each. A mask
// given as lengths (rank 1) is not arithmetic. A cache grows in place (cache.h).

// Where MultiHeadAttention and its decoder form have their inputs.
struct HeadInputs {
  int bias, mask, attention_bias, past_key, past_value, past_length;
};
constexpr HeadInputs kMultiHead = {3, 4, 5, 6, 7, 8};
constexpr HeadInputs kMaskedMultiHead = {10, 3, 4, 5, 6, 7};

struct MultiHead {
  AttentionCore core;
  std::int64_t new_keys = 0;  // keys that this call brings
  bool cached_keys = false;   // key and value are [batch, heads, length, size] already
  Shape present_key, present_value;
};

bool IsMask(const OpContext& ctx, int input) {
  return ctx.HasInput(input) && ctx.InputRank(input) >= 2;
}

// Keys in the cache before this call: the length of the cache, or what past_sequence_length says of
// a buffer that past and present share.
std::int64_t PastLength(const OpContext& ctx, const HeadInputs& at, std::int64_t buffer) {
  if (!ctx.HasInput(at.past_length)) return buffer;
  const Value* value = ctx.InputValue(at.past_length);
  return value != nullptr && value->is_integer() && value->size() == 1 ? value->ints()[0] : buffer;
}

MultiHead ReadMultiHead(const OpContext& ctx, const HeadInputs& at) {
  MultiHead m;
  AttentionCore& core = m.core;
  const Shape& q = ctx.InputShape(0);
  const std::int64_t heads = ctx.RequiredInt("num_heads");
  core.type = ctx.InputType(0);
  core.q_heads = core.kv_heads = heads;
  if (q.rank() != 3 && q.rank() != 5) throw Error("the query {} has no known layout", ToString(q));
  core.batch = q[0];
  core.q_len = core.kv_len = q[1];
  core.qk_dim = core.v_dim = q.rank() == 5 ? q[4] : HeadSize(q[2], heads);
  if (ctx.HasInput(1)) {
    const Shape& k = ctx.InputShape(1);
    m.cached_keys = k.rank() == 4;
    if (k.rank() < 3 || k.rank() > 5) throw Error("the key {} has no known layout", ToString(k));
    core.kv_len = m.cached_keys ? k[2] : k[1];
    if (ctx.HasInput(2)) {
      const Shape& v = ctx.InputShape(2);
      core.v_dim = v.rank() == 4 ? v[3] : HeadSize(v.At(-1), heads);
    }
  } else if (q.rank() == 3) {  // the decoder packs queries, keys and values side by side
    core.qk_dim = core.v_dim = HeadSize(q[2], heads * 3);
  }
  m.new_keys = m.cached_keys ? 0 : core.kv_len;
  std::int64_t buffer = core.kv_len;
  if (ctx.HasInput(at.past_key)) {
    core.cached = true;
    RequireRank(ctx, at.past_key, 4);
    const std::int64_t past = ctx.InputDim(at.past_key, 2);
    const bool shared = ctx.HasInput(at.past_length);
    core.offset = std::min(PastLength(ctx, at, past), past);
    buffer = shared ? past : (Count(past) + Count(core.kv_len)).value();
    core.kv_len = std::min((Count(core.offset) + Count(core.kv_len)).value(), buffer);
  }
  m.present_key = Shape({core.batch, heads, buffer, core.qk_dim});
  m.present_value = Shape({core.batch, heads, buffer, core.v_dim});
  core.causal = ctx.Int("unidirectional", 0) != 0;
  core.added_masks = (IsMask(ctx, at.mask) ? 1 : 0) + (ctx.HasInput(at.attention_bias) ? 1 : 0);
  return m;
}

void InferHeads(OpContext& ctx, const HeadInputs& at) {
  for (int i = 0; i < ctx.NumOutputs(); ++i) ctx.SetOutputType(i, ctx.InputType(0));
  const MultiHead m = ReadMultiHead(ctx, at);
  const AttentionCore& core = m.core;
  ctx.SetOutput(0, core.type, {core.batch, core.q_len, (Count(core.q_heads) * core.v_dim).value()});
  ctx.SetOutput(1, core.type, m.present_key);
  ctx.SetOutput(2, core.type, m.present_value);
  ctx.SetOutput(3, core.type, {core.batch, core.q_heads, core.q_len, core.kv_len});
}

OpCost CostHeads(const OpContext& ctx, const HeadInputs& at) {
  OpCost cost = StreamAll(ctx);
  const MultiHead m = ReadMultiHead(ctx, at);
  const Count filled = m.core.offset;
  GrowCache(cost, ctx, {.past = at.past_key, .present = 1, .filled = filled, .fresh = m.new_keys});
  GrowCache(cost, ctx,
            {.past = at.past_value, .present = 2, .filled = filled, .fresh = m.new_keys});
  if (ctx.HasInput(at.bias)) {
    const Count q = m.core.Rows() * m.core.qk_dim;
    const Count kv = Count(m.core.batch) * m.core.kv_heads * m.new_keys *
                     (Count(m.core.qk_dim) + Count(m.core.v_dim));
    cost.work.Add(OpClass::kAdd, m.core.type, q + kv);
  }
  AddAttention(cost, m.core);
  if (ctx.HasInput(at.past_length) && ctx.InputValue(at.past_length) == nullptr) {
    cost.note = "an upper bound: the shared cache is taken for full";
  }
  return cost;
}

void InferMultiHead(OpContext& ctx) { InferHeads(ctx, kMultiHead); }
OpCost CostMultiHead(const OpContext& ctx) { return CostHeads(ctx, kMultiHead); }
void InferMaskedMultiHead(OpContext& ctx) { InferHeads(ctx, kMaskedMultiHead); }
OpCost CostMaskedMultiHead(const OpContext& ctx) { return CostHeads(ctx, kMaskedMultiHead); }

// Tokens of all sequences, without padding, in rows: query [tokens, width] or
// [tokens, heads, 3, size]; token_offset (input 4) is [batch, longest sequence].
AttentionCore PackedCore(const OpContext& ctx, int token_offset) {
  AttentionCore core;
  core.type = ctx.InputType(0);
  core.q_heads = core.kv_heads = ctx.RequiredInt("num_heads");
  core.batch = ctx.InputDim(token_offset, 0);
  core.q_len = core.kv_len = ctx.InputDim(token_offset, 1);
  return core;
}

void InferPackedMultiHead(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& q = ctx.InputShape(0);
  const bool packed = q.rank() == 4;
  const Count width = packed ? Count(q[1]) * q[3] : Count(ctx.InputDim(ctx.HasInput(2) ? 2 : 0, 1));
  ctx.SetOutput(0, ctx.InputType(0), {q[0], width.value()});
}

OpCost CostPackedMultiHead(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AttentionCore core = PackedCore(ctx, 4);
  const Shape& q = ctx.InputShape(0);
  core.qk_dim = q.rank() == 4 ? q[3] : HeadSize(q.At(1), core.q_heads);
  core.v_dim = HeadSize(ctx.OutputShape(0).At(1), core.q_heads);
  core.added_masks = ctx.HasInput(6) ? 1 : 0;
  if (ctx.HasInput(3)) {
    cost.work.Add(OpClass::kAdd, core.type, ctx.InputShape(3).Elements() * q[0]);
  }
  AddAttention(cost, core);
  cost.note = "an upper bound: every sequence is taken for as long as the longest";
  return cost;
}

// 2 * 4 * 6 * 6 = 288 scores in 48 rows, 8 + 8 MACs; scale; softmax 4 per score less 2 per row.
constexpr OpCase kMultiHeadCases[] = {
    {.what = "with bias, 32 * 3 additions per token, and a padding mask",
     .attributes = "num_heads=4",
     .inputs = "f32[2,6,32] f32[2,6,32] f32[2,6,32] f32[96] i32[2,6]",
     .outputs = "f32[2,6,32]",
     .macs = 288 * 16,
     .flops = 9216 + 12 * 96 + 288 + 288 + 4 * 288 - 96,
     .bytes_read = 4 * (3 * 384 + 96 + 12),
     .bytes_written = 4 * 384},
    {.what = "packed, unidirectional",
     .attributes = "num_heads=4 unidirectional=1",
     .inputs = "f16[2,6,4,3,8]",
     .outputs = "f16[2,6,32]",
     .macs = 288 * 16,
     .flops = 9216 + 288 + 4 * 288 - 96,
     .bytes_read = 2 * 1152,
     .bytes_written = 2 * 384},
    {.what = "one new key behind a cache of 5: 48 scores in 8 rows",
     .attributes = "num_heads=4",
     .inputs = "f32[2,1,32] f32[2,1,32] f32[2,1,32] _ _ _ f32[2,4,5,8] f32[2,4,5,8]",
     .outputs = "f32[2,1,32] f32[2,4,6,8] f32[2,4,6,8]",
     .macs = 48 * 16,
     .flops = 1536 + 48 + 192 - 16,
     .bytes_read = 4 * (3 * 64 + 2 * 320),
     .bytes_written = 4 * (64 + 2 * 64)},
    {.what = "cross attention with cached keys",
     .attributes = "num_heads=4",
     .inputs = "f32[2,1,32] f32[2,4,6,8] f32[2,4,6,8]",
     .outputs = "f32[2,1,32]",
     .macs = 48 * 16,
     .flops = 1536 + 48 + 192 - 16,
     .bytes_read = 4 * (64 + 2 * 384),
     .bytes_written = 4 * 64},
};

constexpr OpCase kMaskedMultiHeadCases[] = {
    {.what = "a shared cache of 16, 5 of it used",
     .attributes = "num_heads=4",
     .inputs = "f32[2,1,32] f32[2,1,32] f32[2,1,32] _ _ f32[2,4,16,8] f32[2,4,16,8] i32[1]{5}",
     .outputs = "f32[2,1,32] f32[2,4,16,8] f32[2,4,16,8]",
     .macs = 48 * 16,
     .flops = 1536 + 48 + 192 - 16,
     .bytes_read = 4 * (3 * 64 + 2 * 320 + 1),
     .bytes_written = 4 * (64 + 2 * 64)},
};

constexpr OpCase kPackedMultiHeadCases[] = {
    {.what = "9 tokens of 2 sequences of at most 6, counted as 12",
     .attributes = "num_heads=4",
     .inputs = "f32[9,32] f32[9,32] f32[9,32] _ i32[2,6] i32[3]",
     .outputs = "f32[9,32]",
     .macs = 288 * 16,
     .flops = 9216 + 288 + 4 * 288 - 96,
     .bytes_read = 4 * (3 * 288 + 12 + 3),
     .bytes_written = 4 * 288},
};

constexpr OpDef kContribAttentionOps[] = {
    {.name = "MultiHeadAttention",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "MACs = batch * heads * q_len * kv_len * (qk_dim + v_dim)",
     .infer = InferMultiHead,
     .cost = CostMultiHead,
     .cases = kMultiHeadCases},
    {.name = "DecoderMaskedMultiHeadAttention",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "MACs = batch * heads * q_len * kv_len * (qk_dim + v_dim)",
     .infer = InferMaskedMultiHead,
     .cost = CostMaskedMultiHead,
     .cases = kMaskedMultiHeadCases},
    {.name = "PackedMultiHeadAttention",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "MACs <= batch * heads * longest^2 * (qk_dim + v_dim)",
     .infer = InferPackedMultiHead,
     .cost = CostPackedMultiHead,
     .cases = kPackedMultiHeadCases},
};

}  // namespace

std::span<const OpDef> ContribAttentionOps() { return kContribAttentionOps; }

}  // namespace dlcost
