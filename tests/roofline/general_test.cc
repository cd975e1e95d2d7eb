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

// What `explain` prints adds up: each term is what those below it combine to.
TEST(GeneralKernels, ExplainThemselves) {
  const Device device = DeviceOf("h200");
  PlanOptions options{.fusion = Fusion::kDefault, .fuses = {}};
  options.fuses.Add(FusionStep::kViews);
  for (const char* op : {"LayerNormalization", "Softmax", "Add"}) {
    for (const int rows : {37, 50000}) {
      SmallModel small;
      small.Input("x", {rows, 768}).Weight("a", {768}).Output("y");
      if (op == std::string("Softmax")) {
        small.Node(op, {"x"}, {"y"});
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
  EXPECT_EQ(Convolved(1, MathMode::kTf32).launches, Count(1));
  const KernelRun run = Convolved(3, MathMode::kTf32);
  ASSERT_EQ(run.execution->stages.size(), 3U);
  EXPECT_EQ(run.execution->stages[0].transposed, Count(8 * 64 * 56 * 56));
  EXPECT_EQ(run.execution->stages[1].transposed, Count(64 * 64 * 32));  // nine taps
}

TEST(GeneralKernels, TakeNoWinogradOnAHopper) {
  EXPECT_EQ(Convolved(3, MathMode::kDefault).execution->algorithm, Algorithm::kImplicitGemm);
}

}  // namespace
}  // namespace dlcost
