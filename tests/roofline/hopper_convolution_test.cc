// Convolutions of cuDNN 9 on an H100: times that graphs of many calls took there
// (bench/published/h100/conv.csv), and kernels of networks (kernels.csv).
#include <gtest/gtest.h>

#include "estimator/roofline/run.h"
#include "tests/infer/small_model.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

constexpr int kHalves = onnx::TensorProto::FLOAT16, kFloats = onnx::TensorProto::FLOAT;

// Square images and filters.
struct ImageSizes {
  int images, channels, side, filters, taps, stride, pad;
};

KernelRun OnHopper(const ImageSizes& s, int type, const RunOptions& options) {
  SmallModel small;
  small.Input("x", {s.images, s.channels, s.side, s.side}, type)
      .Weight("w", {s.filters, s.channels, s.taps, s.taps}, type)
      .Output("y");
  onnx::NodeProto& node = small.AddNode("Conv", {"x", "w"}, {"y"});
  SetInts(node, "strides", {s.stride, s.stride});
  SetInts(node, "pads", {s.pad, s.pad, s.pad, s.pad});
  const Device device = DeviceOf("h100-sxm5");
  const Plan plan = MakePlan(small.Infer(), {.fusion = Fusion::kDefault});
  return Runner(&device, options).Run(plan.kernels.back());
}

double TimeOf(const KernelRun& run) { return 1e6 * run.expected->time.expected; }

constexpr RunOptions kLast{.converts = false, .odd_rows = true};  // channels last, as they lie
constexpr RunOptions kPadded{.converts = false, .odd_rows = false};
constexpr RunOptions kFirst{.odd_rows = true};  // channels first, as they lie

// Kernels pad the channels of 26.7 us: input, filters, and cut the result back.
TEST(HopperConvolution, PadsChannelsThatAreNoWholePieces) {
  const ImageSizes odd{22, 34, 22, 101, 3, 1, 1};
  const KernelRun run = OnHopper(odd, kHalves, kLast);
  EXPECT_EQ(run.launches, Count(4));
  EXPECT_NEAR(TimeOf(run), 26.7, 6);
  ASSERT_EQ(run.execution->stages.size(), 4U);
  EXPECT_EQ(run.execution->stages[0].padded, Count(22 * 22 * 22));
  EXPECT_EQ(run.execution->stages[0].extra_read, Bytes(2LL * 22 * 22 * 22 * 34));
  EXPECT_EQ(run.execution->stages[0].extra_written, Bytes(2LL * 22 * 22 * 22 * 40));
  EXPECT_EQ(run.execution->stages[1].extra_written, Bytes(2LL * 101 * 9 * 40));
  EXPECT_EQ(run.execution->stages[3].extra_read, Bytes(2LL * 22 * 22 * 22 * 104));
  EXPECT_EQ(OnHopper(odd, kHalves, kPadded).launches, Count(1));
  EXPECT_EQ(OnHopper({50, 11, 127, 102, 5, 1, 2}, kHalves, kLast).launches, Count(4));
  EXPECT_NEAR(TimeOf(OnHopper({50, 11, 127, 102, 5, 1, 2}, kHalves, kLast)), 847, 170);
  EXPECT_EQ(OnHopper({4, 56, 11, 331, 3, 2, 1}, kHalves, kLast).launches, Count(3));  // no input
  EXPECT_EQ(OnHopper({12, 3, 55, 128, 7, 2, 3}, kHalves, kLast).launches, Count(1));  // an image
}

// A tap of 8 channels takes as many steps as one of 32.
TEST(HopperConvolution, WalksEachTapInWholeSteps) {
  const auto seconds = [](int channels) {
    return TimeOf(OnHopper({127, channels, 101, 352, 3, 1, 1}, kHalves, kPadded));
  };
  EXPECT_NEAR(seconds(8), 962, 320);
  EXPECT_GT(seconds(8), 0.95 * seconds(32));
  EXPECT_GT(seconds(97), 1.2 * seconds(96));
}

// What a tap walks is executed, not only timed: 8 channels as 32, in a tile 64 deep.
TEST(HopperConvolution, ExecutesWhatItWalks) {
  const KernelRun run = OnHopper({127, 8, 101, 352, 3, 1, 1}, kHalves, kPadded);
  EXPECT_EQ(run.execution->Grid()->k, Count(9 * 8));
  EXPECT_EQ(run.execution->Grid()->walked, Count(9 * 32));
  EXPECT_EQ(run.execution->Grid()->padded_k(), Count(320));
  EXPECT_GE(run.execution->On(Pipe::kTensor).fma, Count(127LL * 101 * 101 * 352 * 320));
  const KernelRun first = OnHopper({16, 3, 224, 64, 7, 2, 3}, kHalves, kLast);
  EXPECT_EQ(first.execution->Grid()->walked, Count(0));
}

