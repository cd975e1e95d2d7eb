// Which way of a convolution libraries take on vector units.
#include <gtest/gtest.h>

#include "estimator/roofline/run.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

struct Filter {
  std::int64_t images, channels, filters, edge;
};

KernelRun Filtered(const char* gpu, const Filter& f, DType type = DType::kFloat32,
                   const RunOptions& options = {}) {
  ConvNest nest{.batch = f.images, .in_channels = f.channels, .out_channels = f.filters};
  for (int i = 0; i < 2; ++i) {
    nest.axes.push_back({.in = f.edge, .out = f.edge, .kernel = 3, .stride = 1, .pad_begin = 1});
  }
  const Device device = DeviceOf(gpu);
  return Runner(&device, options).Run(Alone(nest, type));
}

// On a T4, whose ridge point is 8.1e12 / 320e9 = 25.3 FLOP/byte, in GFLOP as conv_ranking.cc ranks:
//   512 x 512 of 7 x 7: 64 images 15.1 as product, 22 fused, 7.4 staged; one image 1.6, 0.34, 21
//   16 x 256 of 28 x 28, 16 images: 0.92, 1.8, 2.5
TEST(ConvRanking, WeighsWhatEachWayExecutesAndDoesBeside) {
  const auto algorithm = [](const Filter& f) { return Filtered("t4", f).execution->algorithm; };
  EXPECT_EQ(algorithm({64, 512, 512, 7}), Algorithm::kWinogradNonfused);
  EXPECT_EQ(algorithm({1, 512, 512, 7}), Algorithm::kWinograd);
  EXPECT_EQ(algorithm({16, 16, 256, 28}), Algorithm::kImplicitGemm);
  EXPECT_EQ(Filtered("t4", {16, 16, 256, 28}).runner_up, "winograd");
}

// Where bytes cost more, transforms pay less: an L4's ridge point is four times a T4's. 64 images
// of 14 x 14, 128 x 128 filters: 3.7 as product; fused 2.9 on a T4, 4.8 on an L4; staged 3.7
// and 11.
TEST(ConvRanking, KnowsWhatBytesCost) {
  const Filter filter{64, 128, 128, 14};
  EXPECT_EQ(Filtered("t4", filter).execution->algorithm, Algorithm::kWinograd);
  EXPECT_EQ(Filtered("l4", filter).execution->algorithm, Algorithm::kImplicitGemm);
}

// Halves of a P100 have half the bytes and are added up in fp32: 32 images take 4.7 fused and 3.7
// staged, where with a ridge point of halves 5.2 and 5.6 would be.
TEST(ConvRanking, CountsAnElementsBytes) {
  const Filter filter{32, 256, 256, 14};
  EXPECT_EQ(Filtered("p100-pcie-16gb", filter, DType::kFloat16).execution->algorithm,
            Algorithm::kWinogradNonfused);
}

// Where matrix units run the product, transforms gain nothing.
TEST(ConvRanking, LeavesTf32ToProducts) {
  const RunOptions tf32{.math = MathMode::kTf32};
  EXPECT_EQ(Filtered("a10", {64, 512, 512, 7}, DType::kFloat32, tf32).execution->algorithm,
            Algorithm::kImplicitGemm);
}

// Tiles that leave units idle share no k: 2 x 14 of them for 40 units. They have 128 x 64 elements,
// but 128 x 32 where those pad a good deal less: 882 filters pad to 896 in both, 70 to 128 and 96.
TEST(ConvRanking, KeepsKWholeAndPadsLittle) {
  const auto grid = [](std::int64_t filters) {
    return *Filtered("t4", {2, 3, filters, 9}).execution->Grid();
  };
  EXPECT_EQ(grid(882).split_k, Count(1));
  EXPECT_EQ(grid(882).Blocks(), Count(2 * 14));
  EXPECT_EQ(grid(882).tile_n, Count(64));
  EXPECT_EQ(grid(70).tile_n, Count(32));
}

// Where all ways were timed the fastest runs, which may share k: 512 channels of 2 x 2 positions
// are one tile for 40 units.
TEST(ConvRanking, TakesTheFastestThatWasTimed) {
  const RunOptions timed{.timed_convolutions = true};
  const auto seconds = [](const KernelRun& run) { return run.expected->time.expected; };
  for (const Filter& filter : {Filter{64, 512, 512, 7}, {1, 512, 512, 7}, {16, 16, 256, 28}}) {
    EXPECT_LE(seconds(Filtered("t4", filter, DType::kFloat32, timed)),
              seconds(Filtered("t4", filter)));
  }
  const KernelRun few = Filtered("t4", {1, 512, 64, 2}, DType::kFloat32, timed);
  EXPECT_GT(few.execution->Grid()->split_k, Count(1));
  EXPECT_LT(seconds(few), seconds(Filtered("t4", {1, 512, 64, 2})));
}

}  // namespace
}  // namespace dlcost
