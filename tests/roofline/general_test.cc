// A framework's own kernels on an H200: times that PyTorch 2.11's profiler told, of networks
// (bench/published/h200/kernels.csv).
#include <gtest/gtest.h>

#include "estimator/roofline/run.h"
#include "tests/infer/small_model.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

constexpr int kHalf = onnx::TensorProto::FLOAT16, kFloat = onnx::TensorProto::FLOAT;

// Microseconds of the last kernel as eager PyTorch runs it, its launch left out.
double Microseconds(const SmallModel& small, FusionSet fuses) {
  const Device device = DeviceOf("h200");
  PlanOptions options{.fusion = Fusion::kDefault, .fuses = fuses};
  const Plan plan = MakePlan(small.Infer(), options);
  const KernelRun run = Runner(&device, {.bias_apart = true}).Run(plan.kernels.back());
  return 1e6 * (run.expected->time.expected - run.expected->launch);
}

double Eager(const SmallModel& small) {
  FusionSet views;
  views.Add(FusionStep::kViews);
  return Microseconds(small, views);
}

TEST(GeneralKernels, FindThePlaceOfWhatIsStretched) {
  const auto added = [](std::vector<SmallModel::Extent> first,
                        std::vector<SmallModel::Extent> second, int type) {
    SmallModel small;
    small.Input("x", std::move(first), type).Input("z", std::move(second), type).Output("y");
    return Eager(small.Node("Add", {"x", "z"}, {"y"}));
  };
  EXPECT_NEAR(added({64, 512, 768}, {1, 512, 768}, kHalf), 64.5, 15);
  EXPECT_NEAR(added({64, 64, 224, 224}, {1, 64, 1, 1}, kHalf), 617, 90);
  EXPECT_NEAR(added({32, 64, 224, 224}, {1, 64, 1, 1}, kFloat), 321, 50);
  EXPECT_NEAR(added({64, 256, 56, 56}, {64, 256, 56, 56}, kHalf), 70.5, 10);  // alike
}

TEST(GeneralKernels, PoolAndNormalizeImages) {
  const auto pooled = [](int side, int kernel, int pad, int type) {
    SmallModel small;
    small.Input("x", {64, 64, side, side}, type).Output("y");
    onnx::NodeProto& node = small.AddNode("MaxPool", {"x"}, {"y"});
    SetInts(node, "kernel_shape", {kernel, kernel});
    SetInts(node, "strides", {2, 2});
    SetInts(node, "pads", {pad, pad, pad, pad});
    return Eager(small);
  };
  EXPECT_NEAR(pooled(224, 2, 0, kHalf), 615, 60);
  EXPECT_NEAR(pooled(112, 3, 1, kHalf), 210, 20);
  const auto normalized = [](int channels, int side) {
    SmallModel small;
    small.Input("x", {32, channels, side, side}).Output("y");
    for (const char* name : {"a", "b", "c", "d"}) small.Weight(name, {channels});
    return Eager(small.Node("BatchNormalization", {"x", "a", "b", "c", "d"}, {"y"}));
  };
  EXPECT_NEAR(normalized(256, 56), 73.6, 10);
  EXPECT_NEAR(normalized(512, 28), 40.9, 5);
  EXPECT_NEAR(normalized(2048, 7), 41.2, 5);  // a block for each channel of 49
}

// bench/published/h100/kernels.csv, of what is transposed innermost.
TEST(GeneralKernels, BringASectorForEachElementThatLiesAcross) {
  const auto copied = [](int images, int rows, int columns, int type) {
    SmallModel small;
    small.Input("x", {images, columns, rows}, type).Output("y");
    SetInts(small.AddNode("Transpose", {"x"}, {"t"}), "perm", {0, 2, 1});
    SmallModel& whole = small.Node("Softmax", {"t"}, {"y"});
    const Plan plan = MakePlan(whole.Infer(), [] {
      PlanOptions options{.fusion = Fusion::kDefault, .fuses = {}};
      options.fuses.Add(FusionStep::kViews);
      return options;
    }());
    const Device device = DeviceOf("h100-sxm5");
    return 1e6 * Runner(&device, {}).Run(plan.kernels.front()).expected->time.expected;
  };
  EXPECT_NEAR(copied(16, 196, 768, kHalf), 19.2, 3);
  EXPECT_NEAR(copied(16, 196, 768, kFloat), 19.7, 3);
  EXPECT_NEAR(copied(4, 196, 768, kHalf), 6, 1);
}

