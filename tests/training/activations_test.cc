// Activations that exporters write in several nodes, and frameworks in one.

#include <gtest/gtest.h>

#include "tests/training/small_step.h"

namespace dlcost {
namespace {

const TrainOptions kJoinedSum = {.optimizer = "none", .loss = "sum"};

// x[4,8] w[8,16] as h; y is what `write` makes of it.
template <typename Write>
InferredModel OfHidden(Write write, int opset = 17) {
  SmallModel model(opset);
  model.Input("x", {4, 8}).Weight("w", {8, 16}).Node("MatMul", {"x", "w"}, {"h"});
  for (const char* number : {"half", "one", "root", "share"}) model.Scalar(number, 1, 1);
  model.Scalar("three", 3);
  write(model);
  return StepOf(model.Output("y").Infer(), kJoinedSum);
}

// 1 + tanh(root (h + share h^3)), `cube` being h^3.
void WriteTanh(SmallModel& model) {
  model.Node("Mul", {"share", "cube"}, {"c"}).Node("Add", {"h", "c"}, {"s"});
  model.Node("Mul", {"root", "s"}, {"r"}).Node("Tanh", {"r"}, {"t"});
  model.Node("Add", {"one", "t"}, {"u"});
}

constexpr Bytes kInputs(4 * (4 * 8 + 4 * 16));  // of the product and of the activation

TEST(Activations, GeluWithATanhAsTorchScriptWritesIt) {
  const InferredModel step = OfHidden([](SmallModel& model) {
    model.Node("Mul", {"h", "h"}, {"square"}).Node("Mul", {"h", "square"}, {"cube"});
    WriteTanh(model);
    model.Node("Mul", {"h", "u"}, {"v"}).Node("Mul", {"half", "v"}, {"y"});
  });
  EXPECT_NE(Find(step, "FastGelu"), nullptr);
  EXPECT_NE(Find(step, "FastGeluGrad"), nullptr);
  EXPECT_EQ(Find(step, "Tanh"), nullptr);
  EXPECT_EQ(step.step->saved_bytes, kInputs);
}

TEST(Activations, GeluWithATanhAsDynamoWritesIt) {
  const InferredModel step = OfHidden([](SmallModel& model) {
    model.Node("Pow", {"h", "three"}, {"cube"});
    WriteTanh(model);
    model.Node("Mul", {"half", "u"}, {"v"}).Node("Mul", {"h", "v"}, {"y"});
  });
  EXPECT_NE(Find(step, "FastGelu"), nullptr);
  EXPECT_EQ(step.step->saved_bytes, kInputs);
}

// GPT-2's own code is no call of a framework's function: every operation keeps what it needs.
TEST(Activations, GeluOfAModelsOwnCodeStaysInPieces) {
  const InferredModel step = OfHidden([](SmallModel& model) {
    model.Node("Pow", {"h", "three"}, {"cube"});
    WriteTanh(model);
    model.Node("Mul", {"half", "h"}, {"v"}).Node("Mul", {"v", "u"}, {"y"});
  });
  EXPECT_EQ(Find(step, "FastGelu"), nullptr);
  EXPECT_GT(step.step->saved_bytes, kInputs);
}

TEST(Activations, OtherPowersAreNoGelu) {
  const InferredModel step = OfHidden([](SmallModel& model) {
    model.Scalar("two", 2).Node("Pow", {"h", "two"}, {"cube"});
    WriteTanh(model);
    model.Node("Mul", {"half", "u"}, {"v"}).Node("Mul", {"h", "v"}, {"y"});
  });
  EXPECT_EQ(Find(step, "FastGelu"), nullptr);
}

TEST(Activations, MishKeepsItsInput) {
  for (const int opset : {17, 18}) {
    const InferredModel step = OfHidden(
        [](SmallModel& model) {
          model.Node("Softplus", {"h"}, {"p"}).Node("Tanh", {"p"}, {"t"});
          model.Node("Mul", {"h", "t"}, {"y"});
        },
        opset);
    const CountedNode* mish = Find(step, "Mish");
    ASSERT_NE(mish, nullptr);
    EXPECT_EQ(mish->node->domain, opset < 18 ? "dlcost.training" : "");
    EXPECT_EQ(step.step->saved_bytes, kInputs);
  }
}

}  // namespace
}  // namespace dlcost
