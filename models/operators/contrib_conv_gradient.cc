#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/conv.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Gradients of convolutions in ONNX Runtime's training graphs. Inputs: dY, X, W. Outputs: dX, dW,
// dB. As many MACs as the forward convolution for each of dX and dW, one addition per output of dY
// for dB.

// The convolution of a gradient, from input `image` to input `result`: of dY, X, W those of Conv
// are X and dY, those of ConvTranspose dY and X.
ConvShape ForwardOf(const OpContext& ctx, int image, int result) {
  const Shape& x = ctx.InputShape(image);
  const Shape& w = ctx.InputShape(2);
  if (x.rank() < 3) throw Error("X {} has no spatial axis", ToString(x));
  ConvShape conv;
  conv.groups = GroupsOf(ctx);
  conv.batch = x[0];
  conv.in_channels = x[1];
  conv.out_channels = w[0];
  conv.group_channels = w[1];
  conv.window = WindowOver(ctx, {x.begin() + 2, x.end()}, KernelOf(ctx, 2));
  conv.out = ctx.InputShape(result);
  return conv;
}

void InferConvGrad(OpContext& ctx) {
  ctx.SetOutput(0, ctx.InputType(0), ctx.InputShape(1));
  ctx.SetOutput(1, ctx.InputType(0), ctx.InputShape(2));
  ctx.SetOutput(2, ctx.InputType(0), {ctx.InputDim(2, 0)});
}

void InferConvTransposeGrad(OpContext& ctx) {
  ctx.SetOutput(0, ctx.InputType(0), ctx.InputShape(1));
  ctx.SetOutput(1, ctx.InputType(0), ctx.InputShape(2));
  ctx.SetOutput(2, ctx.InputType(0), {ctx.InputDim(0, 1)});
}

// `conv` is the convolution that both gradients are of; where a ConvTranspose was its gradient, dX
// is the convolution itself.
OpCost CostGradients(const OpContext& ctx, const ConvShape& conv, bool of_transposed) {
  // dX takes dY and W, dW takes dY and X; a gradient that is left out reads nothing.
  OpCost cost;
  AddRead(cost, ctx, 0);
  if (ctx.HasOutput(1)) AddRead(cost, ctx, 1);
  if (ctx.HasOutput(0)) AddRead(cost, ctx, 2);
  for (int i = 0; i < ctx.NumOutputs(); ++i) AddWrite(cost, ctx, i);
  OpCost forward;
  AddConv(forward, conv, ctx.InputType(0));
  const auto& nest = std::get<ConvNest>(forward.nest);
  cost.nest = nest;
  for (const int gradient : {0, 1}) {
    if (!ctx.HasOutput(gradient)) continue;
    if (gradient == 1) cost.nest = WeightGradient(nest);
    if (gradient == 0) cost.nest = of_transposed ? nest : InputGradient(nest);
    cost.AddPart(gradient == 0 ? "dX" : "dW", cost.nest, ctx.InputType(0));
    cost.valid_macs += forward.valid_macs;
  }
  if (ctx.HasOutput(2)) {
    cost.work.Add(OpClass::kAdd, ctx.InputType(0),
                  Folds(ctx.InputShape(0).Elements(), ctx.InputDim(0, 1)));
  }
  return cost;
}

OpCost CostConvGrad(const OpContext& ctx) {
  return CostGradients(ctx, ForwardOf(ctx, 1, 0), false);
}
OpCost CostConvTransposeGrad(const OpContext& ctx) {
  return CostGradients(ctx, ForwardOf(ctx, 0, 1), true);
}

// 48 outputs of 18 taps, twice; 48 - 3 additions.
constexpr OpCase kConvGradCases[] = {
    {.what = "dX, dW and dB",
     .attributes = "pads=[1,1,1,1] kernel_shape=[3,3]",
     .inputs = "f32[1,3,4,4] f32[1,2,4,4] w:f32[3,2,3,3]",
     .outputs = "f32[1,2,4,4] f32[3,2,3,3] f32[3]",
     .macs = 1728,
     .flops = 3456 + 45,
     .bytes_read = 4 * (48 + 32 + 54),
     .bytes_written = 4 * (32 + 54 + 3)},
    {.what = "dW alone: W is not read",
     .attributes = "pads=[1,1,1,1] kernel_shape=[3,3]",
     .inputs = "f32[1,3,4,4] f32[1,2,4,4] w:f32[3,2,3,3]",
     .outputs = "_ f32[3,2,3,3]",
     .macs = 864,
     .flops = 1728,
     .bytes_read = 4 * (48 + 32),
     .bytes_written = 4 * 54},
};

// From 2 channels of 4 x 4 to 3 of 6 x 6: 32 inputs of 3 * 9 taps, for X and for W; 3 sums of 36.
constexpr OpCase kConvTransposeGradCases[] = {
    {.what = "all three gradients",
     .attributes = "kernel_shape=[3,3]",
     .inputs = "f32[1,3,6,6] f32[1,2,4,4] w:f32[2,3,3,3]",
     .outputs = "f32[1,2,4,4] f32[2,3,3,3] f32[3]",
     .macs = 2 * 864,
     .flops = 4 * 864 + 105,
     .bytes_read = 4 * (108 + 32 + 54),
     .bytes_written = 4 * (32 + 54 + 3)},
};

constexpr ContribOps kMakeContribConvGradient{FusionRole::kAnchor};

constexpr OpDef kContribConvGradientOps[] = {
    kMakeContribConvGradient("ConvGrad", "MACs = those of Conv for dX and for dW", InferConvGrad,
                             CostConvGrad, kConvGradCases),
    kMakeContribConvGradient("ConvTransposeGrad", "MACs = those of ConvTranspose for dX and for dW",
                             InferConvTransposeGrad, CostConvTransposeGrad,
                             kConvTransposeGradCases),
};

}  // namespace

std::span<const OpDef> ContribConvGradientOps() { return kContribConvGradientOps; }

}  // namespace dlcost
