#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/conv.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// ONNX Runtime's fused and differently laid out convolutions count as Conv; a summand (Z) is 1
// addition per output, an activation its own operations. In the blocked layout (nchwc) channels are
// padded to the block of the machine that wrote the file, and counted so. Poolings count as those
// of the standard domain; quantized ones add integers and requantize each output.

void InferLaidOut(OpContext& ctx, const ConvLayout& layout) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), ForwardConv(ctx, layout).out);
}

OpCost CostFused(const OpContext& ctx, const ConvLayout& layout) {
  OpCost cost = StreamAll(ctx);
  const ConvShape conv = ForwardConv(ctx, layout);
  const DType type = ctx.InputType(0);
  AddConv(cost, conv, type);
  for (const int addend : {2, 3}) {
    if (ctx.HasInput(addend)) cost.work.Add(OpClass::kAdd, type, conv.out.Elements());
  }
  AddActivation(cost.work, type, ctx.String("activation", ""), conv.out.Elements());
  return cost;
}

constexpr ConvLayout kStandard{};
constexpr ConvLayout kLast{.channels_last = true};
constexpr ConvLayout kBlocked{.blocked = true};

void InferFusedConv(OpContext& ctx) { InferLaidOut(ctx, kStandard); }
OpCost CostFusedConv(const OpContext& ctx) { return CostFused(ctx, kStandard); }
void InferNhwcFused(OpContext& ctx) { InferLaidOut(ctx, kLast); }
OpCost CostNhwcFused(const OpContext& ctx) { return CostFused(ctx, kLast); }
void InferBlockedConv(OpContext& ctx) { InferLaidOut(ctx, kBlocked); }
OpCost CostBlockedConv(const OpContext& ctx) {
  OpCost cost = CostFused(ctx, kBlocked);
  cost.note = "channels that pad a block are counted";
  return cost;
}

// Files hold the weight as [M, k..., C/group], the schema says [M, C/group, k...]: whichever fits.
ConvLayout NhwcLayout(const OpContext& ctx) {
  const Shape& x = ctx.InputShape(0);
  const Shape& w = ctx.InputShape(1);
  ConvLayout layout = kLast;
  layout.weight_channels_last =
      x.rank() > 0 && w.rank() > 0 && Count(w.At(-1)) * GroupsOf(ctx) == Count(x.At(-1));
  return layout;
}

void InferNhwcConv(OpContext& ctx) { InferLaidOut(ctx, NhwcLayout(ctx)); }
OpCost CostNhwcConv(const OpContext& ctx) { return CostFused(ctx, NhwcLayout(ctx)); }

// Blocks are of 8 or 16 channels, as the machine has it that the file was made for: the filters of
// the convolution behind tell. Without one, 8 is the least that either pads to.
std::int64_t BlockedChannels(const OpContext& ctx, std::int64_t channels) {
  const Node* conv = ctx.ReaderOf(0, "Conv");
  const Shape* filters = conv == nullptr ? nullptr : ctx.InputShapeOf(*conv, 1);
  if (filters != nullptr && filters->rank() > 1) {
    const AttributeValue* group = conv->FindAttribute("group");
    const auto* groups = group == nullptr ? nullptr : std::get_if<std::int64_t>(group);
    const Count padded = Count((*filters)[1]) * (groups == nullptr ? 1 : *groups);
    if (padded >= Count(channels)) return padded.value();
  }
  return RoundUp(channels, 8).value();
}

// Channels move between plain, last and blocked order; a move of everything.
void InferReorderInput(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  if (x.rank() < 3) throw Error("input 0 {} has no spatial axis", ToString(x));
  std::vector<std::int64_t> dims = x.dims();
  if (ctx.Int("channels_last", 0) != 0) {
    dims.insert(dims.begin() + 1, dims.back());
    dims.pop_back();
  }
  dims[1] = BlockedChannels(ctx, dims[1]);
  ctx.SetOutput(0, ctx.InputType(0), Shape(std::move(dims)));
}

void InferReorderOutput(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  if (x.rank() < 3) throw Error("input 0 {} has no spatial axis", ToString(x));
  std::vector<std::int64_t> dims = x.dims();
  dims[1] = ctx.Int("channels", x[1]);
  if (ctx.Int("channels_last", 0) != 0) {
    dims.push_back(dims[1]);
    dims.erase(dims.begin() + 1);
  }
  ctx.SetOutput(0, ctx.InputType(0), Shape(std::move(dims)));
}

