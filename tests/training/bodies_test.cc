// Derivatives through control flow against hand counts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/training/small_step.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

// s' = tanh(x_t w + s r) over five steps of [2,3], a state of [2,4] that begins with h0, or with a
// weight; w and r outside or inside of the body.
SmallModel Recurrent(bool learned, bool inside) {
  SmallModel body;
  body.Input("s", {2, 4}).Input("xt", {2, 3});
  if (inside) body.Weight("w", {3, 4}).Weight("r", {4, 4});
  body.Node("MatMul", {"xt", "w"}, {"a"}).Node("MatMul", {"s", "r"}, {"b"});
  body.Node("Add", {"a", "b"}, {"c"}).Node("Tanh", {"c"}, {"s2"}).Node("Identity", {"s2"}, {"y"});
  body.Output("s2").Output("y");
  SmallModel model;
  model.Input("x", {5, 2, 3});
  if (learned) {
    model.Weight("h0", {2, 4});
  } else {
    model.Input("h0", {2, 4});
  }
  if (!inside) model.Weight("w", {3, 4}).Weight("r", {4, 4});
  auto& scan = model.AddNode("Scan", {"h0", "x"}, {"last", "all"});
  SetGraph(scan, "body", body);
  SetInt(scan, "num_scan_inputs", 1);
  model.Output("all");
  return model;
}

TEST(Bodies, AScanGoesBackThroughItsSteps) {
  const InferredModel step =
      StepOf(Recurrent(true, false).Infer(), {.optimizer = "sgd", .loss = "none"});
  const std::int64_t input = 2 * 3 * 4, state = 2 * 4 * 4;
  EXPECT_EQ(MacsOf(step, Phase::kForward), Macs(5 * (input + state)));
  EXPECT_EQ(MacsOf(step, Phase::kBackwardWeights), Macs(5 * (input + state)));
  EXPECT_EQ(MacsOf(step, Phase::kBackwardData), Macs(5 * state));
  // x, and the states behind each step, which the output has anyway.
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * (5 * 2 * 3 + 5 * 2 * 4)));
  EXPECT_EQ(step.step->trained, Count(3 * 4 + 4 * 4 + 2 * 4));
  // The sum over the steps: read with what a step adds, and written.
  const CountedNode* sum = nullptr;
  for (const CountedNode& counted : step.nodes) {
    if (counted.node->op == "Add" && counted.node->phase == Phase::kBackwardWeights) sum = &counted;
  }
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum->repeat, Count(5));
  EXPECT_EQ(sum->cost.BytesWritten(), Bytes(5 * 4 * 4 * 4));
  EXPECT_EQ(sum->cost.BytesRead(), Bytes(2 * 5 * 4 * 4 * 4));
}

TEST(Bodies, WeightsInsideAreParametersAsThoseOutside) {
  const TrainOptions options = {.optimizer = "adam", .loss = "none"};
  const InferredModel outside = StepOf(Recurrent(false, false).Infer(), options);
  const InferredModel inside = StepOf(Recurrent(false, true).Infer(), options);
  EXPECT_EQ(inside.step->trained, Count(3 * 4 + 4 * 4));
  EXPECT_EQ(inside.step->state_bytes, outside.step->state_bytes);
  for (const Phase phase : {Phase::kForward, Phase::kBackwardData, Phase::kBackwardWeights}) {
    EXPECT_EQ(MacsOf(inside, phase), MacsOf(outside, phase)) << Name(phase);
  }
}

// Six times relu(s w), of which each step's result is kept: [6,4,8] beside x.
TEST(Bodies, ALoopKeepsWhatEachStepReadsBack) {
  SmallModel body;
  body.Input("i", {}, onnx::TensorProto::INT64).Input("c", {}, onnx::TensorProto::BOOL);
  body.Input("s", {4, 8}).Node("Identity", {"c"}, {"c2"}).Node("MatMul", {"s", "w"}, {"m"});
  body.Node("Relu", {"m"}, {"r"}).Output("c2").Output("r");
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 8}).Ints("n", {6});
  SetGraph(model.AddNode("Loop", {"n", "", "x"}, {"y"}), "body", body);
  const InferredModel step =
      StepOf(model.Output("y").Infer(), {.optimizer = "sgd", .loss = "none"});
  const std::int64_t product = 4 * 8 * 8;
  EXPECT_EQ(MacsOf(step, Phase::kForward), Macs(6 * product));
  EXPECT_EQ(MacsOf(step, Phase::kBackwardWeights), Macs(6 * product));
  EXPECT_EQ(MacsOf(step, Phase::kBackwardData), Macs(6 * product));
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * (4 * 8 + 6 * 4 * 8)));
  for (const CountedNode& counted : step.nodes) EXPECT_EQ(counted.why, "") << counted.name;
}

