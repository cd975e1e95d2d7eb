#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/attention_core.h"
#include "models/operators/cache.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// ONNX Runtime's attention with the input projection inside. Counting: the projection is a matrix
// product of all tokens with the merged weight, its bias 1 addition per projected element; then
// attention_core.h; a mask of rank 2 or more and an attention bias are added to every score each;
// do_rotary rotates queries and keys, 4 multiplications and 2 additions per pair. A cache grows in
// place (cache.h). The nest is that of the attention.

// Where each form has its inputs.
struct ProjectedInputs {
  int bias, mask, past, attention_bias, past_length;
};
constexpr ProjectedInputs kAttention = {2, 3, 4, 5, 6};
constexpr ProjectedInputs kMaskedSelf = {2, 3, 4, 5, 6};
constexpr ProjectedInputs kQuantizedAttention = {2, 5, 8, -1, -1};

struct Projected {
  AttentionCore core;
  Count tokens;
  std::int64_t input = 0, q_width = 0, kv_width = 0;  // kv: keys and values together
  Shape present;
};

Projected ReadProjected(const OpContext& ctx, const ProjectedInputs& at, DType type) {
  RequireRank(ctx, 0, 3);
  RequireRank(ctx, 1, 2);
  const Shape& x = ctx.InputShape(0);
  const Shape& w = ctx.InputShape(1);
  if (x[2] != w[0]) {
    throw Error("the projection contracts {} elements of {} with {} of {}", x[2], ToString(x), w[0],
                ToString(w));
  }
  Projected p;
  AttentionCore& core = p.core;
  const std::vector<std::int64_t> sizes = ctx.Ints("qkv_hidden_sizes");
  if (!sizes.empty() &&
      (sizes.size() != 3 || Count(sizes[0]) + sizes[1] + sizes[2] != Count(w[1]))) {
    throw Error("qkv_hidden_sizes do not add up to the {} columns of the weight", w[1]);
  }
  const std::int64_t q_width = sizes.empty() ? HeadSize(w[1], 3) : sizes[0];
  const std::int64_t v_width = sizes.empty() ? q_width : sizes[2];
  core.type = type;
  core.q_heads = core.kv_heads = ctx.RequiredInt("num_heads");
  core.batch = x[0];
  core.q_len = core.kv_len = x[1];
  core.qk_dim = HeadSize(q_width, core.q_heads);
  core.v_dim = HeadSize(v_width, core.q_heads);
  core.causal = ctx.Int("unidirectional", 0) != 0;
  core.added_masks = (ctx.HasInput(at.mask) && ctx.InputRank(at.mask) >= 2 ? 1 : 0) +
                     (ctx.HasInput(at.attention_bias) ? 1 : 0);
  p.tokens = Count(x[0]) * x[1];
  p.input = x[2];
  p.q_width = q_width;
  p.kv_width = w[1] - q_width;
  std::int64_t buffer = core.kv_len;
  if (ctx.HasInput(at.past)) {
    core.cached = true;
    RequireRank(ctx, at.past, 5);
    const std::int64_t past = ctx.InputDim(at.past, 3);
    const bool shared = ctx.Int("past_present_share_buffer", 0) != 0;
    core.offset = past;
    if (const Value* length = ctx.InputValue(at.past_length); shared && length != nullptr) {
      core.offset = std::min(length->ints().empty() ? past : length->ints()[0], past);
    }
    buffer = shared ? past : (Count(past) + Count(core.kv_len)).value();
    core.kv_len = std::min((Count(core.offset) + Count(core.kv_len)).value(), buffer);
  }
  p.present = Shape({2, core.batch, core.kv_heads, buffer, core.qk_dim});
  return p;
}

void InferProjected(OpContext& ctx, const ProjectedInputs& at, DType type) {
  ctx.SetOutputType(0, type);
  ctx.SetOutputType(1, type);
  const Projected p = ReadProjected(ctx, at, type);
  ctx.SetOutput(0, type,
                {p.core.batch, ctx.InputDim(0, 1), (Count(p.core.q_heads) * p.core.v_dim).value()});
  ctx.SetOutput(1, type, p.present);
}

