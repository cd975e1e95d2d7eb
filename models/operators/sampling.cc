#include <algorithm>
#include <bit>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/value_ops.h"

namespace dlcost {
namespace {

// Operators of vision that sample feature maps at computed positions.

// X [N, C, in...], grid [N, out..., d] -> [N, C, out...].
void InferGridSample(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  const Shape& grid = ctx.InputShape(1);
  if (x.rank() < 3 || grid.rank() != x.rank() || grid[0] != x[0] ||
      grid[grid.rank() - 1] != x.Rank() - 2) {
    throw Error("grid {} does not sample {}", ToString(grid), ToString(x));
  }
  Shape y{x[0], x[1]};
  for (std::size_t i = 1; i + 1 < grid.rank(); ++i) y.Append(grid[i]);
  ctx.SetOutput(0, ctx.InputType(0), std::move(y));
}

// Per coordinate 2 mul and 2 add to bring [-1, 1] to pixels; per output taps mul and taps - 1 add.
OpCost CostGridSample(const OpContext& ctx) {
  const Shape& x = ctx.InputShape(0);
  const std::string mode = ctx.String("mode", ctx.opset() < 20 ? "bilinear" : "linear");
  const std::int64_t support = mode == "nearest"                          ? 1
                               : (mode == "linear" || mode == "bilinear") ? 2
                               : (mode == "cubic" || mode == "bicubic")   ? 4
                                                                          : 0;
  if (support == 0) {
    throw Error("mode is '{}'; there are nearest, linear and cubic", Printable(mode));
  }
  Count taps = 1;
  for (std::size_t axis = 2; axis < x.rank(); ++axis) taps *= Count(support);
  const Count elements = ctx.OutputShape(0).Elements();
  const Count coordinates = ctx.InputShape(1).Elements();
  OpCost cost;
  AddPartialRead(cost, ctx, 0, std::min(x.Elements(), elements * taps), AccessKind::kGather);
  AddRead(cost, ctx, 1);
  AddWrite(cost, ctx, 0);
  const DType type = ctx.InputType(0);
  cost.work.Add(OpClass::kMul, type, coordinates * 2);
  cost.work.Add(OpClass::kAdd, type, coordinates * 2);
  if (taps > Count(1)) {
    cost.work.Add(OpClass::kMul, type, elements * taps);
    cost.work.Add(OpClass::kAdd, type, elements * (taps - 1));
  }
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// theta [N, d, d+1] and size [N, C, out...] -> [N, out..., d].
void InferAffineGrid(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& theta = ctx.InputShape(0);
  const std::vector<std::int64_t> size = ctx.InputInts(1);
  RequireRank(ctx, 0, 3);
  if (size.size() != 4 && size.size() != 5) throw Error("size has {} numbers", size.size());
  const auto d = static_cast<std::int64_t>(size.size()) - 2;
  if (theta != Shape{size[0], d, d + 1}) {
    throw Error("theta has shape {} where {} is required", ToString(theta),
                ToString(Shape{size[0], d, d + 1}));
  }
  Shape grid{size[0]};
  for (std::size_t i = 2; i < size.size(); ++i) grid.Append(size[i]);
  grid.Append(d);
  ctx.SetOutput(0, ctx.InputType(0), std::move(grid));
}

OpCost CostAffineGrid(const OpContext& ctx) {
  OpCost cost = StreamFirst(ctx, 1);
  const Count columns = ctx.InputDim(0, 2);
  cost.work.Add(OpClass::kMac, ctx.InputType(0), ctx.OutputShape(0).Elements() * columns);
  cost.nest = ElementwiseNest{ctx.OutputShape(0).Elements()};
  return cost;
}

void InferRoiAlign(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  RequireRank(ctx, 0, 4);
  RequireRank(ctx, 1, 2);
  ctx.SetOutput(0, ctx.InputType(0),
                Shape{ctx.InputDim(1, 0), ctx.InputDim(0, 1), ctx.Int("output_height", 1),
                      ctx.Int("output_width", 1)});
}

// Samples per output bin: sampling_ratio squared; adaptive (0) at most as many as a bin of the
// whole map has pixels.
OpCost CostRoiAlign(const OpContext& ctx) {
  const Shape& x = ctx.InputShape(0);
  const Shape& y = ctx.OutputShape(0);
  OpCost cost;
  Count samples = Count(ctx.Int("sampling_ratio", 0)) * ctx.Int("sampling_ratio", 0);
  if (samples == Count(0) && y.Elements() > Count(0)) {
    samples = CeilDiv(x[2], y[2]) * CeilDiv(x[3], y[3]);
    cost.note = "sampling_ratio 0 adapts to the regions; counted for regions of the whole map";
  }
  const Count per_channel = y.Elements() * samples;
  const Count positions = Count(y[0]) * y[2] * y[3] * samples;
  AddPartialRead(cost, ctx, 0, std::min(x.Elements(), per_channel * 4), AccessKind::kGather);
  AddRead(cost, ctx, 1);
  AddRead(cost, ctx, 2);
  AddWrite(cost, ctx, 0);
  const DType type = ctx.InputType(0);
  // Position: 2 mul, 2 add; weights: 2 add, 4 mul. Channel: 4 products and their sum into the bin.
  cost.work.Add(OpClass::kMul, type, positions * 6 + per_channel * 4);
  cost.work.Add(OpClass::kAdd, type, positions * 4 + per_channel * 3);
  const bool max = ctx.String("mode", "avg") == "max";
  cost.work.Add(max ? OpClass::kCompare : OpClass::kAdd, type, per_channel);
  if (!max) cost.work.Add(OpClass::kMul, type, y.Elements());
  return cost;
}

// boxes [batch, n, 4], scores [batch, classes, n] -> [selected, 3].
void InferNonMaxSuppression(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kInt64);
  RequireRank(ctx, 0, 3);
  RequireRank(ctx, 1, 3);
  const Shape& scores = ctx.InputShape(1);
  if (ctx.InputDim(0, 2) != 4 || ctx.InputDim(0, 1) != scores[2]) {
    throw Error("boxes {} and scores {} do not match", ToString(ctx.InputShape(0)),
                ToString(scores));
  }
  // Nothing is selected without a limit: its default is 0.
  std::int64_t limit = 0;
  if (ctx.HasInput(2)) {
    limit = scores[2];
    const Value* given = ctx.InputValue(2);
    if (given != nullptr && given->size() == 0) {
      limit = 0;  // an empty tensor is no limit
    } else if (given != nullptr) {
      limit = std::clamp<std::int64_t>(ScalarInput(ctx, 2), 0, scores[2]);
    }
  }
  ctx.SetOutput(0, DType::kInt64, Shape{(Count(scores[0]) * scores[1] * limit).value(), 3});
  if (limit > 0) ctx.MarkUpperBound(0);
}

// Per class: n * ceil(log2 n) comparisons to sort, areas of n boxes (2 add, 1 mul), and n times the
// limit overlaps of 7 compares, 4 add, 1 mul, 1 div, which is the worst case.
OpCost CostNonMaxSuppression(const OpContext& ctx) {
  OpCost cost;
  for (const int i : {0, 1}) AddRead(cost, ctx, i);
  AddWrite(cost, ctx, 0);
  const Shape& scores = ctx.InputShape(1);
  const Count classes = Count(scores[0]) * scores[1];
  const std::int64_t n = scores[2];
  if (n == 0 || classes == Count(0)) return cost;
  const Count limit = Count(ctx.OutputShape(0)[0]) / classes;
  const Count overlaps = classes * n * limit;
  const int depth = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
  const DType type = ctx.InputType(0);
  const Count boxes = Count(scores[0]) * n;
  cost.work.Add(OpClass::kCompare, type, classes * n * depth + overlaps * 7);
  cost.work.Add(OpClass::kAdd, type, boxes * 2 + overlaps * 4);
  cost.work.Add(OpClass::kMul, type, boxes + overlaps);
  cost.work.Add(OpClass::kDiv, type, overlaps);
  return cost;
}

void InferDet(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  if (x.rank() < 2 || x[x.rank() - 1] != x[x.rank() - 2]) {
    throw Error("{} is not made of square matrices", ToString(x));
  }
  ctx.SetOutput(0, ctx.InputType(0), Shape(std::vector<std::int64_t>(x.begin(), x.end() - 2)));
}

// LU decomposition of m x m: (m-1)m(2m-1)/6 MACs and m(m-1)/2 divisions, then m-1 products.
OpCost CostDet(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count m = ctx.InputDim(0, -1);
  const Count matrices = ctx.OutputShape(0).Elements();
  if (m == Count(0)) return cost;
  const DType type = ctx.InputType(0);
  cost.work.Add(OpClass::kMac, type, matrices * ((m - 1) * m * (m * 2 - 1) / 6));
  cost.work.Add(OpClass::kDiv, type, matrices * (m * (m - 1) / 2));
  cost.work.Add(OpClass::kMul, type, matrices * (m - 1));
  return cost;
}

// 16 coordinates: 32 mul, 32 add; 24 outputs: 96 mul, 72 add.
constexpr OpCase kGridSampleCases[] = {{.what = "bilinear",
                                        .inputs = "f32[1,3,4,4] f32[1,2,4,2]",
                                        .outputs = "f32[1,3,2,4]",
                                        .flops = 232,
                                        .bytes_read = 256,
                                        .bytes_written = 96}};
constexpr OpCase kAffineGridCases[] = {{.what = "2D: 3 MACs per coordinate",
                                        .inputs = "f32[1,2,3] i64[4]{1,3,4,5}",
                                        .outputs = "f32[1,4,5,2]",
                                        .macs = 120,
                                        .flops = 240,
                                        .bytes_read = 24,
                                        .bytes_written = 160}};
// 8 positions of 1 sample: 48 mul, 32 add; 16 channel samples: 64 mul, 48 add, 16 add; 16 mul.
constexpr OpCase kRoiAlignCases[] = {
    {.what = "one sample per bin",
     .attributes = "output_height=2 output_width=2 sampling_ratio=1",
     .inputs = "f32[1,2,8,8] f32[2,4] i64[2]",
     .outputs = "f32[2,2,2,2]",
     .flops = 224,
     .bytes_read = 304,
     .bytes_written = 64}};
// 6 boxes, 1 class, at most 3: sort 6*3 = 18, overlaps 18: 18*13 = 234, areas 18.
constexpr OpCase kNonMaxSuppressionCases[] = {{.what = "at most 3 of 6 boxes",
                                               .inputs = "f32[1,6,4] f32[1,1,6] i64[1]{3}",
                                               .outputs = "i64[3,3]",
                                               .flops = 270,
                                               .bytes_read = 120,
                                               .bytes_written = 72}};
// 3 x 3: 5 MACs, 3 divisions, 2 products.
constexpr OpCase kDetCases[] = {{.what = "two matrices of 3 x 3",
                                 .inputs = "f32[2,3,3]",
                                 .outputs = "f32[2]",
                                 .macs = 10,
                                 .flops = 30,
                                 .bytes_read = 72,
                                 .bytes_written = 8}};

constexpr OpDef kSamplingOps[] = {
    {.name = "GridSample",
     .since = {16, 20, 22},
     .formula =
         "per coordinate 2 mul, 2 add; per output taps mul, taps - 1 add, taps = (nearest 1, "
         "linear 2, cubic 4)^d",
     .infer = InferGridSample,
     .cost = CostGridSample,
     .cases = kGridSampleCases},
    {.name = "AffineGrid",
     .since = {20},
     .formula = "MACs = outputs * (d + 1)",
     .infer = InferAffineGrid,
     .cost = CostAffineGrid,
     .cases = kAffineGridCases},
    {.name = "RoiAlign",
     .since = {10, 16, 22},
     .formula = "per sample position 6 mul, 4 add; per channel and sample 4 mul, 4 add; per output "
                "1 mul",
     .infer = InferRoiAlign,
     .cost = CostRoiAlign,
     .cases = kRoiAlignCases},
    {.name = "NonMaxSuppression",
     .since = {10, 11},
     .formula = "per class n * ceil(log2 n) compares and n * limit overlaps of 13 operations; "
                "output at most classes * limit",
     .infer = InferNonMaxSuppression,
     .cost = CostNonMaxSuppression,
     .cases = kNonMaxSuppressionCases},
    {.name = "Det",
     .since = {11, 22},
     .formula = "LU: MACs = (m-1)m(2m-1)/6, m(m-1)/2 div, m-1 mul per m x m matrix",
     .infer = InferDet,
     .cost = CostDet,
     .cases = kDetCases},
};

}  // namespace

std::span<const OpDef> SamplingOps() { return kSamplingOps; }

}  // namespace dlcost
