#include <algorithm>
#include <numeric>

#include "estimator/core/error.h"
#include "estimator/graph/value_integer.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/value_ops.h"

namespace dlcost {
namespace {

struct Pads {
  std::vector<std::int64_t> begin, end;  // per axis; negative ones crop
};

// Attribute `paddings` in opset 1, `pads` before 11, inputs since; axes since 18.
Pads ReadPads(const OpContext& ctx) {
  const std::size_t rank = ctx.InputShape(0).rank();
  const std::vector<std::int64_t> pads =
      ctx.opset() >= 11 ? ctx.InputInts(1)
                        : ctx.RequiredInts(ctx.HasAttribute("pads") ? "pads" : "paddings");
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (ctx.opset() >= 18 && ctx.HasInput(3)) axes = ctx.InputInts(3);
  if (pads.size() != 2 * axes.size()) {
    throw Error("{} pads where 2 for each of {} axes are required", pads.size(), axes.size());
  }
  Pads result{std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = NormalizeAxis(axes[i], rank);
    result.begin[axis] = pads[i];
    result.end[axis] = pads[i + axes.size()];
  }
  return result;
}

void InferPad(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Pads pads = ReadPads(ctx);
  Shape shape = ctx.InputShape(0);
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    shape[axis] = (Count(shape[axis]) + Count(pads.begin[axis]) + Count(pads.end[axis])).value();
  }
  ctx.SetOutput(0, ctx.InputType(0), std::move(shape));
}

// What negative pads leave of an axis: modes repeat that, not what was cropped.
struct Kept {
  std::int64_t first, extent;
};

Kept AfterCropping(const Pads& pads, const Shape& shape, std::size_t axis) {
  const std::int64_t extent = shape[axis];
  const auto cropped = [&](std::int64_t pad) { return -std::clamp<std::int64_t>(pad, -extent, 0); };
  const std::int64_t first = cropped(pads.begin[axis]);
  return {first, std::max<std::int64_t>(0, extent - first - cropped(pads.end[axis]))};
}

// The source position of a padded one, or nullopt where the constant goes.
std::optional<std::int64_t> Source(const std::string& mode, std::int64_t at, std::int64_t extent) {
  if (at >= 0 && at < extent) return at;
  if (extent == 0 || mode == "constant") return std::nullopt;
  if (mode == "edge") return std::clamp<std::int64_t>(at, 0, extent - 1);
  if (mode == "wrap") return (at % extent + extent) % extent;
  const std::int64_t period = std::max<std::int64_t>(1, 2 * (extent - 1));  // reflect
  const std::int64_t phase = (at % period + period) % period;
  return std::min(phase, period - phase);
}

void PadValues(OpContext& ctx) {
  const Value* x = ctx.InputValue(0);
  if (x == nullptr) return;
  const Pads pads = ReadPads(ctx);
  const std::string mode = ctx.String("mode", "constant");
  const Shape& shape = ctx.InputShape(0);
  Value fill(std::vector<double>{ctx.opset() < 11 ? ctx.Float("value", 0) : 0});
  if (ctx.opset() >= 11 && ctx.HasInput(2)) {
    if (ctx.InputValue(2) == nullptr || ctx.InputValue(2)->size() != 1) return;
    fill = *ctx.InputValue(2);
  }
  const std::optional<std::int64_t> integer_fill = IntegerAt(fill, 0);
  if (x->is_integer() && !integer_fill) return;
  const std::vector<std::int64_t> strides = RowMajorStrides(shape);
  std::vector<std::int64_t> ints;
  std::vector<double> reals;
  ForEachElement(ctx.OutputShape(0), [&](const std::vector<std::int64_t>& at) {
    std::int64_t flat = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      const Kept kept = AfterCropping(pads, shape, axis);
      const std::int64_t padded = at[axis] - std::max<std::int64_t>(0, pads.begin[axis]);
      const auto source = Source(mode, padded, kept.extent);
      inside = inside && source;
      if (source) flat += (kept.first + *source) * strides[axis];
    }
    const auto i = static_cast<std::size_t>(flat);
    if (x->is_integer()) {
      ints.push_back(inside ? x->ints().at(i) : *integer_fill);
    } else {
      reals.push_back(inside ? x->reals().at(i) : fill.Real(0));
    }
  });
  if (x->is_integer()) {
    SetInts(ctx, 0, std::move(ints));
  } else {
    SetReals(ctx, 0, std::move(reals));
  }
}

OpCost CostPad(const OpContext& ctx) {
  const Pads pads = ReadPads(ctx);
  const Shape& x = ctx.InputShape(0);
  if (ctx.OutputShape(0) == x &&
      std::all_of(pads.begin.begin(), pads.begin.end(), [](auto pad) { return pad == 0; })) {
    return CostView(ctx);
  }
  Count kept = 1;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t cropped =
        std::min<std::int64_t>(0, pads.begin[axis]) + std::min<std::int64_t>(0, pads.end[axis]);
    kept *= Count(std::max<std::int64_t>(0, x[axis] + cropped));
  }
  OpCost cost;
  AddPartialRead(cost, ctx, 0, kept, AccessKind::kStream);
  AddWrite(cost, ctx, 0);
  return cost;
}

