// What a step keeps for the way back where values are views of others.

#include <gtest/gtest.h>

#include "tests/training/small_step.h"

namespace dlcost {
namespace {

const TrainOptions kSavedSum = {.optimizer = "none", .loss = "sum"};

// x[4,8] w[8,16], and the exponentials e[4,16] of it.
SmallModel Exponentials() {
  return SmallModel()
      .Input("x", {4, 8})
      .Weight("w", {8, 16})
      .Node("MatMul", {"x", "w"}, {"h"})
      .Node("Exp", {"h"}, {"e"});
}

TEST(Saved, SlicesAreWhatTheyAreSlicesOf) {
  SmallModel model = Exponentials();
  model.Ints("zero", {0}).Ints("half", {8}).Ints("end", {16}).Ints("axis", {1});
  model.Node("Slice", {"e", "zero", "half", "axis"}, {"a"});
  model.Node("Slice", {"e", "half", "end", "axis"}, {"b"});
  model.Node("Mul", {"a", "b"}, {"y"}).Output("y");
  EXPECT_EQ(StepOf(model.Infer(), kSavedSum).step->saved_bytes, Bytes(4 * (4 * 8 + 4 * 16)));
}

TEST(Saved, RowsByAStoredIndexAreWhatTheyAreTakenFrom) {
  SmallModel model = Exponentials();
  model.Scalar("first", 0).Scalar("second", 1);
  model.Node("Gather", {"e", "first"}, {"a"}).Node("Gather", {"e", "second"}, {"b"});
  model.Node("Mul", {"a", "b"}, {"y"}).Output("y");
  EXPECT_EQ(StepOf(model.Infer(), kSavedSum).step->saved_bytes, Bytes(4 * (4 * 8 + 4 * 16)));
}

TEST(Saved, AProductWithItsOwnTranspositionKeepsOneOperand) {
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 16}).Node("MatMul", {"x", "w"}, {"h"});
  SetInts(model.AddNode("Transpose", {"h"}, {"t"}), "perm", {1, 0});
  model.Node("MatMul", {"h", "t"}, {"y"}).Output("y");
  EXPECT_EQ(StepOf(model.Infer(), kSavedSum).step->saved_bytes, Bytes(4 * (4 * 8 + 4 * 16)));
}

// No strides describe what a reshape makes of a transposition: it is copied, and the copy is kept
// beside what it was made of.
TEST(Saved, ACopyIsKeptByItself) {
  SmallModel model = Exponentials();
  SetInts(model.AddNode("Transpose", {"e"}, {"t"}), "perm", {1, 0});
  model.Ints("flat", {64}).Node("Reshape", {"t", "flat"}, {"f"});
  model.Node("Mul", {"f", "f"}, {"y"}).Output("y");
  EXPECT_EQ(StepOf(model.Infer(), kSavedSum).step->saved_bytes,
            Bytes(4 * (4 * 8 + 4 * 16 + 4 * 16)));
}

}  // namespace
}  // namespace dlcost
