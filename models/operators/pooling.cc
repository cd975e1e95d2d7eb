#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"
#include "models/operators/window.h"

namespace dlcost {
namespace {

// Counting, with K elements per window, padding included, as convolutions are: MaxPool compares
// K - 1 times per output; AveragePool adds K - 1 times and divides once; LpPool takes every
// element's magnitude to the power p (p = 1: one comparison, p = 2: one multiplication, else one
// exp and one log), adds K - 1 times and takes the root (p = 1: nothing, p = 2: one sqrt, else one
// exp and one log). Global pools have one window per channel.

Window PoolWindow(const OpContext& ctx) {
  return ForwardWindow(ctx, ctx.RequiredInts("kernel_shape"), ctx.Int("ceil_mode", 0) != 0);
}

void InferPool(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutputType(1, DType::kInt64);  // Indices of MaxPool; the others have no second output
  const Shape& x = ctx.InputShape(0);
  const Window window = PoolWindow(ctx);
  std::vector<std::int64_t> dims = {x[0], x[1]};
  dims.insert(dims.end(), window.out.begin(), window.out.end());
  ctx.SetOutput(0, ctx.InputType(0), Shape(dims));
  ctx.SetOutput(1, DType::kInt64, Shape(std::move(dims)));
}

void InferGlobalPool(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  if (x.rank() < 2) throw Error("input 0 has rank {}; pooling needs at least 2", x.rank());
  std::vector<std::int64_t> dims(x.rank(), 1);
  dims[0] = x[0];
  dims[1] = x[1];
  ctx.SetOutput(0, ctx.InputType(0), Shape(std::move(dims)));
}

// What pooling reduces: `outer` windows of `reduce` elements.
ReduceNest PoolNest(const OpContext& ctx) {
  return {.outer = ctx.OutputShape(0).Elements(),
          .reduce = PoolWindow(ctx).KernelElements(),
          .windows = true};
}

ReduceNest GlobalNest(const OpContext& ctx) {
  const Shape& x = ctx.InputShape(0);
  return {.outer = ctx.OutputShape(0).Elements(), .reduce = x.Product(2, x.rank())};
}

OpCost CostMax(const OpContext& ctx, const ReduceNest& nest) {
  OpCost cost = StreamAll(ctx);
  cost.work.Add(OpClass::kCompare, ctx.InputType(0), nest.outer * Folds(nest.reduce, 1));
  cost.nest = nest;
  return cost;
}

OpCost CostAverage(const OpContext& ctx, const ReduceNest& nest) {
  OpCost cost = StreamAll(ctx);
  cost.work.Add(OpClass::kAdd, ctx.InputType(0), nest.outer * Folds(nest.reduce, 1));
  cost.work.Add(OpClass::kDiv, ctx.InputType(0), nest.outer);
  cost.nest = nest;
  return cost;
}

// The order of the norm; a real number in version 1.
double NormOrder(const OpContext& ctx) {
  return ctx.since() == 1 ? ctx.Float("p", 2) : static_cast<double>(ctx.Int("p", 2));
}

OpCost CostNorm(const OpContext& ctx, const ReduceNest& nest) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Count elements = nest.outer * nest.reduce;
  const double p = NormOrder(ctx);
  if (p == 1) {
    cost.work.Add(OpClass::kCompare, type, elements);
  } else if (p == 2) {
    cost.work.Add(OpClass::kMul, type, elements);
    cost.work.Add(OpClass::kSqrt, type, nest.outer);
  } else {
    cost.work.Add(OpClass::kExp, type, elements + nest.outer);
    cost.work.Add(OpClass::kLog, type, elements + nest.outer);
  }
  cost.work.Add(OpClass::kAdd, type, nest.outer * Folds(nest.reduce, 1));
  cost.nest = nest;
  return cost;
}

OpCost CostMaxPool(const OpContext& ctx) { return CostMax(ctx, PoolNest(ctx)); }
OpCost CostAveragePool(const OpContext& ctx) { return CostAverage(ctx, PoolNest(ctx)); }
OpCost CostLpPool(const OpContext& ctx) { return CostNorm(ctx, PoolNest(ctx)); }
OpCost CostGlobalMaxPool(const OpContext& ctx) { return CostMax(ctx, GlobalNest(ctx)); }
OpCost CostGlobalAveragePool(const OpContext& ctx) { return CostAverage(ctx, GlobalNest(ctx)); }
OpCost CostGlobalLpPool(const OpContext& ctx) { return CostNorm(ctx, GlobalNest(ctx)); }

void InferMaxUnpool(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  if (ctx.HasInput(2)) {
    ctx.SetOutput(0, ctx.InputType(0), Shape(ctx.InputInts(2)));
    return;
  }
  const Shape& x = ctx.InputShape(0);
  const std::vector<std::int64_t> kernel = ctx.RequiredInts("kernel_shape");
  const std::size_t axes = kernel.size();
  if (x.rank() != axes + 2) {
    throw Error("the kernel has {} extents, the input {} has rank {}", axes, ToString(x), x.rank());
  }
  const std::vector<std::int64_t> strides = ctx.Ints("strides", std::vector<std::int64_t>(axes, 1));
  const std::vector<std::int64_t> pads = ctx.Ints("pads", std::vector<std::int64_t>(2 * axes, 0));
  if (strides.size() != axes || pads.size() != 2 * axes) {
    throw Error("strides and pads do not have one and two entries per spatial axis");
  }
  std::vector<std::int64_t> dims = {x[0], x[1]};
  for (std::size_t i = 0; i < axes; ++i) {
    const Count out = (Count(x[i + 2]) - Count(1)) * strides[i] + kernel[i] - Count(pads[i]) -
                      Count(pads[axes + i]);
    dims.push_back(out.value());
  }
  ctx.SetOutput(0, ctx.InputType(0), Shape(std::move(dims)));
}

// Reads X and where its elements go, not the optional shape; writes the output, zeros included.
OpCost CostMaxUnpool(const OpContext& ctx) {
  OpCost cost;
  AddRead(cost, ctx, 0);
  AddRead(cost, ctx, 1);
  AddWrite(cost, ctx, 0, AccessKind::kGather);
  return cost;
}

void InferMaxRoiPool(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  RequireRank(ctx, 0, 4);
  RequireRank(ctx, 1, 2);
  const std::vector<std::int64_t> pooled = ctx.RequiredInts("pooled_shape");
  if (pooled.size() != 2) throw Error("pooled_shape has {} entries, not 2", pooled.size());
  if (ctx.InputDim(1, 1) != 5) {
    throw Error("a region has {} numbers, not 5", ctx.InputDim(1, 1));
  }
  ctx.SetOutput(0, ctx.InputType(0),
                Shape({ctx.InputDim(1, 0), ctx.InputDim(0, 1), pooled[0], pooled[1]}));
}

// How much of the map a region covers is data; at most all of it.
OpCost CostMaxRoiPool(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Shape& x = ctx.InputShape(0);
  const Count regions = ctx.InputDim(1, 0);
  const Count pixels = Count(x[2]) * x[3];
  cost.work.Add(OpClass::kCompare, ctx.InputType(0), regions * x[1] * pixels);
  cost.nest = ReduceNest{.outer = regions * x[1], .reduce = pixels};
  cost.note = "an upper bound: every region covers the whole feature map";
  return cost;
}

// 64 * 56 * 56 outputs of 8 comparisons.
constexpr OpCase kMaxPoolCases[] = {
    {.what = "3x3, stride 2 (ResNet's first)",
     .attributes = "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]",
     .inputs = "f32[1,64,112,112]",
     .outputs = "f32[1,64,56,56]",
     .flops = 200704 * 8,
     .bytes_read = 4 * 802816,
     .bytes_written = 4 * 200704},
    {.what = "rounded up, with indices",
     .attributes = "kernel_shape=[3,3] strides=[2,2] ceil_mode=1",
     .inputs = "u8[1,1,6,6]",
     .outputs = "u8[1,1,3,3] i64[1,1,3,3]",
     .flops = 72,
     .bytes_read = 36,
     .bytes_written = 9 + 72},
    {.what = "dilated, auto_pad",
     .attributes = "kernel_shape=[2] dilations=[3] auto_pad='SAME_UPPER'",
     .inputs = "f32[1,2,8]",
     .outputs = "f32[1,2,8]",
     .flops = 16,
     .bytes_read = 64,
     .bytes_written = 64},
};

constexpr OpCase kAveragePoolCases[] = {
    {.what = "2x2, stride 2: 3 additions, 1 division each",
     .attributes = "kernel_shape=[2,2] strides=[2,2]",
     .inputs = "f32[1,3,8,8]",
     .outputs = "f32[1,3,4,4]",
     .flops = 48 * 4,
     .bytes_read = 4 * 192,
     .bytes_written = 4 * 48},
    {.what = "a window that would start in the padding is dropped",
     .attributes = "kernel_shape=[2] strides=[3] pads=[1,1] ceil_mode=1 count_include_pad=1",
     .inputs = "f32[1,1,4]",
     .outputs = "f32[1,1,2]",
     .flops = 2 * 2,
     .bytes_read = 16,
     .bytes_written = 8},
};

constexpr OpCase kLpPoolCases[] = {
    {.what = "p = 2: 4 squares, 3 additions, 1 root each",
     .attributes = "kernel_shape=[2,2]",
     .inputs = "f32[1,1,3,3]",
     .outputs = "f32[1,1,2,2]",
     .flops = 4 * 8,
     .bytes_read = 36,
     .bytes_written = 16},
    {.what = "version 1, p = 3: powers and roots are counted apart",
     .attributes = "kernel_shape=[2,2] p=3.0",
     .inputs = "f32[1,1,3,3]",
     .outputs = "f32[1,1,2,2]",
     .flops = 4 * 3,
     .bytes_read = 36,
     .bytes_written = 16,
     .opset = 1},
};

constexpr OpCase kGlobalMaxPoolCases[] = {
    {.what = "2-D",
     .inputs = "f32[1,8,4,4]",
     .outputs = "f32[1,8,1,1]",
     .flops = 8 * 15,
     .bytes_read = 512,
     .bytes_written = 32},
};

constexpr OpCase kGlobalAveragePoolCases[] = {
    {.what = "ResNet-50's: 48 additions and 1 division per channel",
     .inputs = "f32[1,2048,7,7]",
     .outputs = "f32[1,2048,1,1]",
     .flops = 2048 * 49,
     .bytes_read = 4 * 100352,
     .bytes_written = 8192},
};

constexpr OpCase kGlobalLpPoolCases[] = {
    {.what = "p = 1: 16 magnitudes, 15 additions each",
     .attributes = "p=1",
     .inputs = "f32[1,8,4,4]",
     .outputs = "f32[1,8,1,1]",
     .flops = 8 * 31,
     .bytes_read = 512,
     .bytes_written = 32},
};

constexpr OpCase kMaxUnpoolCases[] = {
    {.what = "back to 4x4",
     .attributes = "kernel_shape=[2,2] strides=[2,2]",
     .inputs = "f32[1,1,2,2] i64[1,1,2,2]",
     .outputs = "f32[1,1,4,4]",
     .bytes_read = 16 + 32,
     .bytes_written = 64},
    {.what = "to a given shape",
     .attributes = "kernel_shape=[2,2] strides=[2,2]",
     .inputs = "f32[1,1,2,2] i64[1,1,2,2] i64[4]{1,1,5,5}",
     .outputs = "f32[1,1,5,5]",
     .bytes_read = 16 + 32,
     .bytes_written = 100},
};

constexpr OpCase kMaxRoiPoolCases[] = {
    {.what = "3 regions of a 10x10 map with 4 channels",
     .attributes = "pooled_shape=[2,2]",
     .inputs = "f32[1,4,10,10] f32[3,5]",
     .outputs = "f32[3,4,2,2]",
     .flops = 3 * 4 * 100,
     .bytes_read = 1600 + 60,
     .bytes_written = 192},
};

constexpr OpDef kPoolingOps[] = {
    {.name = "MaxPool",
     .since = {1, 8, 10, 11, 12, 22},
     .formula = "prod(kernel) - 1 comparisons per output",
     .infer = InferPool,
     .cost = CostMaxPool,
     .role = FusionRole::kReduction,
     .cases = kMaxPoolCases},
    {.name = "AveragePool",
     .since = {1, 7, 10, 11, 19, 22},
     .formula = "prod(kernel) - 1 additions and 1 division per output",
     .infer = InferPool,
     .cost = CostAveragePool,
     .role = FusionRole::kReduction,
     .cases = kAveragePoolCases},
    {.name = "LpPool",
     .since = {1, 2, 11, 18, 22},
     .formula = "p = 2: prod(kernel) muls, prod(kernel) - 1 adds, 1 sqrt per output",
     .infer = InferPool,
     .cost = CostLpPool,
     .role = FusionRole::kReduction,
     .cases = kLpPoolCases},
    {.name = "GlobalMaxPool",
     .since = {1, 22},
     .formula = "prod(spatial) - 1 comparisons per channel",
     .infer = InferGlobalPool,
     .cost = CostGlobalMaxPool,
     .role = FusionRole::kReduction,
     .cases = kGlobalMaxPoolCases},
    {.name = "GlobalAveragePool",
     .since = {1, 22},
     .formula = "prod(spatial) - 1 additions and 1 division per channel",
     .infer = InferGlobalPool,
     .cost = CostGlobalAveragePool,
     .role = FusionRole::kReduction,
     .cases = kGlobalAveragePoolCases},
    {.name = "GlobalLpPool",
     .since = {1, 2, 22},
     .formula = "p = 2: prod(spatial) muls, prod(spatial) - 1 adds, 1 sqrt per channel",
     .infer = InferGlobalPool,
     .cost = CostGlobalLpPool,
     .role = FusionRole::kReduction,
     .cases = kGlobalLpPoolCases},
    {.name = "MaxUnpool",
     .since = {9, 11, 22},
     .formula = "no arithmetic; scatters X into the output",
     .infer = InferMaxUnpool,
     .cost = CostMaxUnpool,
     .role = FusionRole::kMovement,
     .cases = kMaxUnpoolCases},
    {.name = "MaxRoiPool",
     .since = {1, 22},
     .formula = "at most regions * C * H * W comparisons",
     .infer = InferMaxRoiPool,
     .cost = CostMaxRoiPool,
     .role = FusionRole::kReduction,
     .cases = kMaxRoiPoolCases},
};

}  // namespace

std::span<const OpDef> PoolingOps() { return kPoolingOps; }

}  // namespace dlcost
