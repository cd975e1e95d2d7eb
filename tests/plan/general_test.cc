// What a framework's own kernels find out as they run, and which attention its models call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "estimator/plan/attention_pattern.h"
#include "estimator/plan/kernel_sizes.h"
#include "tests/infer/small_model.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

using testing::ElementsAre;

PlanOptions Eager(AttentionForm attention = AttentionForm::kCalled) {
  PlanOptions options{.fusion = Fusion::kDefault, .fuses = {}};
  options.fuses.Add(FusionStep::kViews);
  options.attention_by_default = attention;
  return options;
}

Kernel Last(const SmallModel& small, const PlanOptions& options) {
  return MakePlan(small.Infer(), options).kernels.back();
}

Count PlacesOf(const SmallModel& small) { return Last(small, Eager()).places; }

// One after the other only where all lie as the result does.
TEST(Places, OfWhatIsStretchedTransposedOrConverted) {
  const auto added = [](std::vector<SmallModel::Extent> first,
                        std::vector<SmallModel::Extent> second) {
    SmallModel small;
    small.Input("x", std::move(first)).Input("z", std::move(second)).Output("y");
    return PlacesOf(small.Node("Add", {"x", "z"}, {"y"}));
  };
  EXPECT_EQ(added({4, 8}, {4, 8}), Count(0));
  EXPECT_EQ(added({4, 8}, {8}), Count(32));
  EXPECT_EQ(added({4, 1}, {1, 8}), Count(32));
  SmallModel number;
  number.Input("x", {4, 8}).Floats("two", {2}).Output("y");
  EXPECT_EQ(PlacesOf(number.Node("Mul", {"x", "two"}, {"y"})), Count(0));
  SmallModel cast;
  cast.Input("x", {4, 8}).Output("y");
  SetInt(cast.AddNode("Cast", {"x"}, {"y"}), "to", onnx::TensorProto::FLOAT16);
  EXPECT_EQ(PlacesOf(cast), Count(32));
}

// What is transposed alone keeps its order; beside what is not, or copied, it does not.
TEST(Places, OfATransposition) {
  const auto transposed = [](const std::string& op, std::vector<std::string> inputs) {
    SmallModel small;
    small.Input("x", {4, 8}).Input("z", {8, 4}).Output("y");
    SetInts(small.AddNode("Transpose", {"x"}, {"t"}), "perm", {1, 0});
    return PlacesOf(small.Node(op, std::move(inputs), {"y"}));
  };
  EXPECT_EQ(transposed("Relu", {"t"}), Count(0));
  EXPECT_EQ(transposed("Add", {"t", "z"}), Count(32));
  SmallModel copied;  // a softmax wants rows
  copied.Input("x", {4, 8}).Output("y");
  SetInts(copied.AddNode("Transpose", {"x"}, {"t"}), "perm", {1, 0});
  const Plan plan = MakePlan(copied.Node("Softmax", {"t"}, {"y"}).Infer(), Eager());
  ASSERT_THAT(Labels(plan), ElementsAre("transpose", "softmax"));
  EXPECT_EQ(plan.kernels[0].places, Count(32));
  EXPECT_EQ(plan.kernels[1].places, Count(0));
}

// Where neighbours of the result lie a sector of memory apart, that is slower again.
TEST(Places, ScatteredWhereTheInnermostAxisMoves) {
  const auto copied = [](std::vector<std::int64_t> order, int width) {
    SmallModel small;
    small.Input("x", {2, 16, width}).Output("y");
    SetInts(small.AddNode("Transpose", {"x"}, {"t"}), "perm", std::move(order));
    const Plan plan = MakePlan(small.Node("Softmax", {"t"}, {"y"}).Infer(), Eager());
    return plan.kernels.front();
  };
  EXPECT_EQ(copied({0, 2, 1}, 8).places, Count(2 * 16 * 8));
  EXPECT_EQ(copied({0, 2, 1}, 8).scattered, Count(2 * 16 * 8));  // 32 bytes
  EXPECT_EQ(copied({0, 2, 1}, 4).scattered, Count(0));
  EXPECT_EQ(copied({1, 0, 2}, 8).scattered, Count(0));  // rows stay rows
  SmallModel sum;
  sum.Input("x", {16, 8}).Input("z", {8, 16}).Output("y");
  SetInts(sum.AddNode("Transpose", {"x"}, {"t"}), "perm", {1, 0});
  EXPECT_EQ(Last(sum.Node("Add", {"t", "z"}, {"y"}), Eager()).scattered, Count(128));
}

