#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/value_ops.h"

namespace dlcost {
namespace {

struct SliceAxis {
  std::int64_t start = 0, step = 1, extent = 0;
};

// One entry per axis of the input. Attributes before opset 10, inputs since; the experimental
// DynamicSlice had inputs all along.
std::vector<SliceAxis> SliceAxes(const OpContext& ctx) {
  const Shape& x = ctx.InputShape(0);
  const bool inputs = ctx.opset() >= 10 || ctx.op() == "DynamicSlice";
  const std::vector<std::int64_t> starts = inputs ? ctx.InputInts(1) : ctx.RequiredInts("starts");
  const std::vector<std::int64_t> ends = inputs ? ctx.InputInts(2) : ctx.RequiredInts("ends");
  std::vector<std::int64_t> axes;
  if (inputs ? ctx.HasInput(3) : ctx.HasAttribute("axes")) {
    axes = inputs ? ctx.InputInts(3) : ctx.Ints("axes");
  } else {
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  std::vector<std::int64_t> steps(starts.size(), 1);
  if (inputs && ctx.HasInput(4)) steps = ctx.InputInts(4);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    throw Error("{} starts, {} ends, {} axes and {} steps do not match", starts.size(), ends.size(),
                axes.size(), steps.size());
  }
  std::vector<SliceAxis> slices;
  for (const std::int64_t dim : x) slices.push_back({.extent = dim});
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = NormalizeAxis(axes[i], x.rank());
    const std::int64_t dim = x[axis];
    const std::int64_t step = steps[i];
    if (step == 0) throw Error("the step of axis {} is 0", axes[i]);
    // Counted from the back, then clamped: to [0, dim] going up, to [-1, dim - 1] going down.
    const auto clamp = [&](std::int64_t position, std::int64_t low, std::int64_t high) {
      if (position < 0) position += dim;
      return std::clamp(position, low, high);
    };
    const std::int64_t low = step > 0 ? 0 : -1;
    const std::int64_t high = std::max(low, step > 0 ? dim : dim - 1);
    const std::int64_t start = step > 0 ? clamp(starts[i], 0, dim)
                                        : clamp(starts[i], std::min<std::int64_t>(0, high), high);
    const std::int64_t end = clamp(ends[i], low, high);
    Count extent = 0;
    if (step > 0 && end > start) extent = CeilDiv(end - start, step);
    if (step < 0 && start > end) {
      // Both negative, as the smallest step has no positive counterpart.
      extent = (Count(end - start) + Count(1)) / Count(step) + Count(1);
    }
    slices[axis] = {start, step, extent.value()};
  }
  return slices;
}

void InferSlice(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  Shape shape;
  for (const SliceAxis& slice : SliceAxes(ctx)) shape.Append(slice.extent);
  ctx.SetOutput(0, ctx.InputType(0), std::move(shape));
}

void SliceValues(OpContext& ctx) {
  if (ctx.InputValue(0) == nullptr) return;
  const std::vector<SliceAxis> slices = SliceAxes(ctx);
  const std::vector<std::int64_t> strides = RowMajorStrides(ctx.InputShape(0));
  Indices indices;
  ForEachElement(ctx.OutputShape(0), [&](const std::vector<std::int64_t>& at) {
    std::int64_t flat = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      flat += strides[axis] * (slices[axis].start + at[axis] * slices[axis].step);
    }
    indices.push_back(static_cast<std::size_t>(flat));
  });
  SetTaken(ctx, indices);
}

OpCost CostSlice(const OpContext& ctx) {
  bool whole = true;
  const Shape& x = ctx.InputShape(0);
  const std::vector<SliceAxis> slices = SliceAxes(ctx);
  for (std::size_t axis = 0; axis < slices.size(); ++axis) {
    whole = whole && slices[axis].extent == x[axis] && slices[axis].step > 0;
  }
  if (whole) return CostView(ctx);
  OpCost cost;
  AddPartialRead(cost, ctx, 0, ctx.OutputShape(0).Elements(), AccessKind::kStrided);
  AddWrite(cost, ctx, 0);
  return cost;
}

constexpr OpCase kSliceCases[] = {
    {.what = "reads what it takes",
     .inputs = "f32[8,16] i64[1]{2} i64[1]{9223372036854775807} i64[1]{1}",
     .outputs = "f32[8,14]",
     .bytes_read = 448,
     .bytes_written = 448},
    {.what = "backwards, of a known value",
     .inputs = "i64[4]{1,2,3,4} i64[1]{-1} i64[1]{-9223372036854775808} i64[1]{0} i64[1]{-2}",
     .outputs = "i64[2]{4,2}",
     .bytes_read = 16,
     .bytes_written = 16},
    {.what = "the longest step backwards takes the last element alone",
     .inputs = "i64[3]{5,6,7} i64[1]{-1} i64[1]{-9} i64[1]{0} i64[1]{-9223372036854775808}",
     .outputs = "i64[1]{7}",
     .bytes_read = 8,
     .bytes_written = 8},
    {.what = "opset 1: attributes, the last dimension of a shape",
     .attributes = "starts=[-1] ends=[2147483647] axes=[0]",
     .inputs = "i64[3]{5,6,7}",
     .outputs = "i64[1]{7}",
     .bytes_read = 8,
     .bytes_written = 8,
     .opset = 1},
};

constexpr OpDef kSliceOps[] = {
    {.name = "Slice",
     .since = {1, 10, 11, 13},
     .formula = "no arithmetic; reads the elements that it takes; a view where it takes all",
     .infer = InferSlice,
     .values = SliceValues,
     .cost = CostSlice,
     .role = FusionRole::kMovement,
     .cases = kSliceCases},
};

}  // namespace

std::span<const OpDef> SliceOps() { return kSliceOps; }

}  // namespace dlcost
