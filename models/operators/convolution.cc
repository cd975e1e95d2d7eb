#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/conv.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Counting: one MAC per output and element of its window, padding included, as counters and other
// tools count; valid_macs leaves the padding out. A bias is one addition per output. Integer
// convolutions are MACs of the type of x; a zero point is one integer subtraction per element of
// its operand; requantizing is one multiplication, one conversion and one integer addition per
// output.

void InferConv(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), ForwardConv(ctx, {}).out);
}

OpCost CostConv(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const ConvShape conv = ForwardConv(ctx, {});
  AddConv(cost, conv, ctx.InputType(0));
  if (ctx.HasInput(2)) cost.work.Add(OpClass::kAdd, ctx.InputType(0), conv.out.Elements());
  return cost;
}

void InferConvInteger(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kInt32);
  ctx.SetOutput(0, DType::kInt32, ForwardConv(ctx, {}).out);
}

OpCost CostConvInteger(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddConv(cost, ForwardConv(ctx, {}), ctx.InputType(0));
  AddZeroPoint(cost.work, ctx, 0, 2);
  AddZeroPoint(cost.work, ctx, 1, 3);
  return cost;
}

// Inputs: x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B. ONNX
// Runtime adds channels_last.
ConvLayout QLinearLayout(const OpContext& ctx) {
  return {.weight = 3, .channels_last = ctx.Int("channels_last", 0) != 0};
}

void InferQLinearConv(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(7));
  ctx.SetOutput(0, ctx.InputType(7), ForwardConv(ctx, QLinearLayout(ctx)).out);
}

OpCost CostQLinearConv(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const ConvShape conv = ForwardConv(ctx, QLinearLayout(ctx));
  AddConv(cost, conv, ctx.InputType(0));
  AddZeroPoint(cost.work, ctx, 0, 2);
  AddZeroPoint(cost.work, ctx, 3, 5);
  if (ctx.HasInput(8)) cost.work.Add(OpClass::kInteger, DType::kInt32, conv.out.Elements());
  AddRequantize(cost.work, conv.out.Elements());
  return cost;
}

// Where the forms of ConvTranspose have their inputs; pads -1: an attribute.
struct TransposedInputs {
  int weight, bias, pads;
};
constexpr TransposedInputs kTransposed = {1, 2, -1};
constexpr TransposedInputs kDynamicPads = {1, 3, 2};
constexpr TransposedInputs kQuantizedTransposed = {3, 8, -1};

ConvShape TransposedConv(const OpContext& ctx, const TransposedInputs& at) {
  const Shape& x = ctx.InputShape(0);
  const Shape& w = ctx.InputShape(at.weight);
  ConvShape conv;
  std::vector<std::int64_t> pads;
  if (at.pads >= 0 && ctx.HasInput(at.pads)) pads = ctx.InputInts(at.pads);
  conv.window = TransposedWindow(ctx, KernelOf(ctx, at.weight), pads.empty() ? nullptr : &pads);
  conv.groups = GroupsOf(ctx);
  if (x[1] != w[0]) {
    throw Error("input {} has {} channels, the weight {} wants {}", ToString(x), x[1], ToString(w),
                w[0]);
  }
  if (w[0] % conv.groups != 0) {
    throw Error("{} input channels do not divide by group {}", w[0], conv.groups);
  }
  conv.batch = x[0];
  conv.in_channels = x[1];
  conv.group_channels = w[1];
  conv.out_channels = (Count(w[1]) * conv.groups).value();
  std::vector<std::int64_t> dims = {x[0], conv.out_channels};
  dims.insert(dims.end(), conv.window.in.begin(), conv.window.in.end());
  conv.out = Shape(std::move(dims));
  return conv;
}

void InferConvTranspose(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), TransposedConv(ctx, kTransposed).out);
}

// Every input element meets every tap of its output channels; taps that fall outside the output are
// not valid.
OpCost CostTransposed(const OpContext& ctx, const TransposedInputs& at) {
  OpCost cost = StreamAll(ctx);
  const ConvShape conv = TransposedConv(ctx, at);
  const Window& window = conv.window;
  const DType type = ctx.InputType(0);
  cost.work.Add(OpClass::kMac, type,
                ctx.InputShape(0).Elements() * conv.group_channels * window.KernelElements());
  cost.valid_macs =
      Macs(Count(conv.batch) * conv.in_channels * conv.group_channels * window.ValidTaps());
  if (ctx.HasInput(at.bias)) cost.work.Add(OpClass::kAdd, type, conv.out.Elements());
  // The window is that of the forward convolution: its input is the output here.
  std::vector<ConvAxis> axes = AxesOf(window);
  for (ConvAxis& axis : axes) std::swap(axis.in, axis.out);
  cost.nest = ConvNest{.batch = conv.batch,
                       .groups = conv.groups,
                       .in_channels = conv.in_channels,
                       .out_channels = conv.out_channels,
                       .axes = std::move(axes),
                       .transposed = true};
  return cost;
}