OpCost CostProjected(const OpContext& ctx, const ProjectedInputs& at, DType type) {
  OpCost cost = StreamAll(ctx);
  const Projected p = ReadProjected(ctx, at, type);
  GrowCache(cost, ctx,
            {.past = at.past,
             .present = 1,
             .axis = 3,
             .filled = p.core.offset,
             .fresh = ctx.InputDim(0, 1)});
  const Count projected = p.tokens * (Count(p.q_width) + Count(p.kv_width));
  cost.AddPart(
      "projection",
      GemmNest{
          .m = p.tokens, .n = Count(p.q_width) + p.kv_width, .k = p.input, .b_is_weight = true},
      ctx.InputType(0));
  if (ctx.HasInput(at.bias)) cost.work.Add(OpClass::kAdd, type, projected);
  if (ctx.Int("do_rotary", 0) != 0) {
    const std::int64_t given = ctx.Int("rotary_embedding_dim", 0);
    const Count pairs = p.tokens * p.core.q_heads * (given > 0 ? given : p.core.qk_dim);
    cost.work.Add(OpClass::kMul, type, pairs * 4);
    cost.work.Add(OpClass::kAdd, type, pairs * 2);
  }
  AddAttention(cost, p.core);
  // Valid MACs are those of the whole operator.
  if (cost.valid_macs > Macs()) cost.valid_macs += Macs(projected * p.input);
  return cost;
}

void InferSelfAttention(OpContext& ctx) { InferProjected(ctx, kAttention, ctx.InputType(0)); }
OpCost CostSelfAttention(const OpContext& ctx) {
  return CostProjected(ctx, kAttention, ctx.InputType(0));
}
void InferMaskedSelf(OpContext& ctx) { InferProjected(ctx, kMaskedSelf, ctx.InputType(0)); }
OpCost CostMaskedSelf(const OpContext& ctx) {
  return CostProjected(ctx, kMaskedSelf, ctx.InputType(0));
}

// Integer projection, rescaled (1 conversion and 1 multiplication per projected element) to the
// type of the scales (input 3), in which the attention is done.
void InferQuantized(OpContext& ctx) { InferProjected(ctx, kQuantizedAttention, ctx.InputType(3)); }
OpCost CostQuantized(const OpContext& ctx) {
  const DType type = ctx.InputType(3);
  OpCost cost = CostProjected(ctx, kQuantizedAttention, type);
  const Count projected = Count(ctx.InputDim(0, 0)) * ctx.InputDim(0, 1) * ctx.InputDim(1, 1);
  cost.work.Add(OpClass::kConvert, type, projected);
  cost.work.Add(OpClass::kMul, type, projected);
  AddZeroPoint(cost.work, ctx, 0, 6);
  AddZeroPoint(cost.work, ctx, 1, 7);
  return cost;
}

// Input [tokens, width] of sequences without padding; token_offset (input 3) [batch, longest].
void InferPackedAttention(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  RequireRank(ctx, 0, 2);
  RequireRank(ctx, 1, 2);
  const std::vector<std::int64_t> sizes = ctx.Ints("qkv_hidden_sizes");
  const std::int64_t width = sizes.size() == 3 ? sizes[2] : HeadSize(ctx.InputDim(1, 1), 3);
  ctx.SetOutput(0, ctx.InputType(0), {ctx.InputDim(0, 0), width});
}

OpCost CostPackedAttention(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const std::vector<std::int64_t> sizes = ctx.Ints("qkv_hidden_sizes");
  const std::int64_t columns = ctx.InputDim(1, 1);
  const std::int64_t q_width = sizes.size() == 3 ? sizes[0] : HeadSize(columns, 3);
  AttentionCore core;
  core.type = ctx.InputType(0);
  core.q_heads = core.kv_heads = ctx.RequiredInt("num_heads");
  core.batch = ctx.InputDim(3, 0);
  core.q_len = core.kv_len = ctx.InputDim(3, 1);
  core.qk_dim = HeadSize(q_width, core.q_heads);
  core.v_dim = HeadSize(ctx.OutputShape(0).At(1), core.q_heads);
  core.added_masks = ctx.HasInput(5) ? 1 : 0;
  const Count projected = Count(ctx.InputDim(0, 0)) * columns;
  cost.AddPart(
      "projection",
      GemmNest{.m = ctx.InputDim(0, 0), .n = columns, .k = ctx.InputDim(0, 1), .b_is_weight = true},
      core.type);
  if (ctx.HasInput(2)) cost.work.Add(OpClass::kAdd, core.type, projected);
  AddAttention(cost, core);
  cost.note = "an upper bound: every sequence is taken for as long as the longest";
  return cost;
}

