// Which operators only look at what they read, where tensors have strides. Views and strides by
// PyTorch 1.13: x.view(...).stride().
#include "estimator/infer/strides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/plan/kernel_memory.h"
#include "tests/infer/small_model.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

using testing::ElementsAre;
using Sizes = std::vector<std::int64_t>;

struct ViewCase {
  Sizes sizes, strides, viewed;
  std::optional<Sizes> expected;
};

TEST(Strides, ViewsAreThoseOfPyTorch) {
  const std::vector<ViewCase> cases = {
      {{2, 3, 4}, {12, 4, 1}, {6, 4}, Sizes{4, 1}},
      {{6, 4}, {1, 6}, {24}, std::nullopt},
      {{8, 12, 64, 64}, {49152, 64, 768, 1}, {96, 64, 64}, std::nullopt},  // heads of 8 sentences
      {{1, 12, 64, 64}, {49152, 64, 768, 1}, {12, 64, 64}, Sizes{64, 768, 1}},  // of one
      {{4, 3}, {1, 4}, {4, 1, 3}, Sizes{1, 12, 4}},
      {{4, 5, 2, 3}, {5, 1, 60, 20}, {20, 6}, Sizes{1, 20}},
      {{4, 5, 2, 3}, {5, 1, 60, 20}, {4, 5, 3, 2}, Sizes{5, 1, 40, 20}},
      {{2, 1, 6}, {6, 6, 1}, {2, 2, 3}, Sizes{6, 3, 1}},
      {{2, 4, 6}, {24, 1, 4}, {2, 4, 2, 3}, Sizes{24, 1, 12, 4}},
      {{10, 4}, {8, 1}, {40}, std::nullopt},  // half of the columns
      {{10, 4}, {8, 1}, {2, 5, 4}, Sizes{40, 8, 1}},
      {{10, 4}, {8, 1}, {5, 8}, std::nullopt},
      {{4, 5, 3}, {3, 0, 1}, {20, 3}, std::nullopt},  // broadcast
      {{4, 5, 3}, {3, 0, 1}, {4, 5, 3, 1}, Sizes{3, 0, 1, 1}},
      {{4, 3}, {3, 1}, {5, 3}, std::nullopt},  // more elements
  };
  for (const ViewCase& c : cases) {
    EXPECT_EQ(ViewedAs(c.sizes, c.strides, c.viewed), c.expected)
        << ToString(Shape(c.sizes)) << " as " << ToString(Shape(c.viewed));
  }
}

Plan PlanOfViews(const InferredModel& model) {
  PlanOptions options{.fusion = Fusion::kDefault, .fuses = {}};
  options.fuses.Add(FusionStep::kViews);
  options.attention_by_default = AttentionForm::kMaterialized;
  return MakePlan(model, options);
}

std::vector<Kernel> Launched(const Plan& plan) {
  std::vector<Kernel> kernels;
  for (const Kernel& kernel : plan.kernels) {
    if (kernel.repeat > Count(0)) kernels.push_back(kernel);
  }
  return kernels;
}

// Heads of 64 of so many sentences: a linear layer's result, cut into heads, times itself.
SmallModel Heads(int batch) {
  SmallModel small;
  small.Input("x", {batch, 16, 128}).Weight("w", {128, 128}).Ints("heads", {0, 0, 2, 64});
  small.Node("MatMul", {"x", "w"}, {"p"}).Node("Reshape", {"p", "heads"}, {"h"});
  SetInts(small.AddNode("Transpose", {"h"}, {"q"}), "perm", {0, 2, 1, 3});
  SetInts(small.AddNode("Transpose", {"h"}, {"k"}), "perm", {0, 2, 3, 1});
  small.Node("MatMul", {"q", "k"}, {"s"}).Output("s");
  return small;
}

// Two dimensions in front of the matrices have to be joined: strides can of one sentence alone.
TEST(Strides, ProductsCopyHeadsOfSeveralSentences) {
  EXPECT_THAT(Labels(PlanOfViews(Heads(1).Infer())), ElementsAre("mat_mul", "mat_mul"));
  EXPECT_THAT(Labels(PlanOfViews(Heads(2).Infer())),
              ElementsAre("mat_mul", "transpose", "transpose", "mat_mul"));
}

