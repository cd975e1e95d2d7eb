#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// ONNX Runtime's fused normalizations. Counting, per element and row, as LayerNormalization and
// RMSNormalization count (moments or mean square in f32; normalize, scale, shift), and
// SkipLayerNormalization: 1 addition for the skip, 1 for a bias.
// EmbedLayerNormalization: gathers one row per token of each table, adds them (1 or 2 additions),
// normalizes; the mask index is 1 integer addition per token. 8-bit tables are dequantized besides:
// 1 integer subtraction, 1 conversion, 1 multiplication per gathered element. GroupNorm: moments
// per image and group, 2 multiplications, 1 addition, and SiLU; SkipGroupNorm adds skip and bias
// first.

constexpr DType kStatistics = DType::kFloat32;

void AddDequantizeRows(Work& work, DType type, Count elements) {
  work.Add(OpClass::kInteger, DType::kInt32, elements);
  work.Add(OpClass::kConvert, type, elements);
  work.Add(OpClass::kMul, type, elements);
}

// Shape checks: gamma and the like are [hidden].
void RequireHidden(const OpContext& ctx, int input, std::int64_t hidden) {
  if (ctx.InputShapeKnown(input) && ctx.InputShape(input).Elements() != Count(hidden)) {
    throw Error("input {} {} does not fit the width {}", input, ToString(ctx.InputShape(input)),
                hidden);
  }
}

// Outputs: like input 0; mean and inverse deviation per row; the sum before normalization.
void InferSkip(OpContext& ctx) {
  const DType type = ctx.InputType(0);
  for (const int i : {0, 3}) ctx.SetOutputType(i, type);
  for (const int i : {1, 2}) ctx.SetOutputType(i, kStatistics);
  const Shape& x = ctx.InputShape(0);
  if (x.rank() == 0) throw Error("input 0 is a scalar");
  for (int i = 2; i < ctx.NumInputs(); ++i) {
    if (ctx.HasInput(i)) RequireHidden(ctx, i, x.At(-1));
  }
  Shape rows = x;
  rows[x.rank() - 1] = 1;
  ctx.SetOutput(0, type, x);
  ctx.SetOutput(1, kStatistics, rows);
  ctx.SetOutput(2, kStatistics, rows);
  ctx.SetOutput(3, type, x);
}

// What normalizing [..., width] costs; `centered` subtracts the mean, `shifted` adds a beta.
void AddRows(OpCost& cost, DType type, Count elements, std::int64_t width, bool centered,
             bool shifted) {
  const Count rows = width > 0 ? elements / width : Count(0);
  if (centered) {
    AddMoments(cost.work, kStatistics, elements, rows);
  } else {
    AddMeanSquare(cost.work, kStatistics, elements, rows);
  }
  cost.work.Add(OpClass::kMul, kStatistics, elements);
  cost.work.Add(OpClass::kMul, type, elements);
  if (shifted) cost.work.Add(OpClass::kAdd, type, elements);
  cost.nest = ReduceNest{.outer = rows, .reduce = width};
}

OpCost CostSkip(const OpContext& ctx, bool centered, int beta, int bias) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Count elements = ctx.InputShape(0).Elements();
  cost.work.Add(OpClass::kAdd, type, elements);
  if (ctx.HasInput(bias)) cost.work.Add(OpClass::kAdd, type, elements);
  AddRows(cost, type, elements, ctx.InputDim(0, -1), centered, ctx.HasInput(beta));
  return cost;
}

OpCost CostSkipLayer(const OpContext& ctx) { return CostSkip(ctx, true, 3, 4); }
OpCost CostSkipSimplified(const OpContext& ctx) { return CostSkip(ctx, false, -1, 3); }

// Inputs: input_ids, segment_ids, word, position and segment tables, gamma, beta, mask,
// position_ids. The quantized form has 8-bit tables, and scales (from 8) and zero points in place
// of position_ids.
bool IsQuantized(const OpContext& ctx) { return ctx.op() == "QEmbedLayerNormalization"; }

