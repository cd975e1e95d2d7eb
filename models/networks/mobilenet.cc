#include "models/networks/families.h"
#include "models/networks/layers.h"

namespace dlcost::networks {
namespace {

struct MobileNetStage {
  std::int64_t expansion;
  std::int64_t channels;
  int blocks;
  std::int64_t stride;  // of the first block
};
// Table 2 of Sandler et al., "MobileNetV2: inverted residuals and linear bottlenecks",
// arXiv 1801.04381.
constexpr MobileNetStage kMobileNetStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2},
                                               {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2},
                                               {6, 320, 1, 1}};

Value Relu6(Builder& b, const Value& x) {
  return b.Node("Clip", {x, b.Scalar(0.0f), b.Scalar(6.0f)});
}

Value InvertedResidual(Builder& b, const Value& x, std::int64_t in, std::int64_t out,
                       std::int64_t stride, std::int64_t expansion) {
  const std::int64_t hidden = in * expansion;
  Value y = x;
  if (expansion != 1) {
    y = Relu6(b, Conv(b, "expand", y, {.in = in, .out = hidden, .kernel = 1}));
  }
  y = Relu6(
      b,
      Conv(
          b, "depthwise", y,
          {.in = hidden, .out = hidden, .kernel = 3, .stride = stride, .pad = 1, .group = hidden}));
  y = Conv(b, "project", y, {.in = hidden, .out = out, .kernel = 1});
  return stride == 1 && in == out ? b.Node("Add", {x, y}) : y;
}

}  // namespace

// Batch normalization is folded into the convolutions.
Network BuildMobileNetV2(const std::string& name, const Options& options) {
  Builder b(name, options.Opset(17), options.Type());
  Value x = b.Input("image", b.dtype(), {"batch", 3, 224, 224});
  {
    const Builder::Scope features = b.In("features");
    x = Relu6(b, Conv(b, "0", x, {.in = 3, .out = 32, .kernel = 3, .stride = 2, .pad = 1}));
    std::int64_t in = 32;
    int index = 1;
    for (const MobileNetStage& stage : kMobileNetStages) {
      for (int block = 0; block < stage.blocks; ++block, ++index) {
        const Builder::Scope scope = b.In(std::to_string(index));
        x = InvertedResidual(b, x, in, stage.channels, block == 0 ? stage.stride : 1,
                             stage.expansion);
        in = stage.channels;
      }
    }
    x = Relu6(b, Conv(b, std::to_string(index), x, {.in = in, .out = 1280, .kernel = 1}));
  }
  x = b.Node("Flatten", {b.Node("GlobalAveragePool", {x})}, {{"axis", 1}});
  b.Output(Affine(b, "classifier", x, 1280, 1000), "logits", b.dtype(), {"batch", 1000});
  return b.Finish();
}

}  // namespace dlcost::networks
