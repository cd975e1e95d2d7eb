#include "estimator/core/error.h"
#include "models/operators/contrib.h"
#include "models/operators/counting.h"
#include "models/operators/elementwise.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// ONNX Runtime's fused activations count what their parts count one by one (AddActivation); a bias
// is 1 addition per element, a residual another.

// The activation of input 0, after adding input `bias` where there is one.
OpCost CostBiased(const OpContext& ctx, std::string_view activation, int bias) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Count elements = ctx.InputShape(0).Elements();
  if (ctx.HasInput(bias)) cost.work.Add(OpClass::kAdd, type, elements);
  AddActivation(cost.work, type, activation, elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

OpCost CostBiasGelu(const OpContext& ctx) { return CostBiased(ctx, "gelu", 1); }
OpCost CostFastGelu(const OpContext& ctx) { return CostBiased(ctx, "fastgelu", 1); }

// x * sigmoid(alpha * x).
OpCost CostQuickGelu(const OpContext& ctx) {
  return CostBiased(ctx, ctx.Float("alpha", 1.702) == 1 ? "silu" : "quickgelu", -1);
}

// scale * x * sigmoid(x).
OpCost CostScaledSilu(const OpContext& ctx) { return CostBiased(ctx, "quickgelu", -1); }

// Half of X + bias, times the Gelu of the other half.
void InferBiasSplitGelu(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  Shape out = ctx.InputShape(0);
  if (out.rank() == 0 || out.At(-1) % 2 != 0) throw Error("{} has no halves", ToString(out));
  out[out.rank() - 1] /= 2;
  ctx.SetOutput(0, ctx.InputType(0), std::move(out));
}

OpCost CostBiasSplitGelu(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Count outputs = ctx.OutputShape(0).Elements();
  cost.work.Add(OpClass::kAdd, type, outputs * 2);
  AddActivation(cost.work, type, "gelu", outputs);
  cost.work.Add(OpClass::kMul, type, outputs);
  cost.nest = ElementwiseNest{outputs};
  return cost;
}

// One addition per further input.
OpCost CostAdditions(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  cost.work.Add(OpClass::kAdd, ctx.InputType(0), elements * Count(ctx.NumInputs() - 1));
  cost.nest = ElementwiseNest{elements};
  return cost;
}

OpCost CostGatedAdd(const OpContext& ctx) { return CostPerElement(ctx, {.add = 1, .mul = 1}); }

OpCost CostBiasSoftmax(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Shape& x = ctx.InputShape(0);
  const Count elements = x.Elements();
  const Count reduce = x.Product(NormalizeAxis(ctx.Int("axis", 1), x.rank()), x.rank());
  const Count rows = reduce > Count(0) ? elements / reduce : Count(0);
  cost.work.Add(OpClass::kAdd, ctx.InputType(0), elements);
  AddSoftmax(cost.work, ctx.InputType(0), elements, rows);
  cost.nest = ReduceNest{.outer = rows, .reduce = reduce};
  return cost;
}

// Dropouts: the mask is one bool per element, or one bit in words of 32. `ratio` and
// `training_mode` follow the addends. In training every element is compared and scaled.
void InferDropoutMask(OpContext& ctx, bool bits) {
  const DType mask = bits ? DType::kUint32 : DType::kBool;
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutputType(1, mask);
  const Shape& x = ctx.InputShape(0);
  ctx.SetOutput(0, ctx.InputType(0), x);
  ctx.SetOutput(1, mask, bits ? Shape({CeilDiv(x.Elements(), 32).value()}) : x);
}

OpCost CostDropoutAtRatio(const OpContext& ctx, int ratio) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Count elements = ctx.InputShape(0).Elements();
  for (int addend = 1; addend < ratio; ++addend) {
    if (ctx.HasInput(addend)) cost.work.Add(OpClass::kAdd, type, elements);
  }
  const Value* training = ctx.InputValue(ratio + 1);
  if (ctx.HasInput(ratio + 1) && (training == nullptr || training->Real(0) != 0)) {
    cost.work.Add(OpClass::kCompare, type, elements);
    cost.work.Add(OpClass::kMul, type, elements);
  }
  cost.nest = ElementwiseNest{elements};
  return cost;
}

void InferBoolDropout(OpContext& ctx) { InferDropoutMask(ctx, false); }
void InferBitDropout(OpContext& ctx) { InferDropoutMask(ctx, true); }
OpCost CostBiasDropout(const OpContext& ctx) { return CostDropoutAtRatio(ctx, 3); }
OpCost CostPlainDropout(const OpContext& ctx) { return CostDropoutAtRatio(ctx, 1); }

constexpr OpCase kContribGeluCases[] = {SixFloats(24)};

constexpr OpCase kBiasGeluCases[] = {
    {.what = "bias and erf Gelu: 1 + 4 FLOPs",
     .inputs = "f32[2,3] f32[3]",
     .outputs = "f32[2,3]",
     .flops = 30,
     .bytes_read = 36,
     .bytes_written = 24},
};

constexpr OpCase kFastGeluCases[] = {
    {.what = "bias and tanh Gelu: 1 + 8 FLOPs",
     .inputs = "f32[2,3] f32[3]",
     .outputs = "f32[2,3]",
     .flops = 54,
     .bytes_read = 36,
     .bytes_written = 24},
};

