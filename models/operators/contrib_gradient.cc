#include <algorithm>

#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// The gradients that ONNX Runtime's training graphs consist of. Counting: the derivative as it is
// written beside each operator, times the incoming gradient. Normalization gradients: two sums over
// each row (2 multiplications, 2 additions per element), 3 multiplications and 2 additions per
// element for dX, one sum each for scale and bias (1 multiplication and 1 addition, 1 addition per
// element). As in the forward pass, multiply-accumulates are those of products alone.

// Elementwise: dX from dY and X (or Y), both of one shape.
OpCost CostPointwise(const OpContext& ctx, std::initializer_list<std::pair<OpClass, int>> pieces) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  for (const auto& [op_class, count] : pieces) {
    cost.work.Add(op_class, ctx.InputType(0), elements * Count(count));
  }
  cost.nest = ElementwiseNest{elements};
  return cost;
}

using enum OpClass;

// dY where X > 0.
OpCost CostReluGrad(const OpContext& ctx) { return CostPointwise(ctx, {{kCompare, 1}}); }
// dY * Y * (1 - Y).
OpCost CostSigmoidGrad(const OpContext& ctx) { return CostPointwise(ctx, {{kAdd, 1}, {kMul, 2}}); }
// dY * (1 - Y^2).
OpCost CostTanhGrad(const OpContext& ctx) { return CostPointwise(ctx, {{kAdd, 1}, {kMul, 2}}); }
// dY where X > 0, else alpha * dY.
OpCost CostLeakyReluGrad(const OpContext& ctx) {
  return CostPointwise(ctx, {{kCompare, 1}, {kMul, 1}});
}
// dY * (0.5 * (1 + erf(x / sqrt 2)) + x * exp(-x^2 / 2) / sqrt(2 pi)); a bias is added to x first.
OpCost CostGeluGrad(const OpContext& ctx) {
  const int bias = ctx.HasInput(2) ? 1 : 0;
  return CostPointwise(ctx, {{kTrig, 1}, {kExp, 1}, {kAdd, 2 + bias}, {kMul, 7}});
}
// With t = tanh(c (x + 0.044715 x^3)): dY * (0.5 (1 + t) + 0.5 x (1 - t^2) c (1 + 3 * 0.044715
// x^2)).
OpCost CostFastGeluGrad(const OpContext& ctx) {
  const int bias = ctx.HasInput(2) ? 1 : 0;
  return CostPointwise(ctx, {{kTrig, 1}, {kAdd, 5 + bias}, {kMul, 12}});
}
// With s = sigmoid(alpha x): dY * s * (1 + alpha x (1 - s)).
OpCost CostQuickGeluGrad(const OpContext& ctx) {
  return CostPointwise(ctx, {{kExp, 1}, {kDiv, 1}, {kAdd, 3}, {kMul, 4}});
}

// Inputs: dY, mask, ratio, training_mode.
OpCost CostDropoutGrad(const OpContext& ctx) { return CostPointwise(ctx, {{kMul, 2}}); }

// dY * Y - Y * sum(dY * Y); of the logarithm: dY - exp(Y) * sum(dY). Inputs: dY, Y.
ReduceNest RowsNest(const OpContext& ctx) {
  const Shape& x = ctx.InputShape(0);
  const bool one_axis = ctx.op().find("_13") != std::string::npos;
  const std::size_t axis = NormalizeAxis(ctx.Int("axis", one_axis ? -1 : 1), x.rank());
  const Count reduce = one_axis ? Count(x[axis]) : x.Product(axis, x.rank());
  return {.outer = reduce > Count(0) ? x.Elements() / reduce : Count(0), .reduce = reduce};
}

OpCost CostSoftmaxGrad(const OpContext& ctx) {
  OpCost cost = CostPointwise(ctx, {{kAdd, 2}, {kMul, 2}});
  cost.nest = RowsNest(ctx);
  return cost;
}

OpCost CostLogSoftmaxGrad(const OpContext& ctx) {
  OpCost cost = CostPointwise(ctx, {{kExp, 1}, {kAdd, 1}, {kMul, 1}});
  const ReduceNest rows = RowsNest(ctx);
  cost.work.Add(kAdd, ctx.InputType(0), Folds(rows.outer * rows.reduce, rows.outer));
  cost.nest = rows;
  return cost;
}

// Inputs: dY, X, scale, mean, inverse deviation (the simplified form has no mean). Outputs: dX,
// dScale, dB.
void InferNormGrad(OpContext& ctx) {
  ctx.SetOutput(0, ctx.InputType(0), ctx.InputShape(1));
  for (const int i : {1, 2}) ctx.SetOutput(i, ctx.InputType(2), ctx.InputShape(2));
}