OpCost CostConvTranspose(const OpContext& ctx) { return CostTransposed(ctx, kTransposed); }

// Inputs: X, W, pads, B.
void InferDynamicTranspose(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), TransposedConv(ctx, kDynamicPads).out);
}
OpCost CostDynamicTranspose(const OpContext& ctx) { return CostTransposed(ctx, kDynamicPads); }

// Inputs as QLinearConv.
void InferQuantizedTranspose(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(7));
  ctx.SetOutput(0, ctx.InputType(7), TransposedConv(ctx, kQuantizedTransposed).out);
}
OpCost CostQuantizedTranspose(const OpContext& ctx) {
  OpCost cost = CostTransposed(ctx, kQuantizedTransposed);
  AddZeroPoint(cost.work, ctx, 0, 2);
  AddZeroPoint(cost.work, ctx, 3, 5);
  AddRequantize(cost.work, ctx.OutputShape(0).Elements());
  return cost;
}

// Bytes of the first case, by hand: reads 4 * (64*56*56 + 64*64*9) = 950,272; writes 4 * 64*56*56 =
// 802,816.
constexpr OpCase kConvCases[] = {
    {.what = "3x3, padded to the same extent (ResNet-50, stage 1)",
     .attributes = "kernel_shape=[3,3] pads=[1,1,1,1]",
     .inputs = "f32[1,64,56,56] w:f32[64,64,3,3]",
     .outputs = "f32[1,64,56,56]",
     .macs = 115605504,
     .flops = 231211008,
     .bytes_read = 950272,
     .bytes_written = 802816},
    {.what = "depthwise, stride 2, with bias",
     .attributes = "group=32 strides=[2,2] pads=[1,1,1,1]",
     .inputs = "f32[1,32,112,112] w:f32[32,1,3,3] w:f32[32]",
     .outputs = "f32[1,32,56,56]",
     .macs = 903168,
     .flops = 1806336 + 100352,
     .bytes_read = 4 * (401408 + 288 + 32),
     .bytes_written = 401408},
};

constexpr OpCase kConvIntegerCases[] = {
    {.what = "3x3 window on 4x4, zero point of x",
     .inputs = "u8[1,2,4,4] w:i8[3,2,3,3] u8[]",
     .outputs = "i32[1,3,2,2]",
     .macs = 12 * 18,
     .flops = 2 * 12 * 18,
     .bytes_read = 32 + 54 + 1,
     .bytes_written = 48},
};

// One multiplication per output; bias, rounding and zero points are integer work.
constexpr OpCase kQLinearConvCases[] = {
    {.what = "per-channel weight scales, with bias",
     .inputs = "u8[1,2,4,4] f32[] u8[] w:i8[3,2,3,3] f32[3] i8[3] f32[] u8[] i32[3]",
     .outputs = "u8[1,3,2,2]",
     .macs = 12 * 18,
     .flops = 2 * 12 * 18 + 12,
     .bytes_read = 32 + 4 + 1 + 54 + 12 + 3 + 4 + 1 + 12,
     .bytes_written = 12},
};

constexpr OpCase kQLinearConvLastCases[] = {
    {.what = "channels last",
     .attributes = "channels_last=1",
     .inputs = "u8[1,4,4,2] f32[] u8[] w:i8[3,2,3,3] f32[] i8[] f32[] u8[]",
     .outputs = "u8[1,2,2,3]",
     .macs = 12 * 18,
     .flops = 2 * 12 * 18 + 12,
     .bytes_read = 32 + 54 + 12 + 3,
     .bytes_written = 12},
};

