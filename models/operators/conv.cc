#include "models/operators/conv.h"

#include "estimator/core/error.h"

namespace dlcost {

std::vector<std::int64_t> KernelOf(const OpContext& ctx, int weight, bool channels_last) {
  const Shape& w = ctx.InputShape(weight);
  if (w.rank() < 3) throw Error("the weight has rank {}; a convolution needs at least 3", w.rank());
  std::vector<std::int64_t> kernel(w.begin() + (channels_last ? 1 : 2),
                                   w.end() - (channels_last ? 1 : 0));
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

ConvShape ForwardConv(const OpContext& ctx, const ConvLayout& layout) {
  const Shape& x = ctx.InputShape(0);
  const Shape& w = ctx.InputShape(layout.weight);
  if (x.rank() < 3) throw Error("input 0 has rank {}; a convolution needs at least 3", x.rank());
  const std::ptrdiff_t last = layout.channels_last ? 1 : 0;
  ConvShape conv;
  conv.batch = x[0];
  conv.in_channels = layout.channels_last ? x[x.rank() - 1] : x[1];
  conv.out_channels = w[0];
  conv.groups = GroupsOf(ctx);
  std::vector<std::int64_t> kernel = KernelOf(ctx, layout.weight, layout.weight_channels_last);
  conv.group_channels = layout.weight_channels_last ? w[w.rank() - 1] : w[1];
  conv.window = WindowOver(ctx, {x.begin() + 2 - last, x.end() - last}, std::move(kernel));
  const Count wanted = Count(conv.group_channels) * conv.groups;
  if (Count(conv.in_channels) != wanted && !layout.blocked) {
    throw Error("input {} has {} channels, the weight {} with group {} wants {}", ToString(x),
                conv.in_channels, ToString(w), conv.groups, wanted);
  }
  if (w[0] % conv.groups != 0) {
    throw Error("{} output channels do not divide by group {}", w[0], conv.groups);
  }
  std::vector<std::int64_t> dims = {x[0]};
  if (!layout.channels_last) dims.push_back(w[0]);
  dims.insert(dims.end(), conv.window.out.begin(), conv.window.out.end());
  if (layout.channels_last) dims.push_back(w[0]);
  conv.out = Shape(std::move(dims));
  return conv;
}

std::vector<ConvAxis> AxesOf(const Window& window) {
  std::vector<ConvAxis> axes;
  axes.reserve(window.in.size());
  for (std::size_t i = 0; i < window.in.size(); ++i) {
    axes.push_back({.in = window.in[i],
                    .out = window.out[i],
                    .kernel = window.kernel[i],
                    .stride = window.stride[i],
                    .dilation = window.dilation[i],
                    .pad_begin = window.pad_begin[i],
                    .pad_end = window.pad_end[i]});
  }
  return axes;
}

void AddConv(OpCost& cost, const ConvShape& conv, DType type) {
  const Window& window = conv.window;
  cost.work.Add(OpClass::kMac, type,
                conv.out.Elements() * conv.group_channels * window.KernelElements());
  cost.valid_macs =
      Macs(Count(conv.batch) * conv.out_channels * conv.group_channels * window.ValidTaps());
  cost.nest = ConvNest{.batch = conv.batch,
                       .groups = conv.groups,
                       .in_channels = conv.in_channels,
                       .out_channels = conv.out_channels,
                       .axes = AxesOf(window)};
}

ConvNest InputGradient(const ConvNest& forward) {
  ConvNest nest = forward;
  nest.transposed = true;
  std::swap(nest.in_channels, nest.out_channels);
  for (ConvAxis& axis : nest.axes) std::swap(axis.in, axis.out);
  return nest;
}

ConvNest WeightGradient(const ConvNest& forward) {
  ConvNest nest = forward;
  nest.of_weights = true;
  return nest;
}

}  // namespace dlcost