// Halves whose statistics are halves as well: PyTorch's own kernels, and two for the statistics. In
// bfloat16 always, and in training one block for each channel (bench/published/h100/kernels.csv).
TEST(GeneralKernels, NormalizeBatchesThemselves) {
  const auto normalized = [](int images, int channels, int side, int type, bool trains) {
    SmallModel small;
    small.Input("x", {images, channels, side, side}, type).Output("y");
    for (const char* name : {"a", "b", "c", "d"}) small.Weight(name, {channels}, type);
    onnx::NodeProto& node = small.AddNode("BatchNormalization", {"x", "a", "b", "c", "d"}, {"y"});
    if (trains) SetInt(node, "training_mode", 1);
    return Eager(small);
  };
  EXPECT_NEAR(normalized(16, 256, 56, kHalf, false), 30.6 + 3.7, 4);
  EXPECT_NEAR(normalized(16, 2048, 7, kHalf, false), 21.4 + 3.7, 4);
  EXPECT_NEAR(normalized(128, 64, 56, onnx::TensorProto::BFLOAT16, true), 383 + 66, 60);
  EXPECT_NEAR(normalized(128, 64, 112, onnx::TensorProto::BFLOAT16, true), 1339 + 232, 200);
}

// Rows without pixels are one place each, not one block each.
TEST(GeneralKernels, NormalizeRowsInOnePass) {
  SmallModel small;
  small.Input("x", {3136, 1280}, kHalf).Output("y");
  for (const char* name : {"a", "b", "c", "d"}) small.Weight(name, {1280}, kFloat);
  EXPECT_LT(Eager(small.Node("BatchNormalization", {"x", "a", "b", "c", "d"}, {"y"})), 7);
}

// Means over the pixels of images, and of rows of floats: a norm of them is the same kernel.
TEST(GeneralKernels, ReduceRowsInBlocks) {
  const auto reduced = [](const char* op, std::vector<SmallModel::Extent> dims,
                          std::vector<std::int64_t> axes, int type) {
    SmallModel small(18);
    small.Input("x", std::move(dims), type).Ints("axes", std::move(axes)).Output("y");
    return Eager(small.Node(op, {"x", "axes"}, {"y"}));
  };
  for (const char* op : {"ReduceMean", "ReduceL2", "ReduceMax"}) {
    EXPECT_NEAR(reduced(op, {64, 1280, 7, 7}, {2, 3}, kHalf), 20.9 - 1.9, 2) << op;
    EXPECT_NEAR(reduced(op, {64, 2048, 7, 7}, {2, 3}, kHalf), 32.0 - 1.9, 2) << op;
    EXPECT_NEAR(reduced(op, {64, 256, 768}, {2}, kFloat), 17.9 - 1.9, 5) << op;
    EXPECT_NEAR(reduced(op, {1, 512, 2048}, {2}, kFloat), 5.7 - 1.9, 1) << op;
  }
}

// Depthwise convolutions of PyTorch's own and of cuDNN, one way and the other
// (bench/published/h100/kernels.csv).
TEST(GeneralKernels, ConvolveChannelByChannel) {
  const auto convolved = [](int channels, int side, int stride, DType type, bool back,
                            bool of_weights) {
    const std::int64_t out = side / stride;
    const ConvAxis axis{.in = back ? out : side,
                        .out = back ? side : out,
                        .kernel = 3,
                        .stride = stride,
                        .pad_begin = 1,
                        .pad_end = 1};
    Kernel kernel = Alone(ConvNest{.batch = of_weights || back ? 64 : 16,
                                   .groups = channels,
                                   .in_channels = channels,
                                   .out_channels = channels,
                                   .axes = {axis, axis},
                                   .transposed = back,
                                   .of_weights = of_weights},
                          type);
    kernel.general = true;
    const Device device = DeviceOf("h100-sxm5");
    return 1e6 * Runner(&device, {}).Run(kernel).expected->time.expected;
  };
  EXPECT_NEAR(convolved(960, 18, 1, DType::kFloat32, false, false), 46.8, 6);
  EXPECT_NEAR(convolved(960, 18, 1, DType::kFloat16, false, false), 14, 4);  // cuDNN's
  EXPECT_NEAR(convolved(144, 56, 2, DType::kFloat16, false, false), 19.7, 4);
  EXPECT_NEAR(convolved(144, 56, 1, DType::kFloat32, true, false), 514, 40);
  EXPECT_NEAR(convolved(144, 56, 1, DType::kFloat32, false, true), 414, 40);
}

