#include <algorithm>

#include "models/gradients/gradient.h"
#include "models/operators/conv.h"

namespace dlcost {
namespace {

// Products of a convolution y = conv(x, w) + b: dx is the transposed convolution of dy with w, dw
// correlates x with dy (ConvGrad with its second output alone), db sums dy over all but channels.
// Each of the two products has the multiply-accumulates of the forward one.

std::vector<std::int64_t> PadsOf(const Window& window) {
  std::vector<std::int64_t> pads = window.pad_begin;
  pads.insert(pads.end(), window.pad_end.begin(), window.pad_end.end());
  return pads;
}

// Padding written out, as auto_pad would mean something else for other extents.
std::vector<Attribute> AttributesOf(const Window& window, std::int64_t groups) {
  return {IntsAttribute("kernel_shape", window.kernel), IntsAttribute("strides", window.stride),
          IntsAttribute("dilations", window.dilation), IntsAttribute("pads", PadsOf(window)),
          IntAttribute("group", groups)};
}

void SetBias(GradientContext& g, std::size_t bias = 2) {
  if (!g.Wants(bias)) return;
  std::vector<std::int64_t> axes = {0};
  for (std::int64_t axis = 2; axis < g.YShape().Rank(); ++axis) axes.push_back(axis);
  g.Set(bias, g.w().Reshape(g.w().ReduceSum(g.dY(), axes), g.XShape(bias)));
}

// The weight's gradient, `y` being the side of the convolution's output.
TensorId WeightGradient(GradientContext& g, TensorId y, TensorId x,
                        std::vector<Attribute> attributes) {
  return g.w().ContribOutput("ConvGrad", {y, x, g.X(1)}, std::move(attributes), 1);
}

void ConvGradient(GradientContext& g) {
  const ConvShape conv = ForwardConv(g.forward(), {});
  const std::vector<Attribute> attributes = AttributesOf(conv.window, conv.groups);
  if (g.Wants(0)) {
    // What the stride leaves over at the end of the input.
    const Window& window = conv.window;
    std::vector<std::int64_t> rest;
    for (std::size_t i = 0; i < window.in.size(); ++i) {
      const std::int64_t reached = window.stride[i] * (window.out[i] - 1) +
                                   window.dilation[i] * (window.kernel[i] - 1) + 1 -
                                   window.pad_begin[i] - window.pad_end[i];
      rest.push_back(window.in[i] - reached);
    }
    std::vector<Attribute> transposed = attributes;
    transposed.push_back(IntsAttribute("output_padding", rest));
    g.Set(0, g.w().Node1("ConvTranspose", {g.dY(), g.X(1)}, std::move(transposed)));
  }
  if (g.Wants(1)) g.Set(1, WeightGradient(g, g.dY(), g.X(0), attributes));
  SetBias(g);
}

void ConvTransposeGradient(GradientContext& g) {
  const OpContext forward = g.forward();
  const Window window = TransposedWindow(forward, KernelOf(forward, 1));
  const std::vector<Attribute> attributes = AttributesOf(window, GroupsOf(forward));
  if (g.Wants(0)) g.Set(0, g.w().Node1("Conv", {g.dY(), g.X(1)}, attributes));
  if (g.Wants(1)) g.Set(1, WeightGradient(g, g.X(0), g.dY(), attributes));
  SetBias(g);
}

// Inputs: X, W, offset, B, mask.
void DeformConvGradient(GradientContext& g) {
  const std::vector<std::size_t> inputs = {0, 1, 2, 4};
  std::vector<bool> present;
  for (const std::size_t i : inputs) present.push_back(g.Wants(i));
  if (std::count(present.begin(), present.end(), true) > 0) {
    const std::vector<TensorId> gradients =
        g.w().NodeWith("DeformConvGrad", "dlcost.training",
                       {g.X(0), g.X(1), g.X(2), g.X(4), g.dY()}, g.node().attributes, present);
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (present[k]) g.Set(inputs[k], gradients[k]);
    }
  }
  SetBias(g, 3);
}

constexpr GradientDef kConvolutionGradients[] = {{"Conv", ConvGradient},
                                                 {"ConvTranspose", ConvTransposeGradient},
                                                 {"DeformConv", DeformConvGradient}};

}  // namespace

std::span<const GradientDef> ConvolutionGradients() { return kConvolutionGradients; }

}  // namespace dlcost
