#include "estimator/core/error.h"
#include "models/operators/attention_core.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// ONNX Runtime's 8-bit operators in layouts of cublasLt, as its int8 BERT has them; scales are
// scalars or one per column. Counting: products and attention in i8, softmax and normalization in
// f32; each projected element takes its bias (1 addition) and is requantized. Layer normalization
// dequantizes (1 conversion, 1 multiplication) and quantizes (1 division, 1 conversion) each
// element.

// Inputs: x [batch, length, width], scales, three weights [width, columns], scales, three biases,
// scales, mask, past [2, batch, heads, length, size], attention bias.
constexpr int kFirstWeight = 5, kMask = 17, kPast = 18, kBias = 19;

AttentionCore OrderedCore(const OpContext& ctx) {
  RequireRank(ctx, 0, 3);
  for (int w = kFirstWeight; w < kFirstWeight + 3; ++w) RequireRank(ctx, w, 2);
  const Shape& x = ctx.InputShape(0);
  AttentionCore core;
  core.type = ctx.InputType(0);
  core.softmax_type = DType::kFloat32;
  core.batch = x[0];
  core.q_heads = core.kv_heads = ctx.RequiredInt("num_heads");
  core.q_len = x[1];
  core.kv_len = x[1];
  if (ctx.HasInput(kPast)) {
    core.offset = ctx.InputDim(kPast, 3);
    core.kv_len = (Count(core.kv_len) + Count(core.offset)).value();
  }
  core.qk_dim = HeadSize(ctx.InputDim(kFirstWeight, 1), core.q_heads);
  core.v_dim = HeadSize(ctx.InputDim(kFirstWeight + 2, 1), core.q_heads);
  core.causal = ctx.Int("unidirectional", 0) != 0;
  core.added_masks =
      (ctx.HasInput(kMask) && ctx.InputRank(kMask) >= 2 ? 1 : 0) + (ctx.HasInput(kBias) ? 1 : 0);
  return core;
}

void InferOrderedAttention(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const AttentionCore core = OrderedCore(ctx);
  ctx.SetOutput(0, core.type, {core.batch, core.q_len, (Count(core.q_heads) * core.v_dim).value()});
}

OpCost CostOrderedAttention(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const AttentionCore core = OrderedCore(ctx);
  const Count tokens = Count(core.batch) * core.q_len;
  Macs projections;
  for (int w = kFirstWeight; w < kFirstWeight + 3; ++w) {
    const GemmNest projection{.m = tokens,
                              .n = ctx.InputDim(w, 1),
                              .k = ctx.InputDim(w, 0),
                              .b_input = w,
                              .b_is_weight = true};
    projections += Macs(MacsOf(projection));
    cost.AddPart("projection", projection, core.type);
    const Count projected = tokens * ctx.InputDim(w, 1);
    cost.work.Add(OpClass::kAdd, DType::kFloat32, projected);
    AddRequantize(cost.work, projected);
  }
  AddAttention(cost, core);
  if (cost.valid_macs > Macs()) cost.valid_macs += projections;
  return cost;
}

// Inputs: X, its scale, gamma, beta, the scale of Y.
OpCost CostOrderedNorm(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Shape& x = ctx.InputShape(0);
  const std::size_t axis = NormalizeAxis(ctx.Int("axis", -1), x.rank());
  const Count elements = x.Elements(), rows = x.Product(0, axis);
  constexpr DType kType = DType::kFloat32;
  AddMoments(cost.work, kType, elements, rows);
  cost.work.Add(OpClass::kMul, kType, elements * 3);
  if (ctx.HasInput(3)) cost.work.Add(OpClass::kAdd, kType, elements);
  cost.work.Add(OpClass::kDiv, kType, elements);
  cost.work.Add(OpClass::kConvert, kType, elements * 2);
  cost.nest = ReduceNest{.outer = rows, .reduce = x.Product(axis, x.rank())};
  return cost;
}

// 3 tokens: 3 * 3 * 64 MACs to project 72 elements (1 addition, 1 multiplication each); 2 heads of
// 9 scores in 6 rows of 8 MACs: softmax (the scale is integer work).
constexpr OpCase kOrderedAttentionCases[] = {
    {.what = "2 heads of 4, no mask",
     .attributes = "num_heads=2 order_input=1 order_weight=0 order_output=1",
     .inputs = "i8[1,3,8] f32[] f32[] f32[] f32[] w:i8[8,8] w:i8[8,8] w:i8[8,8] f32[] f32[] f32[] "
               "w:f32[8] w:f32[8] w:f32[8] f32[] f32[] f32[]",
     .outputs = "i8[1,3,8]",
     .macs = 576 + 18 * 8,
     .flops = 2 * 720 + 72 + 72 + 4 * 18 - 12,
     .bytes_read = 24 + 4 * 10 + 3 * 64 + 3 * 32,
     .bytes_written = 24}};

// Rows of 4: 3 + 3 + 4 + 1 additions, 4 multiplications, 2 divisions, 1 square root each; per
// element 3 multiplications, 1 addition, 1 division.
constexpr OpCase kNormCases[] = {{.what = "2 rows of 4",
                                  .inputs = "i8[2,4] f32[] w:f32[4] w:f32[4] f32[]",
                                  .outputs = "i8[2,4]",
                                  .flops = 2 * (11 + 4 + 2 + 1) + 8 * 5,
                                  .bytes_read = 8 + 4 + 16 + 16 + 4,
                                  .bytes_written = 8}};

constexpr OpDef kContribOrderedOps[] = {
    {.name = "QOrderedAttention",
     .domain = "com.microsoft",
     .formula =
         "MACs = tokens * weights + batch * heads * q_len * kv_len * (qk_dim + v_dim), in i8",
     .infer = InferOrderedAttention,
     .cost = CostOrderedAttention,
     .cases = kOrderedAttentionCases},
    {.name = "QOrderedLayerNormalization",
     .domain = "com.microsoft",
     .formula = "moments per row; 3 mul, 1 add, 1 div, 2 convert per element",
     .infer = InferSameAsInput,
     .cost = CostOrderedNorm,
     .role = FusionRole::kNormalization,
     .cases = kNormCases},
};

}  // namespace

std::span<const OpDef> ContribOrderedOps() { return kContribOrderedOps; }

}  // namespace dlcost