OpCost CostNormGrad(const OpContext& ctx) {
  OpCost cost = CostPointwise(ctx, {{kMul, 6}, {kAdd, 5}});
  const Count elements = ctx.InputShape(0).Elements(), scales = ctx.InputShape(2).Elements();
  if (ctx.HasOutput(2)) cost.work.Add(kAdd, ctx.InputType(0), Folds(elements, scales));
  const Count others = scales > Count(0) ? elements / scales : Count(0);
  if (ctx.op() == "BatchNormalizationGrad") {  // the sums of a channel are those of its scale
    cost.nest = ReduceNest{.outer = scales,
                           .reduce = others,
                           .plane = PlaneElements(ctx.InputShape(1)),
                           .backward = true};
  } else {
    cost.nest =
        ReduceNest{.outer = others, .reduce = scales, .backward = true, .across = ctx.HasOutput(1)};
  }
  return cost;
}

// x times a number, or over it (scale_down).
OpCost CostScale(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  cost.work.Add(ctx.Int("scale_down", 0) != 0 ? OpClass::kDiv : kMul, ctx.InputType(0), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// Inputs: shape of the data, indices, dY. Every gradient row is added into its place.
void InferGatherGrad(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(2));
  ctx.SetOutput(0, ctx.InputType(2), Shape(ctx.InputInts(0)));
}

OpCost CostGatherGrad(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(2).Elements();
  cost.work.Add(kAdd, ctx.InputType(2), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// Inputs: dY (scalar or per label), log probabilities, labels, weight, ignore_index, bias. Per
// score: exp, subtract the label's one, multiply.
void InferLossGrad(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), ctx.InputShape(1));
}

OpCost CostLossGrad(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(1);
  const Count scores = ctx.InputShape(1).Elements();
  cost.work.Add(kExp, type, scores);
  cost.work.Add(kAdd, type, scores);
  cost.work.Add(kMul, type, scores * Count(ctx.HasInput(3) ? 2 : 1));
  cost.nest = ElementwiseNest{scores};
  return cost;
}

// Inputs: buffer, values, update flag. buffer + values, in place.
OpCost CostAccumulateInPlace(const OpContext& ctx) { return CostPointwise(ctx, {{kAdd, 1}}); }

constexpr OpCase Six(std::int64_t flops) {
  return {.what = "6 elements",
          .inputs = "f32[2,3] f32[2,3]",
          .outputs = "f32[2,3]",
          .flops = flops,
          .bytes_read = 48,
          .bytes_written = 24};
}

constexpr OpCase kReluGradCases[] = {Six(6)};
constexpr OpCase kSigmoidGradCases[] = {Six(18)};
constexpr OpCase kLeakyReluGradCases[] = {Six(12)};
constexpr OpCase kGeluGradCases[] = {Six(54)};
constexpr OpCase kFastGeluGradCases[] = {Six(102)};
constexpr OpCase kQuickGeluGradCases[] = {Six(48)};
constexpr OpCase kAccumulateInPlaceCases[] = {Six(6)};

constexpr OpCase kBiasGeluGradCases[] = {
    {.what = "a bias: 1 addition more",
     .inputs = "f32[2,3] f32[2,3] f32[3]",
     .outputs = "f32[2,3]",
     .flops = 60,
     .bytes_read = 60,
     .bytes_written = 24},
};

constexpr OpCase kBiasFastGeluGradCases[] = {
    {.what = "a bias: 1 addition more",
     .inputs = "f32[2,3] f32[2,3] f32[3]",
     .outputs = "f32[2,3]",
     .flops = 108,
     .bytes_read = 60,
     .bytes_written = 24},
};

constexpr OpCase kDropoutGradCases[] = {
    {.what = "mask and scale",
     .inputs = "f32[2,3] bool[2,3] f32[] bool[]",
     .outputs = "f32[2,3]",
     .flops = 12,
     .bytes_read = 24 + 6 + 4 + 1,
     .bytes_written = 24},
};

constexpr OpCase kSoftmaxGradCases[] = {
    {.what = "2 add, 2 mul per element",
     .inputs = "f32[2,3] f32[2,3]",
     .outputs = "f32[2,3]",
     .flops = 24,
     .bytes_read = 48,
     .bytes_written = 24},
};

// 6 adds, 6 muls, 4 to sum two rows.
constexpr OpCase kLogSoftmaxGradCases[] = {Six(16)};

constexpr OpCase kLayerNormGradCases[] = {
    {.what = "2 rows of 3: 6 mul, 5 add per element, 3 to sum dB",
     .inputs = "f32[2,3] f32[2,3] f32[3] f32[2,1] f32[2,1]",
     .outputs = "f32[2,3] f32[3] f32[3]",
     .flops = 36 + 30 + 3,
     .bytes_read = 48 + 12 + 16,
     .bytes_written = 24 + 24},
};

constexpr OpCase kScaleCases[] = {
    {.what = "1 division per element",
     .attributes = "scale_down=1",
     .inputs = "f32[2,3] f32[]",
     .outputs = "f32[2,3]",
     .flops = 6,
     .bytes_read = 28,
     .bytes_written = 24},
};

constexpr OpCase kGatherGradCases[] = {
    {.what = "2 rows of 3 into 5",
     .inputs = "i64[2]{5,3} i64[2] f32[2,3]",
     .outputs = "f32[5,3]",
     .flops = 6,
     .bytes_read = 16 + 16 + 24,
     .bytes_written = 60},
};

constexpr OpCase kLossGradCases[] = {
    {.what = "2 labels, 5 classes",
     .inputs = "f32[] f32[2,5] i64[2]",
     .outputs = "f32[2,5]",
     .flops = 20,
     .bytes_read = 4 + 40 + 16,
     .bytes_written = 40},
};

constexpr ContribOps kMakeContribGradient{FusionRole::kElementwise};

constexpr auto kNorm = FusionRole::kNormalization;
constexpr auto kReduce = FusionRole::kReduction;
constexpr std::string_view kGelu = "1 erf, 1 exp, 2 add, 7 mul per element; 1 add for a bias";
constexpr std::string_view kTanh = "1 tanh, 5 add, 12 mul per element; 1 add for a bias";
constexpr std::string_view kNormGrad = "6 mul, 5 add per element; 1 add for dB";

constexpr OpDef kContribGradientOps[] = {
    kMakeContribGradient("ReluGrad", "1 compare per element", InferSameAsInput, CostReluGrad,
                         kReluGradCases),
    kMakeContribGradient("SigmoidGrad", "1 add, 2 mul per element", InferSameAsInput,
                         CostSigmoidGrad, kSigmoidGradCases),
    kMakeContribGradient("TanhGrad", "1 add, 2 mul per element", InferSameAsInput, CostTanhGrad,
                         kSigmoidGradCases),
    kMakeContribGradient("LeakyReluGrad", "1 compare, 1 mul per element", InferSameAsInput,
                         CostLeakyReluGrad, kLeakyReluGradCases),
    kMakeContribGradient("GeluGrad", kGelu, InferSameAsInput, CostGeluGrad, kGeluGradCases),
    kMakeContribGradient("BiasGeluGrad_dX", kGelu, InferSameAsInput, CostGeluGrad,
                         kBiasGeluGradCases),
    kMakeContribGradient("FastGeluGrad", kTanh, InferSameAsInput, CostFastGeluGrad,
                         kFastGeluGradCases),
    kMakeContribGradient("BiasFastGeluGrad_dX", kTanh, InferSameAsInput, CostFastGeluGrad,
                         kBiasFastGeluGradCases),
    kMakeContribGradient("QuickGeluGrad", "1 exp, 1 div, 3 add, 4 mul per element",
                         InferSameAsInput, CostQuickGeluGrad, kQuickGeluGradCases),
    kMakeContribGradient("DropoutGrad", "2 mul per element", InferSameAsInput, CostDropoutGrad,
                         kDropoutGradCases),
    kMakeContribGradient("SoftmaxGrad", "2 add, 2 mul per element", InferSameAsInput,
                         CostSoftmaxGrad, kSoftmaxGradCases, kReduce),
    kMakeContribGradient("SoftmaxGrad_13", "2 add, 2 mul per element", InferSameAsInput,
                         CostSoftmaxGrad, kSoftmaxGradCases, kReduce),
    kMakeContribGradient("LogSoftmaxGrad", "1 exp, 2 add, 1 mul per element", InferSameAsInput,
                         CostLogSoftmaxGrad, kLogSoftmaxGradCases, kReduce),
    kMakeContribGradient("LogSoftmaxGrad_13", "1 exp, 2 add, 1 mul per element", InferSameAsInput,
                         CostLogSoftmaxGrad, kLogSoftmaxGradCases, kReduce),
    kMakeContribGradient("LayerNormalizationGrad", kNormGrad, InferNormGrad, CostNormGrad,
                         kLayerNormGradCases, kNorm),
    kMakeContribGradient("SimplifiedLayerNormalizationGrad", kNormGrad, InferNormGrad, CostNormGrad,
                         kLayerNormGradCases, kNorm),
    kMakeContribGradient("BatchNormalizationGrad", kNormGrad, InferNormGrad, CostNormGrad,
                         kLayerNormGradCases, kNorm),
    kMakeContribGradient("Scale", "1 mul (scale_down: 1 div) per element", InferSameAsInput,
                         CostScale, kScaleCases),
    kMakeContribGradient("GatherGrad", "1 add per element of dY", InferGatherGrad, CostGatherGrad,
                         kGatherGradCases, FusionRole::kMovement),
    kMakeContribGradient("SoftmaxCrossEntropyLossGrad", "1 exp, 1 add, 1 or 2 mul per score",
                         InferLossGrad, CostLossGrad, kLossGradCases),
    kMakeContribGradient("SoftmaxCrossEntropyLossInternalGrad",
                         "1 exp, 1 add, 1 or 2 mul per score", InferLossGrad, CostLossGrad,
                         kLossGradCases),
    kMakeContribGradient("InPlaceAccumulator", "1 add per element", InferSameAsInput,
                         CostAccumulateInPlace, kAccumulateInPlaceCases),
};

}  // namespace

std::span<const OpDef> ContribGradientOps() { return kContribGradientOps; }

}  // namespace dlcost
