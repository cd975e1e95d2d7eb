#include "models/networks/families.h"
#include "models/networks/layers.h"

namespace dlcost::networks {

// Configurations D and E of Simonyan and Zisserman, "Very deep convolutional networks for
// large-scale image recognition", arXiv 1409.1556. Module names count layers as torchvision does.
Network BuildVgg(const std::string& name, const Options& options) {
  const int deep = name == "vgg19" ? 4 : 3;  // convolutions in each of the last three stages
  const int convolutions[] = {2, 2, deep, deep, deep};
  const std::int64_t channels[] = {64, 128, 256, 512, 512};

  Builder b(name, options.Opset(17), options.Type());
  Value x = b.Input("image", b.dtype(), {"batch", 3, 224, 224});
  std::int64_t in = 3;
  {
    const Builder::Scope features = b.In("features");
    int index = 0;
    for (int stage = 0; stage < 5; ++stage) {
      for (int i = 0; i < convolutions[stage]; ++i) {
        x = Relu(b, Conv(b, std::to_string(index), x,
                         {.in = in, .out = channels[stage], .kernel = 3, .pad = 1}));
        in = channels[stage];
        index += 2;
      }
      x = MaxPool(b, x, 2, 2);
      ++index;
    }
  }
  x = b.Node("Flatten", {x}, {{"axis", 1}});
  {
    const Builder::Scope classifier = b.In("classifier");
    x = Relu(b, Affine(b, "0", x, 512 * 7 * 7, 4096));
    x = Relu(b, Affine(b, "3", x, 4096, 4096));
    x = Affine(b, "6", x, 4096, 1000);
  }
  b.Output(x, "logits", b.dtype(), {"batch", 1000});
  return b.Finish();
}

}  // namespace dlcost::networks
