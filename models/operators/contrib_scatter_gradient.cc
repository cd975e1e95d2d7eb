#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Gradients of ONNX Runtime's training that put dY back where the forward operator took it from.
// Where several go to one place, they add: 1 addition per element of dY at most. A slice only
// moves.

// The shape of the data is an input.
void InferAsShape(OpContext& ctx, int gradient, int shape) {
  ctx.SetOutputType(0, ctx.InputType(gradient));
  ctx.SetOutput(0, ctx.InputType(gradient), Shape(ctx.InputInts(shape)));
}

OpCost CostScatterGradient(const OpContext& ctx, int gradient) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(gradient).Elements();
  cost.work.Add(OpClass::kAdd, ctx.InputType(gradient), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// Inputs: dY, shape, starts, ends, axes, steps.
void InferSliceGrad(OpContext& ctx) { InferAsShape(ctx, 0, 1); }
OpCost CostSliceGrad(const OpContext& ctx) { return StreamFirst(ctx, 1); }
// Inputs: dY, shape, indices.
void InferElementsGrad(OpContext& ctx) { InferAsShape(ctx, 0, 1); }
OpCost CostElementsGrad(const OpContext& ctx) { return CostScatterGradient(ctx, 0); }
// Inputs: shape, indices, dY.
void InferNdGrad(OpContext& ctx) { InferAsShape(ctx, 2, 0); }
OpCost CostNdGrad(const OpContext& ctx) { return CostScatterGradient(ctx, 2); }

// Inputs: dY, and the indices of the largest. How large dX is, only the model declares.
void InferPoolGrad(OpContext& ctx) { ctx.SetOutputType(0, ctx.InputType(0)); }
OpCost CostMaxPoolGrad(const OpContext& ctx) { return CostScatterGradient(ctx, 0); }

// Every element of dY is divided and added to its whole window.
OpCost CostAveragePoolGrad(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  Count window = 1;
  for (const std::int64_t extent : ctx.RequiredInts("kernel_shape")) window *= extent;
  cost.work.Add(OpClass::kDiv, ctx.InputType(0), elements);
  cost.work.Add(OpClass::kAdd, ctx.InputType(0), elements * window);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// Every element of dY goes back to the elements that it was a weighted mean of: nearest 1 addition,
// else 1 multiplication and 1 addition for each, 2 (linear) or 4 (cubic) along every axis that was
// resized: attribute resized_axes says how many.
OpCost CostResizeGrad(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  const std::string mode = ctx.String("mode", "nearest");
  Count taps = 1;
  for (std::int64_t axis = 0; axis < ctx.Int("resized_axes", 2); ++axis) {
    taps *= mode == "nearest" ? 1 : mode == "cubic" ? 4 : 2;
  }
  if (mode != "nearest") cost.work.Add(OpClass::kMul, ctx.InputType(0), elements * taps);
  cost.work.Add(OpClass::kAdd, ctx.InputType(0), elements * taps);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// Inputs: buffer, values, whether to overwrite. Outputs: done, the buffer.
void InferAccumulated(OpContext& ctx) {
  ctx.SetOutput(0, DType::kBool, {1});
  ctx.SetOutput(1, ctx.InputType(0), ctx.InputShape(0));
}

constexpr OpCase kSliceGradCases[] = {{.what = "6 elements into 20",
                                       .inputs = "f32[2,3] i64[2]{4,5} i64[2]{1,1} i64[2]{3,4}",
                                       .outputs = "f32[4,5]",
                                       .bytes_read = 24,
                                       .bytes_written = 80}};
constexpr OpCase kElementsCases[] = {{.what = "6 elements into 20",
                                      .inputs = "f32[2,3] i64[2]{4,5} i64[2,3]",
                                      .outputs = "f32[4,5]",
                                      .flops = 6,
                                      .bytes_read = 24 + 16 + 48,
                                      .bytes_written = 80}};
constexpr OpCase kNdCases[] = {{.what = "2 rows into 4",
                                .inputs = "i64[2]{4,5} i64[2,1] f32[2,5]",
                                .outputs = "f32[4,5]",
                                .flops = 10,
                                .bytes_read = 16 + 16 + 40,
                                .bytes_written = 80}};
constexpr OpCase kAccumulatedCases[] = {{.what = "6 elements",
                                         .inputs = "f32[2,3] f32[2,3] bool[1]",
                                         .outputs = "bool[1] f32[2,3]",
                                         .flops = 6,
                                         .bytes_read = 49,
                                         .bytes_written = 25}};
constexpr OpCase kMaxPoolGradCases[] = {{.what = "dX as declared; here left out",
                                         .attributes = "kernel_shape=[2,2]",
                                         .inputs = "f32[1,1,2,2] i64[1,1,2,2]",
                                         .outputs = "_",
                                         .flops = 4,
                                         .bytes_read = 16 + 32}};
constexpr OpCase kAveragePoolGradCases[] = {{.what = "dX as declared; here left out",
                                             .attributes = "kernel_shape=[2,2]",
                                             .inputs = "f32[1,1,2,2]",
                                             .outputs = "_",
                                             .flops = 4 + 16,
                                             .bytes_read = 16}};

constexpr OpCase kResizeGradCases[] = {
    {.what = "linear along two axes; dX as declared, here left out",
     .attributes = "mode='linear'",
     .inputs = "f32[1,1,4,4]",
     .outputs = "_",
     .flops = 16 * 8,
     .bytes_read = 64}};

constexpr ContribOps kMakeContribScatterGradient{FusionRole::kMovement};

// ONNX Runtime's training tools write these two into the standard domain.
constexpr ContribOps kMakeOnnxScatterGradient{FusionRole::kMovement, ""};

constexpr std::string_view kScatter = "1 add per element of dY";

constexpr OpDef kContribScatterGradientOps[] = {
    kMakeContribScatterGradient("SliceGrad", "no arithmetic; writes all of dX", InferSliceGrad,
                                CostSliceGrad, kSliceGradCases),
    kMakeContribScatterGradient("GatherElementsGrad", kScatter, InferElementsGrad, CostElementsGrad,
                                kElementsCases),
    kMakeContribScatterGradient("GatherNDGrad", kScatter, InferNdGrad, CostNdGrad, kNdCases),
    kMakeContribScatterGradient("MaxPoolGrad", kScatter, InferPoolGrad, CostMaxPoolGrad,
                                kMaxPoolGradCases),
    kMakeContribScatterGradient("AveragePoolGrad", "1 div, prod(kernel) adds per element of dY",
                                InferPoolGrad, CostAveragePoolGrad, kAveragePoolGradCases),
    kMakeOnnxScatterGradient("MaxPoolGrad", kScatter, InferPoolGrad, CostMaxPoolGrad,
                             kMaxPoolGradCases),
    kMakeOnnxScatterGradient("AveragePoolGrad", "1 div, prod(kernel) adds per element of dY",
                             InferPoolGrad, CostAveragePoolGrad, kAveragePoolGradCases),
    kMakeContribScatterGradient("ResizeGrad",
                                "linear: 2^axes mul and add per element of dY; nearest: 1 add",
                                InferPoolGrad, CostResizeGrad, kResizeGradCases),
    kMakeContribScatterGradient(
        "InPlaceAccumulatorV2", "1 add per element", InferAccumulated,
        [](const OpContext& ctx) { return CostScatterGradient(ctx, 1); }, kAccumulatedCases,
        FusionRole::kElementwise),
};

}  // namespace

std::span<const OpDef> ContribScatterGradientOps() { return kContribScatterGradientOps; }

}  // namespace dlcost
