#include <algorithm>
#include <cmath>
#include <numeric>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "models/operators/common.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

std::int64_t Scaled(std::int64_t extent, double scale) {
  // Scales are float32, and so is the product that runtimes round down.
  const float product = std::floor(static_cast<float>(extent) * static_cast<float>(scale));
  if (!(product >= 0) || product > 4e18F) {
    throw Error("an axis of {} cannot be scaled by {}", extent, scale);
  }
  return Truncate(static_cast<double>(product));
}

// All axes unless the attribute (since opset 18) names some.
std::vector<std::size_t> ResizedAxes(const OpContext& ctx) {
  const std::size_t rank = ctx.InputShape(0).rank();
  std::vector<std::size_t> axes;
  if (ctx.opset() >= 18 && ctx.HasAttribute("axes")) {
    for (const std::int64_t axis : ctx.Ints("axes")) axes.push_back(NormalizeAxis(axis, rank));
  } else {
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), std::size_t{0});
  }
  return axes;
}

// Sizes as given, or the largest (smallest) that keep the ratio of height to width.
void ApplySizes(const OpContext& ctx, const std::vector<std::size_t>& axes, Shape& shape) {
  std::vector<std::int64_t> sizes = ctx.InputInts(3);
  if (sizes.size() != axes.size()) throw Error("{} sizes for {} axes", sizes.size(), axes.size());
  const std::string policy =
      ctx.opset() < 18 ? "stretch" : ctx.String("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch") {
    const bool larger = policy == "not_smaller";
    if (!larger && policy != "not_larger") {
      throw Error("keep_aspect_ratio_policy is '{}'; there are stretch, not_larger, not_smaller",
                  Printable(policy));
    }
    double scale = larger ? 0 : HUGE_VAL;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const double ratio = static_cast<double>(sizes[i]) / static_cast<double>(shape[axes[i]]);
      scale = larger ? std::max(scale, ratio) : std::min(scale, ratio);
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      sizes[i] = Scaled(1, std::floor(scale * static_cast<double>(shape[axes[i]]) + 0.5));
    }
  }
  for (std::size_t i = 0; i < axes.size(); ++i) shape[axes[i]] = sizes[i];
}

bool HasContent(const OpContext& ctx, int input) {
  return ctx.HasInput(input) && ctx.InputShape(input) != Shape{0};
}

Shape ResizedShape(const OpContext& ctx) {
  Shape shape = ctx.InputShape(0);
  const std::vector<std::size_t> axes = ResizedAxes(ctx);
  const int scales_input = ctx.opset() < 11 ? 1 : 2;
  if (!HasContent(ctx, scales_input) && ctx.opset() >= 11) {
    if (!HasContent(ctx, 3)) throw Error("neither scales nor sizes are given");
    ApplySizes(ctx, axes, shape);
    return shape;
  }
  const std::vector<double> scales = ctx.InputReals(scales_input);
  if (scales.size() != axes.size())
    throw Error("{} scales for {} axes", scales.size(), axes.size());
  // Cropping first: the region of interest is 2 numbers per axis, all starts, then all ends.
  std::vector<double> roi;
  if (ctx.opset() >= 11 &&
      ctx.String("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
    roi = ctx.InputReals(1);
    if (roi.size() != 2 * axes.size()) throw Error("roi has {} numbers", roi.size());
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const double crop = roi.empty() ? 1.0 : roi[i + axes.size()] - roi[i];
    shape[axes[i]] = Scaled(shape[axes[i]], roi.empty() ? scales[i] : crop * scales[i]);
  }
  return shape;
}

void InferResize(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), ResizedShape(ctx));
}

// Opset 1 scales height and width, 7 has a list, 9 an input.
void InferUpsample(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  Shape shape = ctx.InputShape(0);
  std::vector<double> scales(shape.rank(), 1.0);
  if (ctx.HasAttribute("height_scale") || ctx.HasAttribute("width_scale")) {
    RequireRank(ctx, 0, 4);
    scales[2] = ctx.Float("height_scale", 1);
    scales[3] = ctx.Float("width_scale", 1);
  } else if (ctx.HasAttribute("scales")) {
    scales = ctx.Floats("scales");
  } else {
    scales = ctx.InputReals(1);
  }
  if (scales.size() != shape.rank()) {
    throw Error("{} scales for a tensor of rank {}", scales.size(), shape.rank());
  }
  for (std::size_t i = 0; i < scales.size(); ++i) shape[i] = Scaled(shape[i], scales[i]);
  ctx.SetOutput(0, ctx.InputType(0), std::move(shape));
}

// A weighted sum over taps^axes neighbours per output element: that many products, one addition
// less. Weights depend on the position along one axis alone and are not counted. With antialias the
// support of a shrinking filter widens by the factor that it shrinks by.
// ONNX Runtime's blocked layout: whole factors, one per axis, as an attribute.
void InferBlockedUpsample(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  Shape y = ctx.InputShape(0);
  const std::vector<std::int64_t> scales = ctx.RequiredInts("scales");
  if (scales.size() != y.rank()) throw Error("{} scales for {}", scales.size(), ToString(y));
  for (std::size_t axis = 0; axis < y.rank(); ++axis) {
    if (scales[axis] < 1) throw Error("the scale of axis {} is {}", axis, scales[axis]);
    y[axis] = (Count(y[axis]) * scales[axis]).value();
  }
  ctx.SetOutput(0, ctx.InputType(0), std::move(y));
}