TEST(Strides, CallsOfViewsAreCounted) {
  const InferredModel model = Heads(1).Infer();
  const std::vector<Kernel> one = Launched(PlanOfViews(model));
  ASSERT_EQ(one.size(), 2U);
  EXPECT_EQ(one[0].views, Count(3));  // cut, transposed, transposed
  EXPECT_EQ(one[0].model_views, Count(3));
  EXPECT_TRUE(one[0].model_call);
  EXPECT_EQ(one[1].views, Count(5));  // operands expanded and joined, the result cut
  EXPECT_EQ(one[1].model_views, Count(0));
  const Kernel copy = Launched(PlanOfViews(Heads(2).Infer()))[1];
  EXPECT_FALSE(copy.model_call);          // the product copies
  EXPECT_EQ(copy.model_views, Count(1));  // what the model's code has transposed
}

// A gated unit reads all that was computed, once.
TEST(Strides, HalvesAreReadAsTheyLie) {
  SmallModel small;
  small.Input("x", {6, 8}).Ints("half", {4, 4}).Output("y");
  small.Node("Relu", {"x"}, {"r"});
  SetInt(small.AddNode("Split", {"r", "half"}, {"a", "b"}), "axis", 1);
  small.Node("Mul", {"a", "b"}, {"y"});
  const std::vector<Kernel> kernels = Launched(PlanOfViews(small.Infer()));
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[1].bytes_read, Bytes(4 * 6 * 8));
  EXPECT_EQ(kernels[1].bytes_written, Bytes(4 * 6 * 4));
}

// Half of the columns have no strides as one row; half of the rows lie as before.
TEST(Strides, ReshapesCopyWhatTheyCannotDescribe) {
  for (const int axis : {0, 1}) {
    SmallModel small;
    small.Input("x", {8, 8}).Ints("from", {0}).Ints("to", {4}).Ints("axis", {axis});
    small.Ints("row", {32}).Output("y");
    small.Node("Relu", {"x"}, {"r"}).Node("Slice", {"r", "from", "to", "axis"}, {"s"});
    small.Node("Reshape", {"s", "row"}, {"t"}).Node("Relu", {"t"}, {"y"});
    const Plan plan = PlanOfViews(small.Infer());
    EXPECT_EQ(CountLabels(plan, "slice"), axis) << axis;
  }
}

TEST(Strides, BackwardsIsACopy) {
  for (const std::int64_t step : {-1, 2}) {
    SmallModel small;
    small.Input("x", {8, 8}).Ints("from", {step < 0 ? 7 : 0}).Ints("to", {step < 0 ? -9 : 8});
    small.Ints("axis", {1}).Ints("step", {step}).Output("y");
    small.Node("Slice", {"x", "from", "to", "axis", "step"}, {"s"}).Node("Relu", {"s"}, {"y"});
    EXPECT_EQ(CountLabels(PlanOfViews(small.Infer()), "slice"), step < 0 ? 1 : 0);
  }
}

// x[0] is a view, a table's rows are gathered.
TEST(Strides, ARowByAStoredNumberIsAView) {
  SmallModel small;
  small.Input("x", {3, 8}).Scalar("one", 1).Ints("rows", {2, 0}).Output("y").Output("z");
  small.Node("Gather", {"x", "one"}, {"a"}).Node("Relu", {"a"}, {"y"});
  small.Node("Gather", {"x", "rows"}, {"b"}).Node("Relu", {"b"}, {"z"});
  const Plan plan = PlanOfViews(small.Infer());
  EXPECT_EQ(CountLabels(plan, "gather"), 1);
  EXPECT_EQ(CountLabels(plan, "relu"), 2);
}

// Softmax and convolutions want rows one after the other; images may lie channels last. What lies
// in another order stays so through elementwise kernels.
TEST(Strides, RowsAreWantedByKernelsThatWalkThem) {
  const auto transposed = [](const std::vector<std::int64_t>& perm, const std::string& op) {
    SmallModel small;
    small.Input("x", {2, 8, 8, 8}).Weight("w", {4, 8, 3, 3}).Output("y");
    SetInts(small.AddNode("Transpose", {"x"}, {"t"}), "perm", perm);
    small.Node("Relu", {"t"}, {"r"});
    small.Node(op,
               op == "Conv" ? std::vector<std::string>{"r", "w"} : std::vector<std::string>{"r"},
               {"y"});
    return CountLabels(PlanOfViews(small.Infer()), "transpose");
  };
  EXPECT_EQ(transposed({0, 2, 1, 3}, "Softmax"), 1);
  EXPECT_EQ(transposed({0, 2, 1, 3}, "Neg"), 0);
  EXPECT_EQ(transposed({0, 3, 1, 2}, "Conv"), 0);  // channels last
  EXPECT_EQ(transposed({0, 2, 1, 3}, "Conv"), 1);
}