// What a layer of timm's ConvMixer-1024/20 leaves to its filter of 9 x 9 on an RTX 3090 beside the
// rest of the network (bench/timm.py): 34.4 ms for 1024 images of 16 x 16.
TEST(GeneralKernels, DoNotUnrollFiltersOfOtherSizes) {
  const ConvAxis axis{.in = 16, .out = 16, .kernel = 9, .pad_begin = 4, .pad_end = 4};
  Kernel kernel = Alone(ConvNest{.batch = 1024,
                                 .groups = 1024,
                                 .in_channels = 1024,
                                 .out_channels = 1024,
                                 .axes = {axis, axis}},
                        DType::kFloat16);
  kernel.general = true;
  const Device device = DeviceOf("rtx-3090");
  EXPECT_NEAR(1e3 * Runner(&device, {}).Run(kernel).expected->time.expected, 34.4, 4);
}

TEST(GeneralKernels, WaitInBothPassesOfANormalization) {
  const auto normalized = [](int rows, int columns, int type) {
    SmallModel small;
    small.Input("x", {rows, columns}, type).Weight("a", {columns}, type);
    small.Weight("b", {columns}, type).Output("y");
    SetInt(small.AddNode("LayerNormalization", {"x", "a", "b"}, {"y"}), "axis", -1);
    return small;
  };
  EXPECT_NEAR(Eager(normalized(50176, 192, kHalf)), 66.7, 15);
  EXPECT_NEAR(Eager(normalized(16384, 768, kFloat)), 49, 15);
  EXPECT_NEAR(Eager(normalized(37, 5248, kHalf)), 8.6 - 1.7, 1);  // one block's way
  // Inductor's holds a row in registers: 2.3 us with 1,024 of them.
  EXPECT_LT(Microseconds(normalized(1024, 768, kHalf), FusionSet::Compilers()), 2.3);
}

// A framework fills what it pads, then copies into it: two kernels, of which the second writes
// again what the first has written.
TEST(GeneralKernels, FillWhatTheyPad) {
  SmallModel small;
  small.Input("x", {64, 64, 56, 56}).Ints("pads", {0, 0, 1, 1, 0, 0, 1, 1}).Output("y");
  small.Node("Pad", {"x", "pads"}, {"y"});
  const Device device = DeviceOf("v100-pcie-32gb");
  PlanOptions options{.fusion = Fusion::kDefault, .fuses = {}};
  options.fuses.Add(FusionStep::kViews);
  const Plan plan = MakePlan(small.Infer(), options);
  const KernelRun run = Runner(&device, {}).Run(plan.kernels.back());
  EXPECT_EQ(run.launches, Count(2));
  EXPECT_EQ(run.execution->ExtraWritten(), Bytes(64 * 64 * 58 * 58 * 4));
}

// What `explain` prints adds up: each term is what those below it combine to.
TEST(GeneralKernels, ExplainThemselves) {
  const Device device = DeviceOf("h200");
  PlanOptions options{.fusion = Fusion::kDefault, .fuses = {}};
  options.fuses.Add(FusionStep::kViews);
  for (const char* op : {"LayerNormalization", "Softmax", "Add", "Pad"}) {
    for (const int rows : {37, 50000}) {
      SmallModel small;
      small.Input("x", {rows, 768}).Weight("a", {768}).Output("y");
      if (op == std::string("Softmax")) {
        small.Node(op, {"x"}, {"y"});
      } else if (op == std::string("Pad")) {
        small.Ints("pads", {1, 0, 1, 0}).Node(op, {"x", "pads"}, {"y"});
      } else {
        small.Node(op, {"x", "a"}, {"y"});
      }
      const Plan plan = MakePlan(small.Infer(), options);
      const KernelRun run = Runner(&device, {.explain = true}).Run(plan.kernels.back());
      const std::vector<TimeTerm>& terms = run.expected->terms;
      ASSERT_FALSE(terms.empty());
      for (std::size_t i = 0; i < terms.size(); ++i) {
        if (!terms[i].IsTime()) continue;
        EXPECT_NEAR(Combined(terms, i), terms[i].value, 1e-9 * terms[i].value)
            << op << " " << rows << " " << terms[i].what;
      }
    }
  }
}

// Images of 64 channels of 56 x 56 under TF32, `taps` wide.
KernelRun Convolved(int taps, MathMode math) {
  SmallModel small;
  small.Input("x", {8, 64, 56, 56}).Weight("w", {64, 64, taps, taps}).Output("y");
  const int pad = taps / 2;
  SetInts(small.AddNode("Conv", {"x", "w"}, {"y"}), "pads", {pad, pad, pad, pad});
  const Device device = DeviceOf("h200");
  const Plan plan = MakePlan(small.Infer(), {.fusion = Fusion::kDefault});
  return Runner(&device, {.math = math}).Run(plan.kernels.back());
}