// 1 * 64 * 8 * 8 inputs, each times 32 channels and 4x4 taps.
constexpr OpCase kConvTransposeCases[] = {
    {.what = "doubles the extent (DCGAN), with bias",
     .attributes = "strides=[2,2] pads=[1,1,1,1]",
     .inputs = "f32[1,64,8,8] w:f32[64,32,4,4] w:f32[32]",
     .outputs = "f32[1,32,16,16]",
     .macs = 2097152,
     .flops = 4194304 + 8192,
     .bytes_read = 4 * (4096 + 32768 + 32),
     .bytes_written = 32768},
    {.what = "output_shape given, two groups",
     .attributes = "strides=[3] output_shape=[10] group=2",
     .inputs = "f32[1,4,3] w:f32[4,1,3]",
     .outputs = "f32[1,2,10]",
     .macs = 36,
     .flops = 72,
     .bytes_read = 4 * 24,
     .bytes_written = 80},
    {.what = "auto_pad multiplies the extent by the stride",
     .attributes = "strides=[2] auto_pad='SAME_UPPER'",
     .inputs = "f32[1,1,3] w:f32[1,2,3]",
     .outputs = "f32[1,2,6]",
     .macs = 18,
     .flops = 36,
     .bytes_read = 4 * 9,
     .bytes_written = 48},
    {.what = "output_padding, dilated",
     .attributes = "strides=[3] output_padding=[1] dilations=[2]",
     .inputs = "f32[1,1,3] w:f32[1,2,2]",
     .outputs = "f32[1,2,10]",
     .macs = 12,
     .flops = 24,
     .bytes_read = 4 * 7,
     .bytes_written = 80},
};

// 4 * 3 inputs, each times 1 channel and 3 taps.
constexpr OpCase kDynamicTransposeCases[] = {
    {.what = "pads as an input",
     .attributes = "strides=[3] group=2",
     .inputs = "f32[1,4,3] w:f32[4,1,3] i64[2]{1,1} w:f32[2]",
     .outputs = "f32[1,2,7]",
     .macs = 36,
     .flops = 72 + 14,
     .bytes_read = 4 * (12 + 12 + 2) + 16,
     .bytes_written = 56},
};

// 12 inputs of 4 taps; 16 outputs, requantized.
constexpr OpCase kQuantizedTransposeCases[] = {
    {.what = "doubles the extent",
     .attributes = "strides=[2,2]",
     .inputs = "u8[1,3,2,2] f32[] u8[] w:i8[3,1,2,2] f32[] i8[] f32[] u8[]",
     .outputs = "u8[1,1,4,4]",
     .macs = 48,
     .flops = 96 + 16,
     .bytes_read = 12 + 12 + 12 + 3,
     .bytes_written = 16},
};

constexpr OpDef kConvolutionOps[] = {
    {.name = "Conv",
     .since = {1, 11, 22},
     .formula = "MACs = N * Cout * prod(out) * Cin/group * prod(kernel)",
     .infer = InferConv,
     .cost = CostConv,
     .role = FusionRole::kAnchor,
     .cases = kConvCases},
    {.name = "ConvTranspose",
     .since = {1, 11, 22},
     .formula = "MACs = N * Cin * prod(in) * Cout/group * prod(kernel)",
     .infer = InferConvTranspose,
     .cost = CostConvTranspose,
     .role = FusionRole::kAnchor,
     .cases = kConvTransposeCases},
    {.name = "ConvTransposeWithDynamicPads",
     .domain = "com.microsoft",
     .formula = "MACs as ConvTranspose",
     .infer = InferDynamicTranspose,
     .cost = CostDynamicTranspose,
     .role = FusionRole::kAnchor,
     .cases = kDynamicTransposeCases},
    {.name = "QLinearConvTranspose",
     .domain = "com.microsoft",
     .formula = "MACs as ConvTranspose, in the type of x; 1 mul, 1 convert per output",
     .infer = InferQuantizedTranspose,
     .cost = CostQuantizedTranspose,
     .role = FusionRole::kAnchor,
     .cases = kQuantizedTransposeCases},
    {.name = "ConvInteger",
     .since = {10},
     .formula = "MACs as Conv, in the type of x",
     .infer = InferConvInteger,
     .cost = CostConvInteger,
     .role = FusionRole::kAnchor,
     .cases = kConvIntegerCases},
    {.name = "QLinearConv",
     .since = {10},
     .formula = "MACs as Conv, in the type of x; 1 mul, 1 convert per output",
     .infer = InferQLinearConv,
     .cost = CostQLinearConv,
     .role = FusionRole::kAnchor,
     .cases = kQLinearConvCases},
    {.name = "QLinearConv",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "MACs as Conv, in the type of x; 1 mul, 1 convert per output",
     .infer = InferQLinearConv,
     .cost = CostQLinearConv,
     .role = FusionRole::kAnchor,
     .cases = kQLinearConvLastCases},
};

}  // namespace

std::span<const OpDef> ConvolutionOps() { return kConvolutionOps; }

}  // namespace dlcost