// What a convolution makes of an image that lies channels last lies so too: rows of channels.
TEST(Strides, ConvolutionsKeepTheOrderOfAxes) {
  for (const bool last : {false, true}) {
    SmallModel small;
    small.Input("x", {2, 8, 8, 8}).Weight("w", {8, 8, 1, 1}).Output("y");
    SetInts(small.AddNode("Transpose", {"x"}, {"t"}), "perm", {0, 3, 1, 2});
    small.Node("Conv", {last ? "t" : "x", "w"}, {"c"});
    SetInts(small.AddNode("Transpose", {"c"}, {"u"}), "perm", {0, 2, 3, 1});
    small.Node("Softmax", {"u"}, {"y"});
    const Plan plan = PlanOfViews(small.Infer());
    EXPECT_EQ(CountLabels(plan, "transpose"), last ? 0 : 1);
    for (const Kernel& kernel : Launched(plan)) {
      const bool convolves = std::holds_alternative<ConvNest>(kernel.nest);
      EXPECT_EQ(kernel.channels_last, last && convolves);
    }
  }
}

// A broadcast costs what it reads, but where each copy is to be a matrix.
TEST(Strides, BroadcastsReadWhatThereIs) {
  SmallModel small;
  small.Input("x", {1, 8}).Input("z", {16, 8}).Ints("wide", {16, 8}).Output("y");
  small.Node("Expand", {"x", "wide"}, {"e"}).Node("Add", {"e", "z"}, {"y"});
  const Plan plan = PlanOfViews(small.Infer());
  ASSERT_THAT(Labels(plan), ElementsAre("add"));
  EXPECT_EQ(plan.kernels.back().bytes_read, Bytes(4 * (8 + 16 * 8)));
}

// A framework fills what it pads with a number before it copies into it; what it mirrors it does
// not.
TEST(Strides, PaddingsAreFilledFirst) {
  for (const std::string mode : {"constant", "reflect"}) {
    SmallModel small;
    small.Input("x", {1, 2, 4, 4}).Ints("pads", {0, 0, 1, 1, 0, 0, 1, 1}).Output("y");
    onnx::NodeProto& node = small.AddNode("Pad", {"x", "pads"}, {"y"});
    onnx::AttributeProto& how = *node.add_attribute();
    how.set_name("mode");
    how.set_type(onnx::AttributeProto::STRING);
    how.set_s(mode);
    const InferredModel model = small.Infer();
    const Plan plan = PlanOfViews(model);
    const Kernel& kernel = KernelOf(plan, "pad");
    EXPECT_EQ(kernel.fills, mode == "constant");
    EXPECT_EQ(kernel.places, Count(kernel.fills ? 2 * 6 * 6 : 0));
    EXPECT_FALSE(KernelOf(PlanWith(model, Fusion::kDefault), "pad").fills);
  }
}

// Halves share the memory of what they were cut from; copied, they lie beside it.
TEST(Strides, ViewsHaveNoMemory) {
  SmallModel small;
  small.Input("x", {6, 8}).Ints("half", {4, 4}).Output("r").Output("m");
  small.Node("Relu", {"x"}, {"r"});
  SetInt(small.AddNode("Split", {"r", "half"}, {"a", "b"}), "axis", 1);
  small.Node("Mul", {"a", "b"}, {"m"});
  const InferredModel model = small.Infer();
  PlanOptions options{.fusion = Fusion::kDefault, .fuses = {}};
  EXPECT_EQ(LiveBytes(model, options).back(), Bytes(4 * (6 * 8 * 2 + 6 * 4)));
  options.fuses.Add(FusionStep::kViews);
  EXPECT_EQ(LiveBytes(model, options).back(), Bytes(4 * (6 * 8 + 6 * 4)));
}

}  // namespace
}  // namespace dlcost
