#include "models/networks/families.h"
#include "models/networks/layers.h"

namespace dlcost::networks {

// The one-column AlexNet of Krizhevsky, "One weird trick for parallelizing convolutional neural
// networks", arXiv 1404.5997, without normalization, on 227x227 images. TensorFlow's benchmarks
// have 384 channels in conv4 and 1001 classes.
Network BuildAlexNet(const std::string& name, const Options& options) {
  const std::int64_t conv4 = options.Size("conv4"), classes = options.Size("classes");
  Builder b(name, options.Opset(17), options.Type());
  Value x = b.Input("image", b.dtype(), {"batch", 3, 227, 227});
  x = MaxPool(b, Relu(b, Conv(b, "conv1", x, {.in = 3, .out = 64, .kernel = 11, .stride = 4})), 3,
              2);
  x = MaxPool(b, Relu(b, Conv(b, "conv2", x, {.in = 64, .out = 192, .kernel = 5, .pad = 2})), 3, 2);
  x = Relu(b, Conv(b, "conv3", x, {.in = 192, .out = 384, .kernel = 3, .pad = 1}));
  x = Relu(b, Conv(b, "conv4", x, {.in = 384, .out = conv4, .kernel = 3, .pad = 1}));
  x = Relu(b, Conv(b, "conv5", x, {.in = conv4, .out = 256, .kernel = 3, .pad = 1}));
  x = b.Node("Flatten", {MaxPool(b, x, 3, 2)}, {{"axis", 1}});
  x = Relu(b, Affine(b, "fc6", x, 9216, 4096));
  x = Relu(b, Affine(b, "fc7", x, 4096, 4096));
  b.Output(Affine(b, "fc8", x, 4096, classes), "logits", b.dtype(), {"batch", classes});
  return b.Finish();
}

}  // namespace dlcost::networks
