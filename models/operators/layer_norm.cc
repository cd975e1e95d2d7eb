#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Counting, with E elements in R rows. LayerNormalization: moments (2(E - R) + E + R additions, E
// multiplications, 2R divisions, R reciprocal roots), then normalize and scale (2 muls) and, with a
// B, shift (1 add) per element. RMSNormalization and SimplifiedLayerNormalization: mean square (E
// muls, E - R + R adds, R divs, R roots), then normalize and scale (2 muls). Stage one is done in
// the type that stash_type names, scale and shift in the type of the scale.

std::size_t FirstAxis(const OpContext& ctx) {
  return NormalizeAxis(ctx.Int("axis", -1), ctx.InputShape(0).rank());
}

void RequireBroadcastsTo(const OpContext& ctx, int input, const Shape& x) {
  if (ctx.InputShapeKnown(input) && Broadcast(x, ctx.InputShape(input)) != x) {
    throw Error("input {} {} does not broadcast to {}", input, ToString(ctx.InputShape(input)),
                ToString(x));
  }
}

// X's shape with ones from the first normalized axis on.
Shape StatisticsShape(const OpContext& ctx) {
  Shape shape = ctx.InputShape(0);
  for (std::size_t i = FirstAxis(ctx); i < shape.rank(); ++i) shape[i] = 1;
  return shape;
}

// Output 0 like X in `type`; every further one a statistic.
void InferRows(OpContext& ctx, DType type) {
  ctx.SetOutputType(0, type);
  for (int i = 1; i < ctx.NumOutputs(); ++i) ctx.SetOutputType(i, StageOneType(ctx));
  const Shape& x = ctx.InputShape(0);
  RequireBroadcastsTo(ctx, 1, x);
  if (ctx.HasInput(2)) RequireBroadcastsTo(ctx, 2, x);
  ctx.SetOutput(0, type, x);
  for (int i = 1; i < ctx.NumOutputs(); ++i) {
    ctx.SetOutput(i, StageOneType(ctx), StatisticsShape(ctx));
  }
}

void InferLayerNormalization(OpContext& ctx) { InferRows(ctx, ctx.InputType(0)); }
void InferRmsNormalization(OpContext& ctx) { InferRows(ctx, ctx.InputType(1)); }

OpCost CostRows(const OpContext& ctx, bool centered) {
  OpCost cost = StreamAll(ctx);
  const Shape& x = ctx.InputShape(0);
  const Count elements = x.Elements();
  const Count rows = StatisticsShape(ctx).Elements();
  if (centered) {
    AddMoments(cost.work, StageOneType(ctx), elements, rows);
  } else {
    AddMeanSquare(cost.work, StageOneType(ctx), elements, rows);
  }
  cost.work.Add(OpClass::kMul, StageOneType(ctx), elements);
  cost.work.Add(OpClass::kMul, ctx.OutputType(0), elements);
  if (ctx.HasInput(2)) cost.work.Add(OpClass::kAdd, ctx.OutputType(0), elements);
  cost.nest = ReduceNest{.outer = rows, .reduce = x.Product(FirstAxis(ctx), x.rank())};
  return cost;
}

OpCost CostLayerNormalization(const OpContext& ctx) { return CostRows(ctx, true); }
OpCost CostRmsNormalization(const OpContext& ctx) { return CostRows(ctx, false); }

// E = 128 * 768 = 98,304, R = 128: additions 2 * 98,176 + 98,304 + 128 and the shift, 3
// multiplications per element, 2 divisions and 1 root per row.
constexpr OpCase kLayerNormalizationCases[] = {
    {.what = "BERT",
     .inputs = "f32[1,128,768] w:f32[768] w:f32[768]",
     .outputs = "f32[1,128,768]",
     .flops = 196352 + 98304 + 128 + 98304 + 3 * 98304 + 2 * 128 + 128,
     .bytes_read = 4 * (98304 + 2 * 768),
     .bytes_written = 4 * 98304},
    {.what = "E = 24, R = 2, without B, statistics kept in f32",
     .attributes = "axis=1",
     .inputs = "f16[2,3,4] f16[3,4]",
     .outputs = "f16[2,3,4] f32[2,1,1] f32[2,1,1]",
     .flops = 44 + 24 + 2 + 72 + 4 + 2,
     .bytes_read = 2 * 36,
     .bytes_written = 48 + 16},
};

// E = 24, R = 6: 3 multiplications and 1 addition per element, 1 division and 1 root per row.
constexpr OpCase kRmsNormalizationCases[] = {
    {.what = "last axis",
     .inputs = "f32[2,3,4] w:f32[4]",
     .outputs = "f32[2,3,4]",
     .flops = 72 + 18 + 6 + 12,
     .bytes_read = 4 * 28,
     .bytes_written = 96},
};

constexpr OpDef kLayerNormOps[] = {
    {.name = "LayerNormalization",
     .since = {1, 17},  // 1: written by optimizers before the standard had it
     .formula = "moments per row; 2 mul, 1 add per element",
     .infer = InferLayerNormalization,
     .cost = CostLayerNormalization,
     .role = FusionRole::kNormalization,
     .cases = kLayerNormalizationCases},
    {.name = "RMSNormalization",
     .since = {23},
     .formula = "mean square per row; 2 mul per element",
     .infer = InferRmsNormalization,
     .cost = CostRmsNormalization,
     .role = FusionRole::kNormalization,
     .cases = kRmsNormalizationCases},
    {.name = "SimplifiedLayerNormalization",  // ONNX Runtime's, in the standard domain
     .since = {1},
     .formula = "mean square per row; 2 mul per element",
     .infer = InferRmsNormalization,
     .cost = CostRmsNormalization,
     .role = FusionRole::kNormalization,
     .cases = kRmsNormalizationCases},
    {.name = "SimplifiedLayerNormalization",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "mean square per row; 2 mul per element",
     .infer = InferRmsNormalization,
     .cost = CostRmsNormalization,
     .role = FusionRole::kNormalization,
     .cases = kRmsNormalizationCases},
};

}  // namespace

std::span<const OpDef> LayerNormOps() { return kLayerNormOps; }

}  // namespace dlcost