// A pooling of [N, C, d...], or [N, d..., C] with channels_last; a window or the whole map.
struct Pool {
  Shape out;
  Count window;
};

Pool PoolOf(const OpContext& ctx, bool channels_last, bool global) {
  const Shape& x = ctx.InputShape(0);
  if (x.rank() < 3) throw Error("input 0 {} has no spatial axis", ToString(x));
  const std::size_t first = channels_last ? 1 : 2;
  Pool pool{.out = x, .window = 1};
  const std::vector<std::int64_t> in(x.begin() + static_cast<std::ptrdiff_t>(first),
                                     x.end() - (channels_last ? 1 : 0));
  if (global) {
    pool.window = Shape(in).Elements();
    for (std::size_t i = 0; i < in.size(); ++i) pool.out[first + i] = 1;
    return pool;
  }
  const Window window =
      WindowOver(ctx, in, ctx.RequiredInts("kernel_shape"), ctx.Int("ceil_mode", 0) != 0);
  pool.window = window.KernelElements();
  for (std::size_t i = 0; i < in.size(); ++i) pool.out[first + i] = window.out[i];
  return pool;
}

void InferNhwcMaxPool(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), PoolOf(ctx, true, false).out);
}

OpCost CostNhwcMaxPool(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Pool pool = PoolOf(ctx, true, false);
  cost.work.Add(OpClass::kCompare, ctx.InputType(0), pool.out.Elements() * Folds(pool.window, 1));
  cost.nest = ReduceNest{.outer = pool.out.Elements(), .reduce = pool.window};
  return cost;
}

bool IsGlobal(const OpContext& ctx) { return ctx.op() == "QLinearGlobalAveragePool"; }

void InferQuantizedPool(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0),
                PoolOf(ctx, ctx.Int("channels_last", 0) != 0, IsGlobal(ctx)).out);
}

// The division by the window is part of the output's scale.
OpCost CostQuantizedPool(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Pool pool = PoolOf(ctx, ctx.Int("channels_last", 0) != 0, IsGlobal(ctx));
  const Count outputs = pool.out.Elements();
  cost.work.Add(OpClass::kInteger, DType::kInt32, outputs * Folds(pool.window, 1));
  AddRequantize(cost.work, outputs);
  cost.nest = ReduceNest{.outer = outputs, .reduce = pool.window};
  return cost;
}

constexpr OpCase kFusedConvCases[] = {
    {.what = "bias, summand and Relu: 3 FLOPs per output besides",
     .attributes = "pads=[1,1,1,1] activation='Relu'",
     .inputs = "f32[1,2,4,4] w:f32[3,2,3,3] w:f32[3] f32[1,3,4,4]",
     .outputs = "f32[1,3,4,4]",
     .macs = 48 * 18,
     .flops = 2 * 864 + 3 * 48,
     .bytes_read = 4 * (32 + 54 + 3 + 48),
     .bytes_written = 192},
};

constexpr OpCase kNhwcFusedConvCases[] = {
    {.what = "channels last",
     .attributes = "pads=[1,1,1,1] activation='Relu'",
     .inputs = "f16[1,4,4,2] w:f16[3,2,3,3] w:f16[3]",
     .outputs = "f16[1,4,4,3]",
     .macs = 48 * 18,
     .flops = 2 * 864 + 2 * 48,
     .bytes_read = 2 * (32 + 54 + 3),
     .bytes_written = 96},
};

constexpr OpCase kNhwcConvCases[] = {
    {.what = "weight with channels last",
     .attributes = "pads=[1,1,1,1] kernel_shape=[3,3]",
     .inputs = "f16[1,4,4,2] w:f16[5,3,3,2]",
     .outputs = "f16[1,4,4,5]",
     .macs = 80 * 18,
     .flops = 2 * 1440,
     .bytes_read = 2 * (32 + 90),
     .bytes_written = 160},
};

constexpr OpCase kBlockedConvCases[] = {
    {.what = "3 channels into blocks of 8",
     .attributes = "pads=[1,1,1,1] kernel_shape=[3,3] activation='Relu'",
     .inputs = "f32[1,3,4,4] w:f32[8,3,3,3] w:f32[8]",
     .outputs = "f32[1,8,4,4]",
     .macs = 128 * 27,
     .flops = 2 * 3456 + 2 * 128,
     .bytes_read = 4 * (48 + 216 + 8),
     .bytes_written = 512},
};