constexpr OpCase kQuickGeluCases[] = {SixFloats(24), SixFloats(18, "alpha=1.0")};
constexpr OpCase kScaledSiluCases[] = {SixFloats(24)};

constexpr OpCase kBiasSplitGeluCases[] = {
    {.what = "2 additions, 4 for the Gelu, 1 multiplication per output",
     .inputs = "f16[1,3,4] f16[4]",
     .outputs = "f16[1,3,2]",
     .flops = 6 * 7,
     .bytes_read = 24 + 8,
     .bytes_written = 12},
};

constexpr OpCase kBiasAddCases[] = {
    {.what = "bias and residual",
     .inputs = "f16[1,3,4] f16[4] f16[1,3,4]",
     .outputs = "f16[1,3,4]",
     .flops = 24,
     .bytes_read = 24 + 8 + 24,
     .bytes_written = 24},
};

constexpr OpCase kGatedAddCases[] = {
    {.what = "a gate per row",
     .inputs = "f16[3,4] f16[3,4] f16[3,1]",
     .outputs = "f16[3,4]",
     .flops = 24,
     .bytes_read = 24 + 24 + 6,
     .bytes_written = 24},
};

// 6 rows of 4: an addition, then 3 + 4 + 3 + 4.
constexpr OpCase kBiasSoftmaxCases[] = {
    {.what = "over the last axis",
     .attributes = "axis=2 is_inner_broadcast=1",
     .inputs = "f32[2,3,4] f32[1,3,4]",
     .outputs = "f32[2,3,4]",
     .flops = 24 + 6 * 14,
     .bytes_read = 4 * 36,
     .bytes_written = 96},
};

constexpr OpCase kBiasDropoutCases[] = {
    {.what = "inference: bias and residual",
     .inputs = "f32[2,3] f32[3] f32[2,3]",
     .outputs = "f32[2,3] bool[2,3]",
     .flops = 12,
     .bytes_read = 60,
     .bytes_written = 30},
};

constexpr OpCase kBitmaskDropoutCases[] = {
    {.what = "training: compared and scaled",
     .inputs = "f32[8,8] f32[]{0.5} bool[]{1}",
     .outputs = "f32[8,8] u32[2]",
     .flops = 128,
     .bytes_read = 256 + 4 + 1,
     .bytes_written = 256 + 8},
};

constexpr OpCase kBitmaskBiasDropoutCases[] = {
    {.what = "inference: bias",
     .inputs = "f32[8,8] f32[8]",
     .outputs = "f32[8,8] u32[2]",
     .flops = 64,
     .bytes_read = 256 + 32,
     .bytes_written = 256 + 8},
};

constexpr ContribOps kMakeContribActivation{FusionRole::kElementwise};

constexpr OpDef kContribActivationOps[] = {
    kMakeContribActivation("Gelu", "3 mul, 1 add, 1 erf per element", InferSameAsInput,
                           CostBiasGelu, kContribGeluCases),
    kMakeContribActivation("BiasGelu", "1 add; 3 mul, 1 add, 1 erf per element", InferSameAsInput,
                           CostBiasGelu, kBiasGeluCases),
    kMakeContribActivation("FastGelu", "1 add; 6 mul, 2 add, 1 tanh per element", InferSameAsInput,
                           CostFastGelu, kFastGeluCases),
    kMakeContribActivation("QuickGelu",
                           "x * sigmoid(alpha * x): 2 mul, 1 exp, 1 add, 1 div per element",
                           InferSameAsInput, CostQuickGelu, kQuickGeluCases),
    kMakeContribActivation("ScaledSiLU",
                           "scale * x * sigmoid(x): 2 mul, 1 exp, 1 add, 1 div per element",
                           InferSameAsInput, CostScaledSilu, kScaledSiluCases),
    kMakeContribActivation("BiasSplitGelu", "2 add, Gelu, 1 mul per output", InferBiasSplitGelu,
                           CostBiasSplitGelu, kBiasSplitGeluCases),
    kMakeContribActivation("BiasAdd", "2 add per element", InferSameAsInput, CostAdditions,
                           kBiasAddCases),
    kMakeContribActivation("GatedAdd", "1 mul, 1 add per element", InferSameAsInput, CostGatedAdd,
                           kGatedAddCases),
    kMakeContribActivation("BiasSoftmax", "1 add per element; then Softmax", InferSameAsInput,
                           CostBiasSoftmax, kBiasSoftmaxCases, FusionRole::kReduction),
    kMakeContribActivation(
        "BiasDropout", "1 add per element and addend; training: 1 compare, 1 mul", InferBoolDropout,
        CostBiasDropout, kBiasDropoutCases, FusionRole::kElementwise, true),
    kMakeContribActivation("BitmaskDropout", "training: 1 compare, 1 mul per element",
                           InferBitDropout, CostPlainDropout, kBitmaskDropoutCases,
                           FusionRole::kElementwise, true),
    kMakeContribActivation(
        "BitmaskBiasDropout", "1 add per element and addend; training: 1 compare, 1 mul",
        InferBitDropout, CostBiasDropout, kBitmaskBiasDropoutCases, FusionRole::kElementwise, true),
};

}  // namespace

std::span<const OpDef> ContribActivationOps() { return kContribActivationOps; }

}  // namespace dlcost
