// Devices whose library is not known: sizes beside each other take about as long, and narrower
// types no longer.
#include <gtest/gtest.h>

#include "estimator/roofline/run.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

double SecondsOn(const char* name, const LoopNest& nest, DType type) {
  const Device device = DeviceOf(name);
  return Runner(&device, {}).Run(Alone(nest, type)).expected->time.expected;
}

// One token's product: in halves a CDNA 3 moves half as much.
TEST(GenericLibrary, OneRowInHalvesTakesNoLongerThanInFloats) {
  const GemmNest row{.m = 1, .n = 4096, .k = 4096, .b_is_weight = true};
  EXPECT_LE(SecondsOn("mi300x", row, DType::kFloat16), SecondsOn("mi300x", row, DType::kFloat32));
}

// 128 rows of a tile are no slower than 129.
TEST(GenericLibrary, ProductsDoNotFallBehindATile) {
  const auto seconds = [](int rows) {
    const GemmNest nest{.m = rows, .n = 768, .k = 768, .b_is_weight = true};
    return SecondsOn("max-1550", nest, DType::kFloat32);
  };
  EXPECT_LE(seconds(128), seconds(129));
}

// The last stage of a ResNet-50 of two images and of three.
TEST(GenericLibrary, ConvolutionsFillTheUnits) {
  const auto seconds = [](const char* device, int images) {
    const ConvAxis axis{.in = 7, .out = 7, .kernel = 3, .pad_begin = 1, .pad_end = 1};
    const ConvNest nest{
        .batch = images, .in_channels = 512, .out_channels = 512, .axes = {axis, axis}};
    return SecondsOn(device, nest, DType::kFloat32);
  };
  for (const char* device : {"max-1550", "rx-7900-xtx", "m3-ultra-80c"}) {
    EXPECT_LE(seconds(device, 2), 1.001 * seconds(device, 3)) << device;
  }
}

}  // namespace
}  // namespace dlcost
