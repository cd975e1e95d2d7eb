#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"
#include "models/operators/window.h"

namespace dlcost {
namespace {

std::vector<std::int64_t> KernelOf(const OpContext& ctx) {
  const Shape& w = ctx.InputShape(1);
  if (w.rank() < 3) throw Error("the weight has rank {}; a convolution needs at least 3", w.rank());
  const std::vector<std::int64_t> kernel(w.begin() + 2, w.end());
  const std::vector<std::int64_t> declared = ctx.Ints("kernel_shape", kernel);
  if (declared != kernel) {
    throw Error("kernel_shape {} contradicts the weight {}", ToString(Shape(declared)),
                ToString(w));
  }
  return kernel;
}

std::int64_t GroupsOf(const OpContext& ctx) {
  const std::int64_t groups = ctx.Int("group", 1);
  if (groups < 1) throw Error("group is {}", groups);
  return groups;
}

void InferConv(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  const Shape& w = ctx.InputShape(1);
  const std::int64_t groups = GroupsOf(ctx);
  const Window window = ForwardWindow(ctx, KernelOf(ctx));
  if (Count(x[1]) != Count(w[1]) * groups) {
    throw Error("input {} has {} channels, the weight {} with group {} wants {}", ToString(x), x[1],
                ToString(w), groups, Count(w[1]) * groups);
  }
  if (w[0] % groups != 0) throw Error("{} output channels do not divide by group {}", w[0], groups);
  std::vector<std::int64_t> dims = {x[0], w[0]};
  dims.insert(dims.end(), window.out.begin(), window.out.end());
  ctx.SetOutput(0, ctx.InputType(0), Shape(std::move(dims)));
}

// MACs = N * Cout * prod(out) * Cin/group * prod(kernel); the bias adds 1 per output.
OpCost CostConv(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Shape& w = ctx.InputShape(1);
  const Shape& y = ctx.OutputShape(0);
  const Window window = ForwardWindow(ctx, KernelOf(ctx));
  const Count per_tap = Count(y[0]) * w[0] * w[1];
  const DType type = ctx.InputType(0);
  cost.work.Add(OpClass::kMac, type, y.Elements() * w[1] * window.KernelElements());
  cost.valid_macs = Macs(per_tap * window.ValidTaps());
  if (ctx.HasInput(2)) cost.work.Add(OpClass::kAdd, type, y.Elements());
  cost.nest = ConvNest{.batch = y[0],
                       .groups = GroupsOf(ctx),
                       .in_channels = ctx.InputDim(0, 1),
                       .out_channels = w[0],
                       .in = window.in,
                       .out = window.out,
                       .kernel = window.kernel,
                       .stride = window.stride,
                       .dilation = window.dilation,
                       .pad_begin = window.pad_begin,
                       .pad_end = window.pad_end};
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

constexpr OpDef kOps[] = {
    {.name = "Conv",
     .since = {1, 11, 22},
     .formula = "MACs = N * Cout * prod(out) * Cin/group * prod(kernel)",
     .infer = InferConv,
     .cost = CostConv,
     .role = FusionRole::kAnchor,
     .cases = kConvCases},
};

}  // namespace

std::span<const OpDef> ConvolutionOps() { return kOps; }

}  // namespace dlcost