void InferEmbed(OpContext& ctx) {
  const DType type = ctx.InputType(IsQuantized(ctx) ? 8 : 2);
  for (const int i : {0, 2}) ctx.SetOutputType(i, type);
  ctx.SetOutputType(1, DType::kInt32);
  RequireRank(ctx, 0, 2);
  RequireRank(ctx, 2, 2);
  const Shape out({ctx.InputDim(0, 0), ctx.InputDim(0, 1), ctx.InputDim(2, 1)});
  ctx.SetOutput(0, type, out);
  ctx.SetOutput(1, DType::kInt32, {ctx.InputDim(0, 0)});
  ctx.SetOutput(2, type, out);
}

OpCost CostEmbed(const OpContext& ctx) {
  OpCost cost;
  const Count tokens = ctx.InputShape(0).Elements();
  const std::int64_t width = ctx.InputDim(2, 1);
  const bool positions = ctx.HasInput(8) && !IsQuantized(ctx);
  const DType type = ctx.OutputType(0);
  for (int i = 0; i < ctx.NumInputs(); ++i) {
    if (!ctx.HasInput(i)) continue;
    if (i < 2 || i > 4) {
      AddRead(cost, ctx, i);
      continue;
    }
    // Positions without ids are the same for every sample.
    const Count rows = i == 3 && !positions ? Count(ctx.InputDim(0, 1)) : tokens;
    AddPartialRead(cost, ctx, i, std::min(rows, Count(ctx.InputDim(i, 0))) * width,
                   AccessKind::kGather);
    if (IsQuantized(ctx)) AddDequantizeRows(cost.work, type, tokens * width);
  }
  for (int i = 0; i < ctx.NumOutputs(); ++i) AddWrite(cost, ctx, i);
  if (IsQuantized(ctx)) AddDequantizeRows(cost.work, type, Count(width) * 2);  // gamma, beta
  cost.work.Add(OpClass::kAdd, type, tokens * width * Count(ctx.HasInput(1) ? 2 : 1));
  AddRows(cost, type, tokens * width, width, true, true);
  if (ctx.HasInput(7)) cost.work.Add(OpClass::kInteger, DType::kInt32, tokens);
  return cost;
}

std::int64_t ChannelsOf(const OpContext& ctx) {
  RequireRank(ctx, 0, 4);
  return ctx.InputDim(0, ctx.Int("channels_last", 1) != 0 ? 3 : 1);
}

void InferGroupNorm(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutputType(1, ctx.InputType(0));
  const std::int64_t channels = ChannelsOf(ctx), groups = ctx.RequiredInt("groups");
  if (groups < 1 || channels % groups != 0) {
    throw Error("{} channels do not divide into {} groups", channels, groups);
  }
  RequireHidden(ctx, 1, channels);
  RequireHidden(ctx, 2, channels);
  ctx.SetOutput(0, ctx.InputType(0), ctx.InputShape(0));
  ctx.SetOutput(1, ctx.InputType(0), ctx.InputShape(0));
}

OpCost CostGroupNorm(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Count elements = ctx.InputShape(0).Elements();
  const Count groups = Count(ctx.InputDim(0, 0)) * ctx.RequiredInt("groups");
  for (const int added : {3, 4}) {  // skip and bias of SkipGroupNorm
    if (ctx.HasInput(added)) cost.work.Add(OpClass::kAdd, type, elements);
  }
  AddMoments(cost.work, kStatistics, elements, groups);
  cost.work.Add(OpClass::kMul, kStatistics, elements);
  cost.work.Add(OpClass::kMul, type, elements);
  cost.work.Add(OpClass::kAdd, type, elements);
  if (ctx.Int("activation", 0) == 1) AddActivation(cost.work, type, "silu", elements);
  cost.nest =
      ReduceNest{.outer = groups, .reduce = groups > Count(0) ? elements / groups : Count(0)};
  return cost;
}

