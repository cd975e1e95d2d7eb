#include "models/operators/sampling_gradient.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"

namespace dlcost {
namespace {

// The way back of operators that sample feature maps at computed positions: dlcost's own, as
// neither ONNX nor ONNX Runtime has them. Attributes are those of the forward operator.

// dY, X, grid -> dX, dgrid. Counting: positions as the forward pass (2 mul, 2 add per coordinate);
// per element of dY and tap 1 mul and 1 add into dX, and 1 mul, 1 add per axis into the grid's
// gradient where that is wanted.
void InferGridSampleGrad(OpContext& ctx) {
  for (const int i : {0, 1}) ctx.SetOutput(i, ctx.InputType(1 + i), ctx.InputShape(1 + i));
}

OpCost CostGridSampleGrad(const OpContext& ctx) {
  const std::string mode = ctx.String("mode", "linear");
  const bool linear = mode == "linear" || mode == "bilinear";
  const bool cubic = mode == "cubic" || mode == "bicubic";
  if (!linear && !cubic && mode != "nearest") {
    throw Error("mode is '{}'; there are nearest, linear and cubic", Printable(mode));
  }
  const Shape& x = ctx.InputShape(1);
  Count taps = 1;
  for (std::size_t axis = 2; axis < x.rank(); ++axis) taps *= Count(linear ? 2 : cubic ? 4 : 1);
  const Count elements = ctx.InputShape(0).Elements();
  const Count coordinates = ctx.InputShape(2).Elements();
  const Count axes = std::max(x.Rank() - 2, 0);
  OpCost cost;
  AddRead(cost, ctx, 0);
  AddRead(cost, ctx, 2);
  const DType type = ctx.InputType(1);
  Count each = taps;
  if (ctx.HasOutput(1)) {
    AddPartialRead(cost, ctx, 1, std::min(x.Elements(), elements * taps), AccessKind::kGather);
    each += taps * axes;
  }
  for (const int i : {0, 1}) AddWrite(cost, ctx, i);
  cost.work.Add(OpClass::kMul, type, coordinates * 2 + elements * each);
  cost.work.Add(OpClass::kAdd, type, coordinates * 2 + elements * each);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// dY, regions, their samples -> dX, whose shape is declared. Counting: per position (2 mul, 2 add),
// its weights (4 mul, 2 add), and 4 mul and 4 add per channel; the mean's share 1 mul per element
// of dY. sampling_ratio 0 adapts to the regions: as many positions as a region of the whole map
// has.
void InferRoiAlignGrad(OpContext& ctx) { ctx.SetOutputType(0, ctx.InputType(0)); }

OpCost CostRoiAlignGrad(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Shape& dy = ctx.InputShape(0);
  if (dy.rank() != 4) throw Error("a gradient of regions has four axes, not {}", dy.rank());
  Count samples = Count(ctx.Int("sampling_ratio", 0)) * ctx.Int("sampling_ratio", 0);
  if (samples == Count(0) && dy.Elements() > Count(0)) {
    const Shape& x = ctx.OutputShape(0);
    samples = CeilDiv(x[2], dy[2]) * CeilDiv(x[3], dy[3]);
    cost.note = "sampling_ratio 0 adapts to the regions; counted for regions of the whole map";
  }
  const Count positions = Count(dy[0]) * dy[2] * dy[3] * samples;
  const Count channels = dy.Elements() * samples;
  const DType type = ctx.InputType(0);
  cost.work.Add(OpClass::kMul, type, positions * 6 + channels * 4 + dy.Elements());
  cost.work.Add(OpClass::kAdd, type, positions * 4 + channels * 4);
  cost.nest = ElementwiseNest{dy.Elements()};
  return cost;
}

// 2 * 3 * 4 * 5 = 120 elements of 4 taps; 2 * 4 * 5 * 2 = 80 coordinates.
constexpr OpCase kGridCases[] = {
    {.what = "of data and grid",
     .inputs = "f32[2,3,4,5] f32[2,3,6,7] f32[2,4,5,2]",
     .outputs = "f32[2,3,6,7] f32[2,4,5,2]",
     .flops = 2 * (80 * 2 + 120 * 12),
     .bytes_read = 4 * (120 + 80 + 252),
     .bytes_written = 4 * (252 + 80)},
    {.what = "of data alone",
     .inputs = "f32[2,3,4,5] f32[2,3,6,7] f32[2,4,5,2]",
     .outputs = "f32[2,3,6,7]",
     .flops = 2 * (80 * 2 + 120 * 4),
     .bytes_read = 4 * (120 + 80),
     .bytes_written = 4 * 252},
};

// 2 regions of 2 x 3 bins of 4 samples: 48 positions, 96 in 2 channels.
constexpr OpCase kRegionCases[] = {
    {.what = "two regions; dX as declared, here left out",
     .attributes = "sampling_ratio=2 output_height=2 output_width=3",
     .inputs = "f32[2,2,2,3] f32[2,4] i64[2]",
     .outputs = "_",
     .flops = (48 * 6 + 96 * 4 + 24) + (48 * 4 + 96 * 4),
     .bytes_read = 4 * 24 + 4 * 8 + 16},
};

constexpr OpDef kSamplingGradientOps[] = {
    {.name = "GridSampleGrad",
     .domain = "dlcost.training",
     .formula =
         "2 mul, 2 add per coordinate; 1 mul, 1 add per tap, and per tap and axis for the grid",
     .infer = InferGridSampleGrad,
     .cost = CostGridSampleGrad,
     .cases = kGridCases},
    {.name = "RoiAlignGrad",
     .domain = "dlcost.training",
     .formula = "6 mul, 4 add per position; 4 mul, 4 add per position and channel",
     .infer = InferRoiAlignGrad,
     .cost = CostRoiAlignGrad,
     .cases = kRegionCases},
};

}  // namespace

std::span<const OpDef> SamplingGradientOps() { return kSamplingGradientOps; }

}  // namespace dlcost
