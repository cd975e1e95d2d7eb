// Group normalization, in one node and as exporters write it: h[2,4,3,3] in two groups.

#include <gtest/gtest.h>

#include "tests/training/small_step.h"

namespace dlcost {
namespace {

// x before a Tanh is no product's operand: what is kept is the normalization's.
SmallModel Image(int opset) {
  SmallModel model(opset);
  return model.Input("x", {2, 4, 3, 3}).Node("Tanh", {"x"}, {"h"});
}

void ExpectOneGroupNorm(const InferredModel& step) {
  EXPECT_EQ(step.step->trained, Count(4 + 4));
  // What was normalized, a mean and a deviation of each sample's groups.
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * (2 * 4 * 9 + 2 * 2 * 2)));
  std::vector<std::string> ops;
  for (const CountedNode& counted : step.nodes) {
    if (!counted.cost.work.empty()) ops.push_back(counted.node->op);
  }
  EXPECT_EQ(ops, (std::vector<std::string>{"Tanh", "GroupNormInternal", "GroupNormGrad"}));
}

TEST(GroupNorm, KeepsItsInputAndItsStatistics) {
  SmallModel model = Image(21);
  model.Weight("scale", {4}).Weight("shift", {4});
  SetInt(model.AddNode("GroupNormalization", {"h", "scale", "shift"}, {"y"}), "num_groups", 2);
  ExpectOneGroupNorm(StepOf(model.Output("y").Infer(), {.optimizer = "none", .loss = "none"}));
}

// Before opset 21 exporters write it around an InstanceNormalization of ones and zeros.
SmallModel ExportedGroupNorm(bool stored) {
  SmallModel model = Image(17);
  model.Ints("rows", {2, 2, 18}).Ints("image", {2, 4, 3, 3}).Weight("ones", {2});
  model.Weight("zeros", {2}).Weight("shift", {4, 1, 1});
  if (stored) {
    model.Weight("scale", {4, 1, 1});
  } else {
    model.Input("scale", {4, 1, 1});
  }
  model.Node("Reshape", {"h", "rows"}, {"r"});
  model.Node("InstanceNormalization", {"r", "ones", "zeros"}, {"n"});
  model.Node("Reshape", {"n", "image"}, {"i"}).Node("Mul", {"i", "scale"}, {"m"});
  return model.Node("Add", {"m", "shift"}, {"y"}).Output("y");
}

TEST(GroupNorm, IsJoinedFromWhatExportersWrite) {
  ExpectOneGroupNorm(
      StepOf(ExportedGroupNorm(true).Infer(), {.optimizer = "none", .loss = "none"}));
}

TEST(GroupNorm, WithAScaleThatIsComputedIsNotJoined) {
  const InferredModel step =
      StepOf(ExportedGroupNorm(false).Infer(), {.optimizer = "none", .loss = "none"});
  EXPECT_EQ(Find(step, "GroupNormInternal"), nullptr);
}

}  // namespace
}  // namespace dlcost