// X [..., C * H] in branches of H, each its own mean square; the scale is optional.
OpCost CostBranchwise(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const std::int64_t branches = std::max<std::int64_t>(ctx.Int("num_branches", 0), 1);
  const Count elements = ctx.InputShape(0).Elements();
  const std::int64_t width = ctx.InputDim(0, -1) / branches;
  const Count rows = width > 0 ? elements / width : Count(0);
  AddMeanSquare(cost.work, kStatistics, elements, rows);
  cost.work.Add(OpClass::kMul, kStatistics, elements * Count(ctx.HasInput(1) ? 2 : 1));
  cost.nest = ReduceNest{.outer = rows, .reduce = width};
  return cost;
}

// X * rsqrt(mean square) * scale * activation(gate), groups as long as the scale.
OpCost CostGated(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  const Count width = ctx.InputShape(1).Elements();
  const Count rows = width > Count(0) ? elements / width : Count(0);
  AddMeanSquare(cost.work, kStatistics, elements, rows);
  cost.work.Add(OpClass::kMul, kStatistics, elements * 3);
  AddActivation(cost.work, kStatistics, ctx.String("activation", "silu"), elements);
  cost.nest = ReduceNest{.outer = rows, .reduce = width};
  return cost;
}

// E = 24, R = 6. Additions: skip 24, bias 24, moments 36 + 24 + 6, shift 24; multiplications 72;
// divisions 12, roots 6.
constexpr OpCase kSkipLayerCases[] = {
    {.what = "with beta, bias and the sum",
     .inputs = "f32[2,3,4] f32[2,3,4] w:f32[4] w:f32[4] w:f32[4]",
     .outputs = "f32[2,3,4] _ _ f32[2,3,4]",
     .flops = 24 + 24 + 66 + 24 + 72 + 12 + 6,
     .bytes_read = 4 * (24 + 24 + 12),
     .bytes_written = 4 * 48},
};

// Additions: skip 24, mean square 18 + 6; multiplications 72; divisions 6, roots 6.
constexpr OpCase kSkipSimplifiedCases[] = {
    {.what = "with the sum",
     .inputs = "f16[2,3,4] f16[2,3,4] w:f16[4]",
     .outputs = "f16[2,3,4] _ _ f16[2,3,4]",
     .flops = 24 + 24 + 72 + 12,
     .bytes_read = 2 * 52,
     .bytes_written = 2 * 48},
};

// 6 tokens of width 4 (E = 24, R = 6): 2 * 24 additions, then as above without skip and bias.
constexpr OpCase kEmbedCases[] = {
    {.what = "6 word rows, 3 position rows, both segment rows",
     .inputs = "i32[2,3] i32[2,3] w:f32[100,4] w:f32[16,4] w:f32[2,4] w:f32[4] w:f32[4] i32[2,3]",
     .outputs = "f32[2,3,4] i32[2]",
     .flops = 48 + 66 + 24 + 72 + 12 + 6,
     .bytes_read = 3 * 24 + 4 * (24 + 12 + 8 + 4 + 4),
     .bytes_written = 96 + 8},
};

// Besides, 3 * 24 + 2 * 4 dequantized.
constexpr OpCase kQEmbedCases[] = {
    {.what = "8-bit tables",
     .inputs = "i32[2,3] i32[2,3] w:u8[100,4] w:u8[16,4] w:u8[2,4] w:u8[4] w:u8[4] i32[2,3] f32[] "
               "f32[] f32[] f32[] f32[] u8[] u8[] u8[] u8[] u8[]",
     .outputs = "f32[2,3,4] i32[2]",
     .flops = 48 + 66 + 24 + 72 + 12 + 6 + 80,
     .bytes_read = 3 * 24 + 24 + 12 + 8 + 4 + 4 + 20 + 5,
     .bytes_written = 96 + 8},
};

