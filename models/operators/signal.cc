#include <algorithm>
#include <bit>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/elementwise.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// A fast transform of n complex points: n/2 * ceil(log2 n) butterflies of a complex product (4 mul,
// 2 add) and two complex additions (4 add). Real data, on either side, needs half. n need not be a
// power of two; what a mixed-radix plan spends on top is not counted.
void AddTransform(Work& work, DType type, Count transforms, Count n, bool real) {
  if (n <= Count(1)) return;
  const int stages = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n.value() - 1)));
  const Count butterflies = CeilDiv(n * stages * transforms, real ? 4 : 2);
  work.Add(OpClass::kMul, type, butterflies * 4);
  work.Add(OpClass::kAdd, type, butterflies * 6);
}

struct Transform {
  std::size_t axis = 0;
  std::int64_t length = 0;  // points
  bool inverse = false, onesided = false;
};

// The axis is an attribute in opset 17 (default 1), an input since 20 (default -2).
Transform TransformOf(const OpContext& ctx) {
  const Shape& x = ctx.InputShape(0);
  if (x.rank() < 2 || x[x.rank() - 1] < 1 || x[x.rank() - 1] > 2) {
    throw Error("{} has no last axis of 1 (real) or 2 (complex)", ToString(x));
  }
  std::int64_t axis = ctx.opset() < 20 ? ctx.Int("axis", 1) : -2;
  if (ctx.opset() >= 20 && ctx.HasInput(2)) axis = ScalarInput(ctx, 2);
  Transform transform{.axis = NormalizeAxis(axis, x.rank()),
                      .inverse = ctx.Int("inverse", 0) != 0,
                      .onesided = ctx.Int("onesided", 0) != 0};
  if (transform.axis + 1 == x.rank()) throw Error("axis {} is that of real and imaginary", axis);
  if (ctx.HasInput(1)) {
    transform.length = ScalarInput(ctx, 1);
  } else {
    transform.length = x[transform.axis];
    if (transform.inverse && transform.onesided)
      transform.length = (Count(2) * (transform.length - 1)).value();
  }
  if (transform.length < 1) throw Error("a transform of {} points", transform.length);
  return transform;
}

void InferDft(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Transform transform = TransformOf(ctx);
  Shape y = ctx.InputShape(0);
  const bool half = transform.onesided && !transform.inverse;
  y[transform.axis] = half ? transform.length / 2 + 1 : transform.length;
  y[y.rank() - 1] = transform.onesided && transform.inverse ? 1 : 2;
  ctx.SetOutput(0, ctx.InputType(0), std::move(y));
}

OpCost CostDft(const OpContext& ctx) {
  const Transform transform = TransformOf(ctx);
  const Shape& x = ctx.InputShape(0);
  OpCost cost = StreamFirst(ctx, 1);
  if (x.Elements() == Count(0)) return cost;
  const Count transforms = x.Elements() / Count(x[transform.axis]) / Count(x[x.rank() - 1]);
  const bool real = x[x.rank() - 1] == 1 || transform.onesided;
  AddTransform(cost.work, ctx.InputType(0), transforms, transform.length, real);
  // The inverse divides by the number of points.
  if (transform.inverse) {
    cost.work.Add(OpClass::kMul, ctx.InputType(0), ctx.OutputShape(0).Elements());
  }
  return cost;
}

std::int64_t FrameLength(const OpContext& ctx) {
  if (ctx.HasInput(3)) return ScalarInput(ctx, 3);
  return ctx.HasInput(2) ? ctx.InputDim(2, 0) : ctx.InputDim(0, 1);
}

// [batch, samples] or [batch, samples, 1 or 2] -> [batch, frames, bins, 2].
void InferStft(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  if (x.rank() != 2 && x.rank() != 3) throw Error("the signal has rank {}", x.rank());
  const std::int64_t step = ScalarInput(ctx, 1);
  const std::int64_t length = FrameLength(ctx);
  if (step < 1 || length < 1 || length > x[1]) {
    throw Error("frames of {} every {} in {} samples", length, step, x[1]);
  }
  const std::int64_t frames = (x[1] - length) / step + 1;
  const std::int64_t bins = ctx.Int("onesided", 1) != 0 ? length / 2 + 1 : length;
  ctx.SetOutput(0, ctx.InputType(0), Shape{x[0], frames, bins, 2});
}

OpCost CostStft(const OpContext& ctx) {
  OpCost cost;
  AddRead(cost, ctx, 0);
  AddRead(cost, ctx, 2);
  AddWrite(cost, ctx, 0);
  const Shape& x = ctx.InputShape(0);
  const Shape& y = ctx.OutputShape(0);
  const bool complex = x.rank() == 3 && x[2] == 2;
  const Count frames = Count(y[0]) * y[1];
  const Count length = FrameLength(ctx);
  if (ctx.HasInput(2)) {
    cost.work.Add(OpClass::kMul, ctx.InputType(0), frames * length * (complex ? 2 : 1));
  }
  AddTransform(cost.work, ctx.InputType(0), frames, length, !complex);
  return cost;
}

DType OutputDatatype(const OpContext& ctx) {
  const std::int64_t number = ctx.Int("output_datatype", 1);
  if (number <= 0 || number >= kDTypeCount) {
    throw Error("type {} of attribute 'output_datatype' is not known", number);
  }
  return DTypeFromOnnx(static_cast<int>(number));
}