// Halves of rows are copied element by element, whole tensors are not.
TEST(Places, OfAConcatenationOfViews) {
  const auto joined = [](bool views) {
    SmallModel small;
    small.Input("x", {4, 16}).Input("z", {4, 8}).Ints("parts", {8, 8}).Output("y");
    SetInt(small.AddNode("Split", {"x", "parts"}, {"a", "b"}), "axis", 1);
    SetInt(small.AddNode("Concat", {views ? "b" : "z", "z"}, {"y"}), "axis", 1);
    return PlacesOf(small);
  };
  EXPECT_EQ(joined(true), Count(4 * 16));
  EXPECT_EQ(joined(false), Count(0));
}

TEST(Places, OfPoolingAndNormalizationOfImages) {
  SmallModel pool;
  pool.Input("x", {2, 3, 8, 8}).Output("y");
  onnx::NodeProto& node = pool.AddNode("MaxPool", {"x"}, {"y"});
  SetInts(node, "kernel_shape", {2, 2});
  SetInts(node, "strides", {2, 2});
  EXPECT_EQ(PlacesOf(pool), Count(2 * 3 * 4 * 4));
  SmallModel batch;
  batch.Input("x", {2, 3, 8, 8}).Output("y");
  for (const char* name : {"a", "b", "c", "d"}) batch.Weight(name, {3});
  batch.Node("BatchNormalization", {"x", "a", "b", "c", "d"}, {"y"});
  const Kernel kernel = Last(batch, Eager());
  EXPECT_EQ(kernel.places, Count(2 * 3 * 64));
  EXPECT_EQ(std::get<ElementwiseNest>(kernel.nest).plane, Count(64));
}

// A model's kernels of equal sizes are timed once: strides and planes are sizes too.
TEST(Places, AreSizesOfAKernel) {
  const auto sizes = [](const Kernel& kernel) {
    std::pair<std::vector<std::int64_t>, std::size_t> found;
    CollectSizes(kernel, found.first, found.second);
    return found;
  };
  Kernel kernel;
  kernel.nest = ElementwiseNest{.elements = 64, .normalizes = true};
  const auto changed = [&](const std::function<void(Kernel&)>& change) {
    Kernel other = kernel;
    change(other);
    EXPECT_EQ(sizes(WithSizes(other, sizes(kernel).first)).first, sizes(kernel).first);
    return sizes(other) != sizes(kernel);
  };
  EXPECT_FALSE(changed([](Kernel&) {}));
  EXPECT_TRUE(changed([](Kernel& k) { k.places = 64; }));
  EXPECT_TRUE(changed([](Kernel& k) { k.scattered = 64; }));
  EXPECT_TRUE(changed([](Kernel& k) { k.general = true; }));
  EXPECT_TRUE(changed([](Kernel& k) { std::get<ElementwiseNest>(k.nest).plane = 4; }));
  EXPECT_TRUE(changed([](Kernel& k) { std::get<ElementwiseNest>(k.nest).mixed = true; }));
}

TEST(Places, CompiledKernelsHaveThemFromTheStart) {
  SmallModel small;
  small.Input("x", {4, 8}).Input("z", {8}).Output("y").Node("Add", {"x", "z"}, {"y"});
  EXPECT_TRUE(Last(small, Eager()).general);
  const Kernel compiled = Last(small, {.fusion = Fusion::kDefault});
  EXPECT_FALSE(compiled.general);
  EXPECT_EQ(compiled.places, Count(0));
}