// E = 32, R = 4: moments 56 + 32 + 4, shift 32; 96 multiplications, 8 divisions, 4 roots; SiLU 3.
constexpr OpCase kGroupNormCases[] = {
    {.what = "2 groups, channels last, SiLU",
     .attributes = "groups=2 activation=1",
     .inputs = "f16[2,2,2,4] f32[4] f32[4]",
     .outputs = "f16[2,2,2,4]",
     .flops = 92 + 32 + 96 + 8 + 4 + 3 * 32,
     .bytes_read = 64 + 32,
     .bytes_written = 64},
};

constexpr OpCase kSkipGroupNormCases[] = {
    {.what = "2 groups, skip and bias: 2 additions per element more",
     .attributes = "groups=2 activation=0",
     .inputs = "f16[2,2,2,4] f32[4] f32[4] f16[2,2,2,4] f16[4]",
     .outputs = "f16[2,2,2,4] f16[2,2,2,4]",
     .flops = 92 + 32 + 96 + 8 + 4 + 2 * 32,
     .bytes_read = 64 + 32 + 64 + 8,
     .bytes_written = 128},
};

// E = 24, R = 6 (E = 24, R = 4 for the gate): mean square 24 mul, E - R + R add, R div, R sqrt.
constexpr OpCase kBranchwiseCases[] = {
    {.what = "2 branches of 4 without scale",
     .attributes = "num_branches=2",
     .inputs = "f32[3,8]",
     .outputs = "f32[3,8]",
     .flops = 24 + 24 + 12 + 24,
     .bytes_read = 96,
     .bytes_written = 96},
};

constexpr OpCase kGatedCases[] = {
    {.what = "heads of 6, SiLU gate (3 FLOPs)",
     .inputs = "f32[2,12] f32[6] f32[2,12]",
     .outputs = "f32[2,12]",
     .flops = 24 + 24 + 8 + 72 + 72,
     .bytes_read = 96 + 24 + 96,
     .bytes_written = 96},
};

constexpr ContribOps kMakeContribNormalization{FusionRole::kNormalization};
// ONNX Runtime registers this one in the standard domain as well.
constexpr ContribOps kMakeOnnxNormalization{FusionRole::kNormalization, ""};

constexpr std::string_view kSkipFormula = "1 add per element and addend; then LayerNormalization";
constexpr std::string_view kSkipRmsFormula = "1 add per element and addend; then RMSNormalization";

constexpr OpDef kContribNormalizationOps[] = {
    kMakeContribNormalization("SkipLayerNormalization", kSkipFormula, InferSkip, CostSkipLayer,
                              kSkipLayerCases),
    kMakeContribNormalization("SkipSimplifiedLayerNormalization", kSkipRmsFormula, InferSkip,
                              CostSkipSimplified, kSkipSimplifiedCases),
    kMakeOnnxNormalization("SkipSimplifiedLayerNormalization", kSkipRmsFormula, InferSkip,
                           CostSkipSimplified, kSkipSimplifiedCases),
    kMakeContribNormalization("EmbedLayerNormalization",
                              "1 or 2 adds per element; then LayerNormalization", InferEmbed,
                              CostEmbed, kEmbedCases),
    kMakeContribNormalization("QEmbedLayerNormalization",
                              "1 mul per gathered element; then EmbedLayerNormalization",
                              InferEmbed, CostEmbed, kQEmbedCases),
    kMakeContribNormalization("GroupNorm", "moments per group; 2 mul, 1 add per element; SiLU",
                              InferGroupNorm, CostGroupNorm, kGroupNormCases),
    kMakeContribNormalization("SkipGroupNorm", "1 add per element and addend; then GroupNorm",
                              InferGroupNorm, CostGroupNorm, kSkipGroupNormCases),
    kMakeContribNormalization("BranchwiseRMSNorm", "mean square per branch; 1 or 2 mul per element",
                              InferSameAsInput, CostBranchwise, kBranchwiseCases),
    kMakeContribNormalization("GatedRMSNorm",
                              "mean square per group; 3 mul and the activation per element",
                              InferSameAsInput, CostGated, kGatedCases),
};

}  // namespace

std::span<const OpDef> ContribNormalizationOps() { return kContribNormalizationOps; }

}  // namespace dlcost