OpCost CostResize(const OpContext& ctx) {
  const Shape& x = ctx.InputShape(0);
  const Shape& y = ctx.OutputShape(0);
  if (x == y) return CostView(ctx);
  const std::string mode = ctx.String("mode", "nearest");
  const std::int64_t support = mode == "nearest"                          ? 1
                               : (mode == "linear" || mode == "bilinear") ? 2
                               : mode == "cubic"                          ? 4
                                                                          : 0;
  if (support == 0) {
    throw Error("mode is '{}'; there are nearest, linear and cubic", Printable(mode));
  }
  Count taps = 1;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    if (x[axis] == y[axis]) continue;
    const bool wide =
        support > 1 && ctx.Int("antialias", 0) != 0 && y[axis] < x[axis] && y[axis] > 0;
    taps *= wide ? CeilDiv(Count(support) * x[axis], y[axis]) : Count(support);
  }
  OpCost cost;
  const Count elements = y.Elements();
  AddPartialRead(cost, ctx, 0, std::min(x.Elements(), elements * taps), AccessKind::kGather);
  AddWrite(cost, ctx, 0);
  if (taps > Count(1)) {
    cost.work.Add(OpClass::kMul, ctx.InputType(0), elements * taps);
    cost.work.Add(OpClass::kAdd, ctx.InputType(0), elements * (taps - 1));
  }
  cost.nest = ElementwiseNest{elements};
  return cost;
}

constexpr OpCase kBlockedUpsampleCases[] = {{.what = "twice the size",
                                             .attributes = "scales=[1,1,2,2]",
                                             .inputs = "f32[1,8,2,2]",
                                             .outputs = "f32[1,8,4,4]",
                                             .bytes_read = 128,
                                             .bytes_written = 512}};

constexpr OpCase kResizeCases[] = {
    {.what = "linear, twice the size: 4 products, 3 additions for each of 72 outputs",
     .attributes = "mode='linear'",
     .inputs = "f32[1,2,3,3] _ f32[4]{1,1,2,2}",
     .outputs = "f32[1,2,6,6]",
     .flops = 504,
     .bytes_read = 72,
     .bytes_written = 288},
    {.what = "sizes, the aspect ratio kept; nearest reads what it takes",
     .attributes = "axes=[2,3] keep_aspect_ratio_policy='not_larger'",
     .inputs = "f32[1,1,4,8] _ _ i64[2]{2,2}",
     .outputs = "f32[1,1,1,2]",
     .bytes_read = 8,
     .bytes_written = 8},
    {.what = "antialiased: 2 * 4 / 2 = 4 taps",
     .attributes = "mode='linear' antialias=1",
     .inputs = "f32[4] _ _ i64[1]{2}",
     .outputs = "f32[2]",
     .flops = 14,
     .bytes_read = 16,
     .bytes_written = 8},
    {.what = "opset 10: scales are input 1",
     .inputs = "f32[1,1,2,2] f32[4]{1,1,2,3}",
     .outputs = "f32[1,1,4,6]",
     .bytes_read = 16,
     .bytes_written = 96,
     .opset = 10},
};

constexpr OpCase kUpsampleCases[] = {
    {.what = "opset 9: scales as an input",
     .inputs = "f32[1,1,2,2] f32[4]{1,1,2,3}",
     .outputs = "f32[1,1,4,6]",
     .bytes_read = 16,
     .bytes_written = 96,
     .opset = 9},
    {.what = "opset 7: scales as an attribute",
     .attributes = "scales=[1.0,1.0,2.0,2.0] mode='linear'",
     .inputs = "f32[1,1,2,2]",
     .outputs = "f32[1,1,4,4]",
     .flops = 112,
     .bytes_read = 16,
     .bytes_written = 64,
     .opset = 7},
    {.what = "opset 1: height and width",
     .attributes = "height_scale=2.0 width_scale=1.5",
     .inputs = "f32[1,1,2,2]",
     .outputs = "f32[1,1,4,3]",
     .bytes_read = 16,
     .bytes_written = 48,
     .opset = 1},
};

constexpr std::string_view kResizeFormula =
    "per output: taps = (nearest 1, linear 2, cubic 4)^resized axes; taps mul, taps - 1 add; "
    "antialias widens the support by in/out";

constexpr OpDef kResizeOps[] = {
    {.name = "Resize",
     .since = {10, 11, 13, 18, 19},
     .formula = kResizeFormula,
     .infer = InferResize,
     .cost = CostResize,
     .role = FusionRole::kMovement,
     .cases = kResizeCases},
    {.name = "Upsample",
     .since = {1, 7, 9},
     .formula = kResizeFormula,
     .infer = InferUpsample,
     .cost = CostResize,
     .role = FusionRole::kMovement,
     .cases = kUpsampleCases,
     .removed_in = 10},
    {.name = "Upsample",
     .domain = "com.microsoft.nchwc",
     .formula = kResizeFormula,
     .infer = InferBlockedUpsample,
     .cost = CostResize,
     .role = FusionRole::kMovement,
     .cases = kBlockedUpsampleCases},
};

}  // namespace

std::span<const OpDef> ResizeOps() { return kResizeOps; }

}  // namespace dlcost
