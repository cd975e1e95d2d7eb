#include <algorithm>

#include "models/networks/families.h"
#include "models/networks/layers.h"

namespace dlcost::networks {
namespace {

struct EfficientNetStage {
  std::int64_t expansion;
  std::int64_t kernel;
  std::int64_t channels;
  int blocks;
  std::int64_t stride;  // of the first block
};
// Table 1 of Tan and Le, "EfficientNet: rethinking model scaling for convolutional neural
// networks", arXiv 1905.11946.
constexpr EfficientNetStage kEfficientNetStages[] = {
    {1, 3, 16, 1, 1},  {6, 3, 24, 2, 2},  {6, 5, 40, 2, 2}, {6, 3, 80, 3, 2},
    {6, 5, 112, 3, 1}, {6, 5, 192, 4, 2}, {6, 3, 320, 1, 1}};

// The coefficients that the paper's authors publish with its code, tensorflow/tpu,
// models/official/efficientnet/efficientnet_builder.py.
struct Member {
  const char* name;
  std::int64_t width, depth;  // tenths
  std::int64_t resolution;
};
constexpr Member kMembers[] = {{"efficientnet-b0", 10, 10, 224}, {"efficientnet-b4", 14, 18, 380}};

// A multiple of eight near the scaled width, and no less than nine tenths of it (the same file).
std::int64_t Scaled(std::int64_t channels, std::int64_t width) {
  const std::int64_t tenths = width * channels;
  const std::int64_t rounded = std::max<std::int64_t>(8, (tenths + 40) / 80 * 8);
  return rounded * 100 < 9 * tenths ? rounded + 8 : rounded;
}

struct Style {
  bool folded;
  bool wide;  // squeezes a quarter of the depthwise channels
};

Value Swish(Builder& b, const Value& x) { return b.Node("Mul", {x, b.Node("Sigmoid", {x})}); }

// Scales every channel by what its mean over all positions says.
Value SqueezeExcite(Builder& b, const Value& x, std::int64_t channels, std::int64_t squeezed) {
  const Builder::Scope scope = b.In("se");
  Value y = b.Node("GlobalAveragePool", {x});
  y = Swish(b, Conv(b, "squeeze", y, {.in = channels, .out = squeezed, .kernel = 1}));
  y = Conv(b, "expand", y, {.in = squeezed, .out = channels, .kernel = 1});
  return b.Node("Mul", {x, b.Node("Sigmoid", {y})});
}

Value InvertedBottleneck(Builder& b, const Value& x, std::int64_t in, std::int64_t out,
                         std::int64_t stride, const EfficientNetStage& stage, const Style& style) {
  const std::int64_t hidden = in * stage.expansion;
  Value y = x;
  if (stage.expansion != 1) {
    y = Swish(
        b, ConvNorm(b, "expand", "bn0", y, {.in = in, .out = hidden, .kernel = 1}, style.folded));
  }
  y = Swish(b, ConvNorm(b, "depthwise", "bn1", y,
                        {.in = hidden,
                         .out = hidden,
                         .kernel = stage.kernel,
                         .stride = stride,
                         .pad = stage.kernel / 2,
                         .group = hidden},
                        style.folded));
  y = SqueezeExcite(b, y, hidden, (style.wide ? hidden : in) / 4);
  y = ConvNorm(b, "project", "bn2", y, {.in = hidden, .out = out, .kernel = 1}, style.folded);
  return stride == 1 && in == out ? b.Node("Add", {x, y}) : y;
}

}  // namespace

Network BuildEfficientNet(const std::string& name, const Options& options) {
  const Member* member = kMembers;
  while (name != member->name) ++member;
  const Style style = {options.Choice("norm", {"folded", "kept"}) == "folded",
                       options.Choice("squeeze", {"block", "wide"}) == "wide"};

  Builder b(name, options.Opset(17), options.Type());
  Value x = b.Input("image", b.dtype(), {"batch", 3, member->resolution, member->resolution});
  std::int64_t in = Scaled(32, member->width);
  x = Swish(b, ConvNorm(b, "stem", "bn", x,
                        {.in = 3, .out = in, .kernel = 3, .stride = 2, .pad = 1}, style.folded));
  int index = 0;
  for (const EfficientNetStage& stage : kEfficientNetStages) {
    const std::int64_t out = Scaled(stage.channels, member->width);
    const std::int64_t blocks = (member->depth * stage.blocks + 9) / 10;
    for (std::int64_t block = 0; block < blocks; ++block, ++index) {
      const Builder::Scope scope = b.In("blocks." + std::to_string(index));
      x = InvertedBottleneck(b, x, in, out, block == 0 ? stage.stride : 1, stage, style);
      in = out;
    }
  }
  const std::int64_t last = Scaled(1280, member->width);
  x = Swish(b,
            ConvNorm(b, "head", "bn_head", x, {.in = in, .out = last, .kernel = 1}, style.folded));
  x = b.Node("Flatten", {b.Node("GlobalAveragePool", {x})}, {{"axis", 1}});
  b.Output(Affine(b, "classifier", x, last, 1000), "logits", b.dtype(), {"batch", 1000});
  return b.Finish();
}

}  // namespace dlcost::networks