// cuDNN 9: products of what lies channels first, and what is transposed in blocks of 32 channels
// and positions.
TEST(GeneralKernels, ConvertImagesForFiltersOfSeveralTaps) {
  const KernelRun one = Convolved(1, MathMode::kTf32);
  EXPECT_EQ(one.launches, Count(1));
  EXPECT_EQ(one.execution->Grid()->batch, Count(8));  // a product for each image
  EXPECT_EQ(one.execution->Grid()->m, Count(56 * 56));
  const KernelRun run = Convolved(3, MathMode::kTf32);
  ASSERT_EQ(run.execution->stages.size(), 4U);
  EXPECT_EQ(run.execution->stages[0].transposed, Count(8 * 64 * 56 * 56));
  EXPECT_EQ(run.execution->stages[1].transposed, Count(64 * 64 * 32));  // nine taps
}

// Heads with keys and values of their own.
AttentionNest Heads(int batch, int heads, int queries, int keys, int size) {
  return {.batch = batch,
          .q_heads = heads,
          .kv_heads = heads,
          .q_len = queries,
          .kv_len = keys,
          .qk_dim = size,
          .v_dim = size};
}

// cuDNN's attention has as many blocks as units, each of which takes tile after tile: 576 of 128
// queries of DistilBERT, 384 positions of 12 heads of 16 texts in halves, take an H100 24.6 us
// (bench/published/h100/kernels.csv), a third less than is expected. Others start a block for each.
TEST(GeneralKernels, TakeTilesOfAttentionOneAfterTheOther) {
  Kernel kernel = Alone(Heads(16, 12, 384, 384, 64), DType::kFloat16);
  const auto microseconds = [&](const char* gpu, bool general) {
    kernel.general = general;
    const Device device = DeviceOf(gpu);
    return 1e6 * Runner(&device, {}).Run(kernel).expected->time.expected;
  };
  EXPECT_NEAR(microseconds("h100-sxm5", true), 24.6, 9);
  EXPECT_GT(microseconds("h100-sxm5", false), 40);
  EXPECT_EQ(microseconds("a100", true), microseconds("a100", false));  // not cuDNN's
}

// A query of each of 31 x 64 heads walks 1,296 keys in 335 us on an H200, where 658 MB could pass
// in 170; of 2 x 16 heads the keys are shared out (bench/published/h200/attention.csv).
TEST(GeneralKernels, WalkTheKeysOfOneQueryAsThoseOfAPrompt) {
  const auto microseconds = [](int batch, int heads, int keys, int size, AttentionForm form) {
    const Kernel kernel = Alone(Heads(batch, heads, 1, keys, size), DType::kBfloat16);
    const Device device = DeviceOf("h200");
    return 1e6 * Runner(&device, {.attention = form}).Run(kernel).expected->time.expected;
  };
  EXPECT_NEAR(microseconds(31, 64, 1296, 64, AttentionForm::kFlash2), 335, 70);
  EXPECT_NEAR(microseconds(41, 16, 5824, 32, AttentionForm::kFlash2), 390, 60);
  EXPECT_LT(microseconds(31, 64, 1296, 64, AttentionForm::kFlash), 200);
  EXPECT_NEAR(microseconds(2, 16, 4144, 32, AttentionForm::kFlash2), 20.3, 8);
}

// Filters of seven over channels that lie last, as ConvNeXt's permutations leave them: cuDNN's
// kernels for that, though the model's data lie channels first.
TEST(GeneralKernels, TakeChannelsLastAsTheyLie) {
  const auto filtered = [](int images, int channels, int side, int type) {
    SmallModel small;
    small.Input("pixels", {images, side, side, channels}, type)
        .Weight("w", {channels, 1, 7, 7}, type)
        .Output("y");
    SetInts(small.AddNode("Transpose", {"pixels"}, {"x"}), "perm", {0, 3, 1, 2});
    onnx::NodeProto& node = small.AddNode("Conv", {"x", "w"}, {"y"});
    SetInts(node, "pads", {3, 3, 3, 3});
    SetInt(node, "group", channels);
    return Eager(small);
  };
  EXPECT_NEAR(filtered(64, 96, 56, kHalf), 144.7, 20);
  EXPECT_NEAR(filtered(64, 384, 14, kHalf), 46.4, 8);
  EXPECT_NEAR(filtered(8, 768, 7, kHalf), 10.7, 3);
  EXPECT_NEAR(filtered(32, 192, 28, kFloat), 96.7, 12);
  EXPECT_NEAR(filtered(8, 768, 7, kFloat), 11, 3);
}

TEST(GeneralKernels, TakeNoWinogradOnAHopper) {
  EXPECT_EQ(Convolved(3, MathMode::kDefault).execution->algorithm, Algorithm::kImplicitGemm);
}

}  // namespace
}  // namespace dlcost
