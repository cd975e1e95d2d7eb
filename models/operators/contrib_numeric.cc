#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Linear algebra and transforms of ONNX Runtime's domain. Counting:
// ComplexMul: a complex product is 4 multiplications and 2 additions, [..., 2] holding a number.
// CDist: per pair of rows of N, N subtractions, N squares (MACs), the root unless 'sqeuclidean'.
// Inverse: n^3 MACs per matrix (Gauss-Jordan). Rfft, Irfft of n points: 2.5 n log2 n FLOPs, half of
// a complex transform, as n/2 * log2(n)/2 radix-2 butterflies of 4 multiplications and 6 additions.

void InferComplexMul(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), Broadcast(ctx.InputShape(0), ctx.InputShape(1)));
}

OpCost CostComplexMul(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count numbers = ctx.OutputShape(0).Elements() / 2;
  cost.work.Add(OpClass::kMul, ctx.InputType(0), numbers * 4);
  cost.work.Add(OpClass::kAdd, ctx.InputType(0), numbers * 2);
  cost.nest = ElementwiseNest{numbers};
  return cost;
}

void InferCDist(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  RequireRank(ctx, 0, 2);
  RequireRank(ctx, 1, 2);
  if (ctx.InputDim(0, 1) != ctx.InputDim(1, 1)) {
    throw Error("rows of {} and of {}", ToString(ctx.InputShape(0)), ToString(ctx.InputShape(1)));
  }
  ctx.SetOutput(0, ctx.InputType(0), {ctx.InputDim(0, 0), ctx.InputDim(1, 0)});
}

OpCost CostCDist(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Count pairs = ctx.OutputShape(0).Elements();
  const std::int64_t n = ctx.InputDim(0, 1);
  cost.work.Add(OpClass::kAdd, type, pairs * n);
  cost.work.Add(OpClass::kMac, type, pairs * n);
  if (ctx.String("metric", "sqeuclidean") != "sqeuclidean") {
    cost.work.Add(OpClass::kSqrt, type, pairs);
  }
  cost.nest = GemmNest{.m = ctx.InputDim(0, 0), .n = ctx.InputDim(1, 0), .k = n};
  return cost;
}

OpCost CostInverse(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Shape& x = ctx.InputShape(0);
  if (x.rank() < 2 || x.At(-1) != x.At(-2)) throw Error("{} is not square", ToString(x));
  const Count n = x.At(-1);
  cost.work.Add(OpClass::kMac, ctx.InputType(0), x.Elements() * n);
  return cost;
}

// The last axis: n real points are n/2 + 1 complex numbers, [..., n/2 + 1, 2].
void InferRfft(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  Shape out = ctx.InputShape(0);
  if (out.rank() == 0) throw Error("the signal is a scalar");
  out[out.rank() - 1] = out.At(-1) / 2 + 1;
  out.Append(2);
  ctx.SetOutput(0, ctx.InputType(0), std::move(out));
}

void InferIrfft(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  if (x.rank() < 2 || x.At(-1) != 2) throw Error("{} are no complex numbers", ToString(x));
  std::vector<std::int64_t> dims(x.begin(), x.end() - 1);
  dims.back() = std::max<std::int64_t>(0, (Count(dims.back() - 1) * 2).value());
  ctx.SetOutput(0, ctx.InputType(0), Shape(std::move(dims)));
}

OpCost CostTransform(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Shape& real = ctx.op() == "Rfft" ? ctx.InputShape(0) : ctx.OutputShape(0);
  const std::int64_t n = real.At(-1);
  std::int64_t stages = 0;  // log2, rounded up
  while (stages < 62 && (std::int64_t{1} << stages) < n) ++stages;
  const Count butterflies = real.Elements() / 4 * Count(stages);
  cost.work.Add(OpClass::kMul, ctx.InputType(0), butterflies * 4);
  cost.work.Add(OpClass::kAdd, ctx.InputType(0), butterflies * 6);
  return cost;
}

constexpr OpCase kComplexMulCases[] = {
    {.what = "6 complex numbers",
     .inputs = "f32[2,3,2] f32[3,2]",
     .outputs = "f32[2,3,2]",
     .flops = 36,
     .bytes_read = 72,
     .bytes_written = 48},
};

constexpr OpCase kCDistCases[] = {
    {.what = "2 x 3 pairs of rows of 4",
     .attributes = "metric='euclidean'",
     .inputs = "f32[2,4] f32[3,4]",
     .outputs = "f32[2,3]",
     .macs = 24,
     .flops = 48 + 24 + 6,
     .bytes_read = 80,
     .bytes_written = 24},
};

constexpr OpCase kInverseCases[] = {
    {.what = "two 4x4 matrices",
     .inputs = "f32[2,4,4]",
     .outputs = "f32[2,4,4]",
     .macs = 128,
     .flops = 256,
     .bytes_read = 128,
     .bytes_written = 128},
};

// 8 points: 2 * 3 butterflies of 10.
constexpr OpCase kRfftCases[] = {
    {.what = "2 signals of 8 points",
     .inputs = "f32[2,8]",
     .outputs = "f32[2,5,2]",
     .flops = 2 * 60,
     .bytes_read = 64,
     .bytes_written = 80},
};

constexpr OpCase kIrfftCases[] = {
    {.what = "back to 8 points",
     .inputs = "f32[2,5,2]",
     .outputs = "f32[2,8]",
     .flops = 2 * 60,
     .bytes_read = 80,
     .bytes_written = 64},
};

constexpr ContribOps kMakeContribNumeric;
constexpr ContribOps kMakeExtension{FusionRole::kOpaque, "ai.onnx.contrib"};

constexpr auto kPointwise = FusionRole::kElementwise;

constexpr OpDef kContribNumericOps[] = {
    kMakeContribNumeric("ComplexMul", "4 mul, 2 add per complex number", InferComplexMul,
                        CostComplexMul, kComplexMulCases, kPointwise),
    kMakeContribNumeric("ComplexMulConj", "4 mul, 2 add per complex number", InferComplexMul,
                        CostComplexMul, kComplexMulCases, kPointwise),
    kMakeContribNumeric("CDist", "1 add, 1 MAC per pair and column, 1 sqrt per pair", InferCDist,
                        CostCDist, kCDistCases),
    kMakeContribNumeric("Inverse", "MACs = n^3 per matrix", InferSameAsInput, CostInverse,
                        kInverseCases),
    kMakeExtension("Inverse", "MACs = n^3 per matrix", InferSameAsInput, CostInverse,
                   kInverseCases),
    kMakeContribNumeric("Rfft", "n / 4 * log2(n) butterflies of 4 mul and 6 add", InferRfft,
                        CostTransform, kRfftCases),
    kMakeContribNumeric("Irfft", "n / 4 * log2(n) butterflies of 4 mul and 6 add", InferIrfft,
                        CostTransform, kIrfftCases),
};

}  // namespace

std::span<const OpDef> ContribNumericOps() { return kContribNumericOps; }

}  // namespace dlcost