// Of images in halves vector units take the planes as they lie: 31.6 us of MobileNetV2, 57 us of
// 64 filters. The first layer of ResNets has a kernel of its own.
TEST(HopperConvolution, TakesImagesAsTheyLie) {
  const KernelRun first = OnHopper({16, 3, 224, 32, 3, 2, 1}, kHalves, kFirst);
  EXPECT_EQ(first.launches, Count(1));
  EXPECT_NEAR(TimeOf(first) - 1e6 * first.expected->launch, 31.6, 6);
  EXPECT_NEAR(TimeOf(OnHopper({16, 3, 224, 64, 3, 2, 1}, kHalves, kFirst)), 57, 12);
  const ImageSizes resnet{16, 3, 224, 64, 7, 2, 3};
  EXPECT_EQ(OnHopper(resnet, kHalves, kFirst).launches, Count(4));  // there, and back
  EXPECT_NEAR(TimeOf(OnHopper(resnet, kHalves, kLast)), 30.8, 12);
}

// In float32 no sum is shared out, however few tiles there are.
TEST(HopperConvolution, KeepsSumsOfFloatsWhole) {
  const KernelRun few = OnHopper({1, 384, 49, 16, 3, 2, 1}, kFloats, kFirst);
  EXPECT_EQ(few.algorithm, "implicit_gemm 32x32");
  EXPECT_EQ(few.execution->Grid()->Blocks(), Count(20));
  EXPECT_NEAR(TimeOf(few), 86.5, 15);
  const KernelRun many = OnHopper({55, 576, 67, 144, 3, 2, 1}, kFloats, kFirst);
  EXPECT_EQ(many.execution->Grid()->Blocks(), Count(747));  // of 256 x 64
  EXPECT_NEAR(TimeOf(many), 3007, 500);
}

// Filters that are no whole pieces take 9 us to convert, those beside them less than three: HRNet's
// 18 of 18 channels of 16 images (10 us and 7 us beside conversions).
TEST(HopperConvolution, ConvertsOddFiltersByAKernelForAnyLayouts) {
  const KernelRun odd = OnHopper({16, 18, 56, 18, 3, 1, 1}, kHalves, kFirst);
  const KernelRun even = OnHopper({16, 18, 56, 24, 3, 1, 1}, kHalves, kFirst);
  ASSERT_EQ(odd.execution->stages.size(), 4U);
  EXPECT_TRUE(odd.execution->stages[1].generic);
  EXPECT_FALSE(odd.execution->stages[0].generic);
  EXPECT_FALSE(even.execution->stages[1].generic);
  EXPECT_NEAR(TimeOf(odd) - TimeOf(even), 7.5, 1.5);
}

// A filter of one tap over planes of `side` squared positions, under TF32.
KernelRun OfOneTap(int images, int in, int out, int side) {
  return OnHopper({images, in, side, out, 1, 1, 0}, kFloats, {.math = MathMode::kTf32});
}

// Of planes of an odd number of positions cuDNN 9 makes slow products, or converts them.
TEST(HopperConvolution, MultipliesPlanesAsTheyLie) {
  EXPECT_NEAR(TimeOf(OfOneTap(16, 256, 64, 56)), 21.4, 7);
  EXPECT_NEAR(TimeOf(OfOneTap(16, 160, 960, 18)), 21.9, 6);
  const KernelRun odd = OfOneTap(16, 2048, 512, 7);
  EXPECT_NEAR(TimeOf(odd), 19.9, 6);
  EXPECT_EQ(odd.launches, Count(3));                       // there, and back
  EXPECT_EQ(OfOneTap(16, 512, 64, 1).launches, Count(1));  // of one position there is one order
}

TEST(HopperConvolution, MultipliesThePlaneOfOneImageAsThoseOfSeveral) {
  EXPECT_NEAR(TimeOf(OfOneTap(2, 512, 512, 128)) / TimeOf(OfOneTap(1, 512, 512, 128)), 2, 0.2);
}

// TF32 pads odd channels as halves do, where earlier libraries leave them to vector units.
TEST(HopperConvolution, PadsOddChannelsForMatrixUnits) {
  RunOptions options = kLast;
  options.math = MathMode::kTf32;
  const KernelRun run = OnHopper({30, 131, 46, 114, 3, 1, 1}, kFloats, options);
  EXPECT_EQ(run.launches, Count(4));
  EXPECT_GT(run.execution->On(Pipe::kTensor).fma, Count(0));
}

}  // namespace
}  // namespace dlcost