// 12 tokens: 12 * 32 * 96 MACs and 12 * 96 additions to project; 288 scores in 48 rows.
constexpr OpCase kSelfAttentionCases[] = {
    {.what = "BERT's shape, with a mask",
     .attributes = "num_heads=4",
     .inputs = "f32[2,6,32] w:f32[32,96] w:f32[96] i32[2,6]",
     .outputs = "f32[2,6,32]",
     .macs = 36864 + 288 * 16,
     .flops = 2 * 41472 + 1152 + 288 + 288 + 4 * 288 - 96,
     .bytes_read = 4 * (384 + 3072 + 96 + 12),
     .bytes_written = 4 * 384},
    {.what = "GPT-2 decoding, a cache of 5: 48 scores in 8 rows",
     .attributes = "num_heads=4 unidirectional=1",
     .inputs = "f32[2,1,32] w:f32[32,96] w:f32[96] _ f32[2,2,4,5,8]",
     .outputs = "f32[2,1,32] f32[2,2,4,6,8]",
     .macs = 6144 + 48 * 16,
     .flops = 2 * 6912 + 192 + 48 + 192 - 16,
     .bytes_read = 4 * (64 + 3072 + 96 + 640),
     .bytes_written = 4 * (64 + 128)},
};

// Besides, 1 multiplication per projected element.
constexpr OpCase kQuantizedCases[] = {
    {.what = "u8 input, i8 weight",
     .attributes = "num_heads=4",
     .inputs = "u8[2,6,32] w:i8[32,96] w:f32[96] f32[] f32[] _ u8[] i8[]",
     .outputs = "f32[2,6,32]",
     .macs = 36864 + 288 * 16,
     .flops = 2 * 41472 + 1152 + 1152 + 288 + 4 * 288 - 96,
     .bytes_read = 384 + 3072 + 4 * 96 + 8 + 2,
     .bytes_written = 4 * 384},
};

constexpr OpCase kPackedAttentionCases[] = {
    {.what = "9 tokens of 2 sequences of at most 6, counted as 12 in the attention",
     .attributes = "num_heads=4",
     .inputs = "f32[9,32] w:f32[32,96] w:f32[96] i32[2,6] i32[3]",
     .outputs = "f32[9,32]",
     .macs = 27648 + 288 * 16,
     .flops = 2 * 32256 + 864 + 288 + 4 * 288 - 96,
     .bytes_read = 4 * (288 + 3072 + 96 + 12 + 3),
     .bytes_written = 4 * 288},
};

constexpr OpDef kContribSelfAttentionOps[] = {
    {.name = "Attention",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "MACs = tokens * input * (q + k + v widths) + batch * heads * q_len * kv_len * "
                "(qk_dim + v_dim)",
     .infer = InferSelfAttention,
     .cost = CostSelfAttention,
     .cases = kSelfAttentionCases},
    {.name = "DecoderMaskedSelfAttention",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "MACs as Attention",
     .infer = InferMaskedSelf,
     .cost = CostMaskedSelf,
     .cases = kSelfAttentionCases},
    {.name = "QAttention",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "MACs as Attention, the projection in the type of the input",
     .infer = InferQuantized,
     .cost = CostQuantized,
     .cases = kQuantizedCases},
    {.name = "PackedAttention",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "MACs <= tokens * input * (q + k + v widths) + batch * heads * longest^2 * "
                "(qk_dim + v_dim)",
     .infer = InferPackedAttention,
     .cost = CostPackedAttention,
     .cases = kPackedAttentionCases},
};

}  // namespace

std::span<const OpDef> ContribSelfAttentionOps() { return kContribSelfAttentionOps; }

}  // namespace dlcost
