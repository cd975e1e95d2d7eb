#include <array>

#include "models/networks/families.h"
#include "models/networks/layers.h"

namespace dlcost::networks {
namespace {

struct Stages {
  const char* name;
  bool bottleneck;
  std::array<int, 4> blocks;
  std::int64_t groups = 1, group_width = 64;  // of the 3x3 convolutions of the first stage
  bool squeeze = false;
};
// Table 1 of He et al., "Deep residual learning for image recognition", arXiv 1512.03385, and of
// Xie et al., "Aggregated residual transformations for deep neural networks", arXiv 1611.05431.
constexpr Stages kResNets[] = {
    {"resnet18", false, {2, 2, 2, 2}},
    {"resnet34", false, {3, 4, 6, 3}},
    {"resnet50", true, {3, 4, 6, 3}},
    {"resnet101", true, {3, 4, 23, 3}},
    {"resnet152", true, {3, 8, 36, 3}},
    {"resnext50-32x4d", true, {3, 4, 6, 3}, 32, 4},
    {"resnext101-32x4d", true, {3, 4, 23, 3}, 32, 4},
    {"se-resnext101-32x4d", true, {3, 4, 23, 3}, 32, 4, true},
};

// Scales every channel by what its mean over all positions says, a sixteenth of the channels wide
// between: Hu et al., "Squeeze-and-excitation networks", arXiv 1709.01507.
Value SqueezeExcite(Builder& b, const Value& x, std::int64_t channels) {
  const Builder::Scope scope = b.In("squeeze");
  Value y = b.Node("Flatten", {b.Node("GlobalAveragePool", {x})}, {{"axis", 1}});
  y = Affine(b, "expand", Relu(b, Affine(b, "squeeze", y, channels, channels / 16)), channels / 16,
             channels);
  return b.Node("Mul", {x, b.Node("Unsqueeze", {b.Node("Sigmoid", {y}), b.Ints({2, 3})})});
}

// Two 3x3 convolutions, or 1x1, 3x3, 1x1 with the stride on the 3x3 (as torchvision has it).
Value Block(Builder& b, const Value& x, std::int64_t in, std::int64_t width, std::int64_t stride,
            const Stages& stages, bool folded) {
  const std::int64_t out = stages.bottleneck ? 4 * width : width;
  Value y = x;
  if (stages.bottleneck) {
    const std::int64_t inner = width * stages.group_width / 64 * stages.groups;
    y = Relu(b, ConvNorm(b, "conv1", "bn1", y, {.in = in, .out = inner, .kernel = 1}, folded));
    y = ConvNorm(b, "conv2", "bn2", y,
                 {.in = inner,
                  .out = inner,
                  .kernel = 3,
                  .stride = stride,
                  .pad = 1,
                  .group = stages.groups},
                 folded);
    y = ConvNorm(b, "conv3", "bn3", Relu(b, y), {.in = inner, .out = out, .kernel = 1}, folded);
    if (stages.squeeze) y = SqueezeExcite(b, y, out);
  } else {
    y = ConvNorm(b, "conv1", "bn1", y,
                 {.in = in, .out = width, .kernel = 3, .stride = stride, .pad = 1}, folded);
    y = ConvNorm(b, "conv2", "bn2", Relu(b, y), {.in = width, .out = width, .kernel = 3, .pad = 1},
                 folded);
  }
  Value shortcut = x;
  if (stride != 1 || in != out) {
    const Builder::Scope scope = b.In("downsample");
    shortcut =
        ConvNorm(b, "0", "1", x, {.in = in, .out = out, .kernel = 1, .stride = stride}, folded);
  }
  return Relu(b, b.Node("Add", {y, shortcut}));
}

}  // namespace

Network BuildResNet(const std::string& name, const Options& options) {
  const Stages* stages = kResNets;
  while (name != stages->name) ++stages;
  const bool folded = options.Choice("norm", {"folded", "kept"}) == "folded";

  Builder b(name, options.Opset(17), options.Type());
  Value x = b.Input("image", b.dtype(), {"batch", 3, 224, 224});
  x = Relu(b, ConvNorm(b, "conv1", "bn1", x,
                       {.in = 3, .out = 64, .kernel = 7, .stride = 2, .pad = 3}, folded));
  x = MaxPool(b, x, 3, 2, 1);
  std::int64_t in = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const Builder::Scope layer = b.In("layer" + std::to_string(stage + 1));
    const std::int64_t width = 64 << stage;
    for (int block = 0; block < stages->blocks[static_cast<std::size_t>(stage)]; ++block) {
      const Builder::Scope scope = b.In(std::to_string(block));
      const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      x = Block(b, x, in, width, stride, *stages, folded);
      in = stages->bottleneck ? 4 * width : width;
    }
  }
  x = b.Node("Flatten", {b.Node("GlobalAveragePool", {x})}, {{"axis", 1}});
  b.Output(Affine(b, "fc", x, in, 1000), "logits", b.dtype(), {"batch", 1000});
  return b.Finish();
}

}  // namespace dlcost::networks