// Twice three times relu(s w): what the loop inside stacks is stacked once more by the one around.
TEST(Bodies, ALoopInALoopKeepsWhatTheInnerOneStacks) {
  SmallModel inner;
  inner.Input("i", {}, onnx::TensorProto::INT64).Input("c", {}, onnx::TensorProto::BOOL);
  inner.Input("s", {4, 8}).Node("Identity", {"c"}, {"c2"}).Node("MatMul", {"s", "w"}, {"m"});
  inner.Node("Relu", {"m"}, {"r"}).Output("c2").Output("r");
  SmallModel outer;
  outer.Input("j", {}, onnx::TensorProto::INT64).Input("d", {}, onnx::TensorProto::BOOL);
  outer.Input("t", {4, 8}).Node("Identity", {"d"}, {"d2"});
  SetGraph(outer.AddNode("Loop", {"three", "", "t"}, {"t2"}), "body", inner);
  outer.Output("d2").Output("t2");
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 8}).Ints("two", {2}).Ints("three", {3});
  SetGraph(model.AddNode("Loop", {"two", "", "x"}, {"y"}), "body", outer);
  const InferredModel step =
      StepOf(model.Output("y").Infer(), {.optimizer = "sgd", .loss = "none"});
  const std::int64_t product = 4 * 8 * 8;
  for (const Phase phase : {Phase::kForward, Phase::kBackwardData, Phase::kBackwardWeights}) {
    EXPECT_EQ(MacsOf(step, phase), Macs(6 * product)) << Name(phase);
  }
  for (const CountedNode& counted : step.nodes) EXPECT_EQ(counted.why, "") << counted.name;
}

SmallModel Branching(bool known) {
  SmallModel product, factor;
  product.Node("MatMul", {"x", "w"}, {"m"}).Node("Tanh", {"m"}, {"t"}).Output("t");
  factor.Node("Mul", {"x", "v"}, {"t"}).Output("t");
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 8}).Weight("v", {8});
  if (known) {
    model.Scalar("c", 1, onnx::TensorProto::BOOL);
  } else {
    model.Input("c", {}, onnx::TensorProto::BOOL);
  }
  auto& branch = model.AddNode("If", {"c"}, {"y"});
  SetGraph(branch, "then_branch", product);
  SetGraph(branch, "else_branch", factor);
  return model.Output("y");
}

TEST(Bodies, TheCostlierBranchIsCountedBackAsItIsForward) {
  const InferredModel step = StepOf(Branching(false).Infer(), {.optimizer = "sgd", .loss = "none"});
  EXPECT_EQ(MacsOf(step, Phase::kForward), Macs(4 * 8 * 8));
  EXPECT_EQ(MacsOf(step, Phase::kBackwardWeights), Macs(4 * 8 * 8));
  // x, y behind the tanh, the condition.
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * (4 * 8 + 4 * 8) + 1));
  // What the factor wants a gradient of gets one, of zeros where the other branch ran.
  EXPECT_EQ(step.step->trained, Count(8 * 8 + 8));
  ASSERT_EQ(step.open_branches.size(), 2U);
  EXPECT_EQ(step.open_branches[0].then_counted, step.open_branches[1].then_counted);
}

TEST(Bodies, ABranchThatAloneRunsIsPartOfTheGraph) {
  const InferredModel step = StepOf(Branching(true).Infer(), {.optimizer = "sgd", .loss = "none"});
  EXPECT_EQ(Find(step, "If"), nullptr);
  EXPECT_EQ(NodeOf(step, "n_y/then/n_m").cost.work.macs(), Macs(4 * 8 * 8));
  EXPECT_EQ(step.step->trained, Count(8 * 8));
}

TEST(Bodies, AChosenBranchStaysChosen) {
  InferOptions options;
  options.control.branches["n_y"] = false;
  const InferredModel forward = Infer(Branching(false).Read(), options);
  const InferredModel step =
      InferStep(BuildStep(forward, {.optimizer = "sgd", .loss = "none"}), forward, options);
  EXPECT_EQ(step.step->trained, Count(8));
}

// A state that grows: no step has the size of another.
TEST(Bodies, StepsOfDifferentSizeAreNamed) {
  SmallModel body;
  body.Input("i", {}, onnx::TensorProto::INT64).Input("c", {}, onnx::TensorProto::BOOL);
  body.Input("s", {"n", 8}).Node("Identity", {"c"}, {"c2"}).Node("MatMul", {"s", "w"}, {"m"});
  onnx::NodeProto& concat = body.AddNode("Concat", {"s", "m"}, {"r"});
  SetInt(concat, "axis", 0);
  body.Output("c2").Output("r");
  SmallModel model;
  model.Input("x", {1, 8}).Weight("w", {8, 8}).Ints("n", {3});
  SetGraph(model.AddNode("Loop", {"n", "", "x"}, {"y"}), "body", body);
  const InferredModel step =
      StepOf(model.Output("y").Infer(), {.optimizer = "sgd", .loss = "none"});
  const CountedNode* unknown = Find(step, "Gradient");
  ASSERT_NE(unknown, nullptr);
  EXPECT_THAT(unknown->why, HasSubstr("steps differ in size"));
}

}  // namespace
}  // namespace dlcost