void InferWindow(OpContext& ctx) {
  const DType type = OutputDatatype(ctx);
  ctx.SetOutputType(0, type);
  ctx.SetOutput(0, type, Shape{ScalarInput(ctx, 0)});
}

OpCost CostWrite(const OpContext& ctx, const PerElement& operations) {
  OpCost cost;
  AddWrite(cost, ctx, 0);
  const Count elements = ctx.OutputShape(0).Elements();
  AddPerElement(cost.work, operations, ctx.OutputType(0), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// a - b * cos(c * n); Blackman has a second cosine.
OpCost CostOneCosine(const OpContext& ctx) {
  return CostWrite(ctx, {.add = 1, .mul = 2, .trig = 1});
}
OpCost CostTwoCosines(const OpContext& ctx) {
  return CostWrite(ctx, {.add = 2, .mul = 4, .trig = 2});
}

void InferMelWeightMatrix(OpContext& ctx) {
  const DType type = OutputDatatype(ctx);
  ctx.SetOutputType(0, type);
  ctx.SetOutput(0, type, Shape{ScalarInput(ctx, 1) / 2 + 1, ScalarInput(ctx, 0)});
}

// The bins + 2 edges from mel to hertz: 1 exp, 2 mul, 1 add; each cell a triangle: 2 compares, 1
// add, 1 div.
OpCost CostMelWeightMatrix(const OpContext& ctx) {
  OpCost cost = CostWrite(ctx, {.add = 1, .div = 1, .compare = 2});
  AddPerElement(cost.work, {.add = 1, .mul = 2, .exp = 1}, ctx.OutputType(0),
                Count(ctx.OutputShape(0)[1]) + 2);
  return cost;
}

// 16 real points: 16 * 4 / 4 = 16 butterflies of 10.
constexpr OpCase kDftCases[] = {
    {.what = "16 real points, one side",
     .attributes = "onesided=1",
     .inputs = "f32[1,16,1] _ i64[]{1}",
     .outputs = "f32[1,9,2]",
     .flops = 160,
     .bytes_read = 64,
     .bytes_written = 72},
    {.what = "opset 17: the axis is an attribute; complex, inverse",
     .attributes = "axis=1 inverse=1",
     .inputs = "f32[2,8,2]",
     .outputs = "f32[2,8,2]",
     .flops = 272,
     .bytes_read = 128,
     .bytes_written = 128,
     .opset = 17},
};
// 15 frames: window 15 * 16, transforms 15 * 16 butterflies of 10.
constexpr OpCase kStftCases[] = {{.what = "15 windowed frames of 16",
                                  .inputs = "f32[1,128,1] i64[]{8} f32[16]",
                                  .outputs = "f32[1,15,9,2]",
                                  .flops = 2640,
                                  .bytes_read = 576,
                                  .bytes_written = 1080}};
constexpr OpCase WindowCase(std::int64_t flops) {
  return {.what = "10 points",
          .inputs = "i64[]{10}",
          .outputs = "f32[10]",
          .flops = flops,
          .bytes_written = 40};
}
constexpr OpCase kHannCases[] = {WindowCase(30)};
constexpr OpCase kHammingCases[] = {WindowCase(30)};
constexpr OpCase kBlackmanCases[] = {WindowCase(60)};
// 9 x 8 cells of 4, 10 edges of 3.
constexpr OpCase kMelCases[] = {{.what = "8 bins",
                                 .inputs = "i64[]{8} i64[]{16} i64[]{8192} f32[]{0} f32[]{4096}",
                                 .outputs = "f32[9,8]",
                                 .flops = 318,
                                 .bytes_written = 288}};

constexpr OpDef kSignalOps[] = {
    {.name = "DFT",
     .since = {17, 20},
     .formula = "per transform n/2 * ceil(log2 n) butterflies of 4 mul, 6 add; half for real data",
     .infer = InferDft,
     .cost = CostDft,
     .cases = kDftCases},
    {.name = "STFT",
     .since = {17},
     .formula = "per frame n mul for the window and a DFT of n points",
     .infer = InferStft,
     .cost = CostStft,
     .cases = kStftCases},
    {.name = "HannWindow",
     .since = {17},
     .formula = "1 cos, 2 mul, 1 add per element",
     .infer = InferWindow,
     .cost = CostOneCosine,
     .cases = kHannCases},
    {.name = "HammingWindow",
     .since = {17},
     .formula = "1 cos, 2 mul, 1 add per element",
     .infer = InferWindow,
     .cost = CostOneCosine,
     .cases = kHammingCases},
    {.name = "BlackmanWindow",
     .since = {17},
     .formula = "2 cos, 4 mul, 2 add per element",
     .infer = InferWindow,
     .cost = CostTwoCosines,
     .cases = kBlackmanCases},
    {.name = "MelWeightMatrix",
     .since = {17},
     .formula = "per edge 1 exp, 2 mul, 1 add; per cell 2 compares, 1 add, 1 div",
     .infer = InferMelWeightMatrix,
     .cost = CostMelWeightMatrix,
     .cases = kMelCases},
};

}  // namespace

std::span<const OpDef> SignalOps() { return kSignalOps; }

}  // namespace dlcost