// Scores of two heads of four; `factors` of queries and of keys, 0: none.
SmallModel Scores(float query, float key, bool bias = false) {
  SmallModel small;
  small.Input("q", {1, 2, 6, 4}).Input("k", {1, 2, 4, 6}).Input("v", {1, 2, 6, 4}).Output("y");
  small.Input("b", {1, bias ? 2 : 1, 6, 6});
  small.Floats("fq", {query}).Floats("fk", {key});
  if (query > 0) small.Node("Mul", {"q", "fq"}, {"sq"});
  if (key > 0) small.Node("Mul", {"k", "fk"}, {"sk"});
  small.Node("MatMul", {query > 0 ? "sq" : "q", key > 0 ? "sk" : "k"}, {"s"});
  small.Node("Add", {"s", "b"}, {"m"});
  SetInt(small.AddNode("Softmax", {"m"}, {"p"}), "axis", -1);
  return small.Node("MatMul", {"p", "v"}, {"y"});
}

// PyTorch 2.11 exports scaled_dot_product_attention with the root of the scale on both sides.
TEST(CalledAttention, HasTheRootOfItsScaleOnBothSides) {
  const float root = 0.70710678F;
  const auto labels = [](const SmallModel& small) {
    return Labels(MakePlan(small.Infer(), Eager()));
  };
  EXPECT_THAT(labels(Scores(root, root)), ElementsAre("attention"));
  EXPECT_THAT(labels(Scores(root, root, true)), ElementsAre("attention"));  // BEiT
  EXPECT_THAT(labels(Scores(1, 1, true)),  // T5: a bias for each head and no scale
              ElementsAre("mul", "mul", "mat_mul", "add", "softmax", "mat_mul"));
  EXPECT_THAT(labels(Scores(1, 1)), ElementsAre("attention"));
  EXPECT_THAT(labels(Scores(0.5F, 0)), ElementsAre("mul", "mat_mul", "add", "softmax", "mat_mul"));
  EXPECT_THAT(labels(Scores(root, 0.5F)),
              ElementsAre("mul", "mul", "mat_mul", "add", "softmax", "mat_mul"));
  EXPECT_THAT(Labels(MakePlan(Scores(0.5F, 0).Infer(), Eager(AttentionForm::kFlash))),
              ElementsAre("attention"));
  EXPECT_TRUE(CallsAttention(ValueGraph(Scores(root, root).Infer())));
}

// Autocast narrows what the factors make.
TEST(CalledAttention, IsFoundBehindCasts) {
  SmallModel small;
  small.Input("q", {1, 2, 6, 4}).Input("k", {1, 2, 4, 6}).Input("v", {1, 2, 6, 4}).Output("y");
  small.Floats("root", {0.70710678F}).Node("Mul", {"q", "root"}, {"sq"});
  small.Node("Mul", {"k", "root"}, {"sk"});
  for (const std::string name : {"sq", "sk", "v"}) {
    SetInt(small.AddNode("Cast", {name}, {name + "h"}), "to", onnx::TensorProto::FLOAT16);
  }
  small.Node("MatMul", {"sqh", "skh"}, {"s"});
  SetInt(small.AddNode("Softmax", {"s"}, {"p"}), "axis", -1);
  EXPECT_TRUE(CallsAttention(ValueGraph(small.Node("MatMul", {"p", "vh"}, {"y"}).Infer())));
}

TEST(CalledAttention, NamesItself) {
  EXPECT_EQ(Name(AttentionForm::kCalled), "called");
  EXPECT_EQ(ParseAttentionForm("called"), AttentionForm::kCalled);
  EXPECT_FALSE(Materializes(AttentionForm::kCalled, DType::kFloat32));
}

}  // namespace
}  // namespace dlcost