constexpr OpCase kReorderInputCases[] = {
    {.what = "channels last to blocked",
     .attributes = "channels_last=1",
     .inputs = "f32[1,4,4,8]",
     .outputs = "f32[1,8,4,4]",
     .bytes_read = 512,
     .bytes_written = 512},
    {.what = "5 channels fill a block of 8",
     .inputs = "f32[1,5,4,4]",
     .outputs = "f32[1,8,4,4]",
     .bytes_read = 320,
     .bytes_written = 512},
};

constexpr OpCase kReorderOutputCases[] = {
    {.what = "the padding is left behind",
     .attributes = "channels=5",
     .inputs = "f32[1,8,4,4]",
     .outputs = "f32[1,5,4,4]",
     .bytes_read = 512,
     .bytes_written = 320},
};

constexpr OpCase kNhwcMaxPoolCases[] = {
    {.what = "2x2",
     .attributes = "kernel_shape=[2,2] strides=[2,2]",
     .inputs = "u8[1,4,4,3]",
     .outputs = "u8[1,2,2,3]",
     .flops = 12 * 3,
     .bytes_read = 48,
     .bytes_written = 12},
};

constexpr OpCase kQLinearAveragePoolCases[] = {
    {.what = "2x2: one multiplication per output, additions are integer",
     .attributes = "kernel_shape=[2,2] strides=[2,2]",
     .inputs = "u8[1,3,4,4] f32[] u8[] f32[] u8[]",
     .outputs = "u8[1,3,2,2]",
     .flops = 12,
     .bytes_read = 48 + 8 + 2,
     .bytes_written = 12},
};

constexpr OpCase kQLinearGlobalAveragePoolCases[] = {
    {.what = "channels last",
     .attributes = "channels_last=1",
     .inputs = "u8[1,7,7,16] f32[] u8[] f32[] u8[]",
     .outputs = "u8[1,1,1,16]",
     .flops = 16,
     .bytes_read = 784 + 8 + 2,
     .bytes_written = 16},
};

constexpr ContribOps kMakeContribConv{FusionRole::kAnchor};
constexpr ContribOps kMakeNchwc{FusionRole::kMovement, "com.microsoft.nchwc"};

constexpr std::string_view kContribConvFormula =
    "MACs as Conv; 1 add per output and addend; the activation";

constexpr OpDef kContribConvOps[] = {
    kMakeContribConv("FusedConv", kContribConvFormula, InferFusedConv, CostFusedConv,
                     kFusedConvCases),
    kMakeContribConv("NhwcConv", kContribConvFormula, InferNhwcConv, CostNhwcConv, kNhwcConvCases),
    kMakeContribConv("NhwcFusedConv", kContribConvFormula, InferNhwcFused, CostNhwcFused,
                     kNhwcFusedConvCases),
    kMakeNchwc("Conv", kContribConvFormula, InferBlockedConv, CostBlockedConv, kBlockedConvCases,
               FusionRole::kAnchor),
    kMakeNchwc("ReorderInput", "no arithmetic; moves the input", InferReorderInput, CostMove,
               kReorderInputCases),
    kMakeNchwc("ReorderOutput", "no arithmetic; moves the input", InferReorderOutput, CostMove,
               kReorderOutputCases),
    kMakeContribConv("NhwcMaxPool", "prod(kernel) - 1 comparisons per output", InferNhwcMaxPool,
                     CostNhwcMaxPool, kNhwcMaxPoolCases, FusionRole::kReduction),
    kMakeContribConv("QLinearAveragePool", "prod(kernel) - 1 integer, 1 mul, 1 convert per output",
                     InferQuantizedPool, CostQuantizedPool, kQLinearAveragePoolCases,
                     FusionRole::kReduction),
    kMakeContribConv("QLinearGlobalAveragePool",
                     "prod(spatial) - 1 integer, 1 mul, 1 convert per channel", InferQuantizedPool,
                     CostQuantizedPool, kQLinearGlobalAveragePoolCases, FusionRole::kReduction),
};

}  // namespace

std::span<const OpDef> ContribConvOps() { return kContribConvOps; }

}  // namespace dlcost