// dY and a pad for both ends of every axis, none of them negative -> dX: what lies around is added
// to where it was taken from.
void InferPadGrad(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const std::vector<std::int64_t> pads = ctx.InputInts(1);
  Shape shape = ctx.InputShape(0);
  if (pads.size() != 2 * shape.rank()) {
    throw Error("{} pads for {} axes", pads.size(), shape.rank());
  }
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    shape[axis] =
        (Count(shape[axis]) - Count(pads[axis]) - Count(pads[axis + shape.rank()])).value();
  }
  ctx.SetOutput(0, ctx.InputType(0), std::move(shape));
}

OpCost CostPadGrad(const OpContext& ctx) {
  OpCost cost;
  const Count padded = ctx.InputShape(0).Elements(), own = ctx.OutputShape(0).Elements();
  AddPartialRead(cost, ctx, 0, padded, AccessKind::kStream);
  AddWrite(cost, ctx, 0);
  cost.work.Add(OpClass::kAdd, ctx.InputType(0), padded - own);
  cost.nest = ElementwiseNest{padded};
  return cost;
}

// Crops or pads each axis around its centre; axes default to all.
void InferCenterCropPad(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  Shape shape = ctx.InputShape(0);
  std::vector<std::int64_t> axes(shape.rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (ctx.HasAttribute("axes")) axes = ctx.Ints("axes");
  const std::vector<std::int64_t> wanted = ctx.InputInts(1);
  if (wanted.size() != axes.size()) {
    throw Error("{} extents for {} axes", wanted.size(), axes.size());
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    shape[NormalizeAxis(axes[i], shape.rank())] = wanted[i];
  }
  ctx.SetOutput(0, ctx.InputType(0), std::move(shape));
}

OpCost CostCenterCropPad(const OpContext& ctx) {
  const Shape& x = ctx.InputShape(0);
  const Shape& y = ctx.OutputShape(0);
  if (x == y) return CostView(ctx);
  Count kept = 1;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) kept *= Count(std::min(x[axis], y[axis]));
  OpCost cost;
  AddPartialRead(cost, ctx, 0, kept, AccessKind::kStrided);
  AddWrite(cost, ctx, 0);
  return cost;
}

constexpr OpCase kPadCases[] = {
    {.what = "two spatial axes",
     .inputs = "f32[1,2,3,3] i64[8]{0,0,1,1,0,0,1,1}",
     .outputs = "f32[1,2,5,5]",
     .bytes_read = 72,
     .bytes_written = 200},
    {.what = "opset 18: axes; a negative pad crops",
     .inputs = "f32[4,6] i64[2]{1,-2} _ i64[1]{-1}",
     .outputs = "f32[4,5]",
     .bytes_read = 64,
     .bytes_written = 80},
    {.what = "opset 19: what is left after cropping is wrapped around",
     .attributes = "mode='wrap'",
     .inputs = "i64[4]{1,2,3,4} i64[2]{-1,3}",
     .outputs = "i64[6]{2,3,4,2,3,4}",
     .bytes_read = 24,
     .bytes_written = 48},
    {.what = "opset 2: an attribute; a known value",
     .attributes = "pads=[1,2] value=1.0",
     .inputs = "i64[2]{5,6}",
     .outputs = "i64[5]{1,5,6,1,1}",
     .bytes_read = 16,
     .bytes_written = 40,
     .opset = 2},
    {.what = "opset 1 calls them paddings; reflected",
     .attributes = "paddings=[2,1] mode='reflect'",
     .inputs = "i64[3]{1,2,3}",
     .outputs = "i64[6]{3,2,1,2,3,2}",
     .bytes_read = 24,
     .bytes_written = 48,
     .opset = 1},
};

constexpr OpCase kPadGradCases[] = {{.what = "50 elements, of which 18 are the data's own",
                                     .attributes = "mode='reflect'",
                                     .inputs = "f32[1,2,5,5] i64[8]{0,0,1,1,0,0,1,1}",
                                     .outputs = "f32[1,2,3,3]",
                                     .flops = 32,
                                     .bytes_read = 200,
                                     .bytes_written = 72}};

constexpr OpCase kCenterCropPadCases[] = {{.what = "crops the rows, pads the columns",
                                           .inputs = "f32[10,7] i64[2]{4,9}",
                                           .outputs = "f32[4,9]",
                                           .bytes_read = 112,
                                           .bytes_written = 144}};

constexpr OpDef kPadOps[] = {
    {.name = "Pad",
     .since = {1, 2, 11, 13, 18, 19, 21, 23, 24, 25},
     .formula = "no arithmetic; reads what is not cropped, writes all",
     .infer = InferPad,
     .values = PadValues,
     .cost = CostPad,
     .role = FusionRole::kMovement,
     .cases = kPadCases},
    {.name = "PadGrad",
     .domain = "dlcost.training",
     .formula = "1 add per padded element",
     .infer = InferPadGrad,
     .cost = CostPadGrad,
     .role = FusionRole::kMovement,
     .cases = kPadGradCases},
    {.name = "CenterCropPad",
     .since = {18},
     .formula = "no arithmetic; reads what is not cropped, writes all",
     .infer = InferCenterCropPad,
     .cost = CostCenterCropPad,
     .role = FusionRole::kMovement,
     .cases = kCenterCropPadCases},
};

}  // namespace

std::span<const OpDef> PadOps() { return kPadOps; }

}  // namespace dlcost
