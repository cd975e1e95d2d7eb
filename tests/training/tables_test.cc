// Stored tensors that training leaves alone because of what they are used for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_step.h"

namespace dlcost {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TrainOptions FusedTables() {
  return {.optimizer = "sgd",
          .loss = "sum",
          .fuses_attention = [](DType, bool) { return true; },
          .joins_attention = true};
}

// x[2,heads,6,4] w[4,4], its own queries, keys and values, with `mask` added to the scores.
template <typename Mask>
SmallModel Masked(int heads, Mask mask) {
  SmallModel model;
  model.Input("x", {2, heads, 6, 4}).Weight("w", {4, 4}).Node("MatMul", {"x", "w"}, {"q"});
  mask(model);
  SetInts(model.AddNode("Transpose", {"q"}, {"k"}), "perm", {0, 1, 3, 2});
  model.Node("MatMul", {"q", "k"}, {"s"}).Node("Add", {"s", "mask"}, {"a"});
  return model.Node("Softmax", {"a"}, {"p"}).Node("MatMul", {"p", "q"}, {"y"}).Output("y");
}

SmallModel Stored(int heads, std::vector<int> shape) {
  return Masked(heads, [&](SmallModel& model) { model.Weight("mask", shape); });
}

TEST(Tables, AMaskOfAllHeadsIsNotTrained) {
  for (const std::vector<int>& shape : {std::vector{6, 6}, {1, 1, 6, 6}, {2, 1, 1, 6}}) {
    const InferredModel step = StepOf(Stored(4, shape).Infer(), FusedTables());
    EXPECT_EQ(step.step->trained, Count(16));
    EXPECT_NE(Find(step, "FusedAttention"), nullptr);
    EXPECT_THAT(step.notes, Contains(HasSubstr("as masks are: mask")));
  }
}

TEST(Tables, AMaskOfAttentionInOneNodeIsNotTrained) {
  for (const bool by_head : {false, true}) {
    SmallModel model(23);
    model.Input("x", {2, 4, 6, 4}).Weight("w", {4, 4}).Node("MatMul", {"x", "w"}, {"q"});
    model.Weight("mask", by_head ? std::vector{4, 6, 6} : std::vector{6, 6});
    model.Node("Attention", {"q", "q", "q", "mask"}, {"y"}).Output("y");
    EXPECT_EQ(StepOf(model.Infer(), FusedTables()).step->trained, Count(by_head ? 16 + 144 : 16));
  }
}

TEST(Tables, ABiasOfEachHeadIsTrained) {
  const InferredModel step = StepOf(Stored(4, {4, 6, 6}).Infer(), FusedTables());
  EXPECT_EQ(step.step->trained, Count(16 + 4 * 36));
  EXPECT_EQ(Find(step, "FusedAttention"), nullptr);
  EXPECT_THAT(step.notes, Not(Contains(AnyOf(HasSubstr("masks"), HasSubstr("biases")))));
}

TEST(Tables, WhatASingleHeadAddsIsTrainedWithANote) {
  const InferredModel step = StepOf(Stored(1, {6, 6}).Infer(), FusedTables());
  EXPECT_EQ(step.step->trained, Count(16 + 36));
  EXPECT_THAT(step.notes, Contains(HasSubstr("biases of one head: mask; --freeze")));
}

// Numbers that the file tells decide: a mask hides, a bias is anything.
TEST(Tables, NumbersThatAreKnownDecide) {
  const auto trained = [](int heads, std::vector<float> numbers) {
    SmallModel model = Masked(heads, [&](SmallModel& written) {
      written.Floats("row", numbers).Ints("axes", {0});
      written.Node("Unsqueeze", {"row", "axes"}, {"mask"});
    });
    return StepOf(model.Infer(), FusedTables()).step->trained;
  };
  const float hidden = -3.4e38F;
  EXPECT_EQ(trained(1, {0, 0, 0, 0, hidden, hidden}), Count(16));
  EXPECT_EQ(trained(4, {0, 0, 0, 0, hidden, hidden}), Count(16));
  EXPECT_EQ(trained(4, {0, 0, 0, 0, 0, 0}), Count(16));
  EXPECT_EQ(trained(4, {0, 1, 2, 0, 0, 0}), Count(16 + 6));
}

TEST(Tables, AMaskThatIsUsedOtherwiseTooIsTrained) {
  SmallModel model = Stored(4, {6, 6});
  model.Node("Relu", {"mask"}, {"z"}).Output("z");
  EXPECT_EQ(StepOf(model.Infer(), FusedTables()).step->trained, Count(16 + 36));
}

// x[2,4,6,8] turned by stored tables, as Llama's code does it: x c + concat(-x2, x1) s.
SmallModel Rotated(bool negates) {
  SmallModel model;
  model.Input("x", {2, 4, 6, 8}).Weight("w", {8, 8}).Node("MatMul", {"x", "w"}, {"q"});
  model.Weight("c", {6, 8}).Weight("s", {1, 1, 6, 8}).Ints("axis", {3}).Ints("zero", {0});
  model.Ints("half", {4}).Ints("end", {8}).Node("Slice", {"q", "zero", "half", "axis"}, {"a"});
  model.Node("Slice", {"q", "half", "end", "axis"}, {"b"});
  model.Node(negates ? "Neg" : "Relu", {"b"}, {"n"});
  SetInt(model.AddNode("Concat", {"n", "a"}, {"r"}), "axis", 3);
  model.Node("Mul", {"q", "c"}, {"t"}).Node("Mul", {"r", "s"}, {"u"});
  return model.Node("Add", {"t", "u"}, {"y"}).Output("y");
}

TEST(Tables, OfRotationsAreNotTrained) {
  const InferredModel step = StepOf(Rotated(true).Infer(), FusedTables());
  EXPECT_EQ(step.step->trained, Count(64));
  EXPECT_THAT(step.notes, Contains(HasSubstr("by their positions: c, s")));
  EXPECT_EQ(StepOf(Rotated(false).Infer(), FusedTables()).step->trained, Count(64 + 48 + 48));
}

// Pairs of halves, x1 c - x2 s and x2 c + x1 s (GPT-OSS); a sum of both alone mixes them, as
// RWKV's trained weights do.
SmallModel Crossed(bool turns) {
  SmallModel model;
  model.Input("x", {2, 4, 6, 8}).Weight("w", {8, 8}).Node("MatMul", {"x", "w"}, {"q"});
  model.Weight("c", {6, 4}).Weight("s", {6, 4}).Ints("halves", {4, 4});
  SetInt(model.AddNode("Split", {"q", "halves"}, {"a", "b"}), "axis", 3);
  model.Node("Mul", {"a", "c"}, {"ac"}).Node("Mul", {"b", "s"}, {"bs"});
  model.Node(turns ? "Sub" : "Add", {"ac", "bs"}, {"y"}).Output("y");
  if (!turns) return model;
  model.Node("Mul", {"b", "c"}, {"bc"}).Node("Mul", {"a", "s"}, {"as"});
  return model.Node("Add", {"bc", "as"}, {"z"}).Output("z");
}

TEST(Tables, OfRotationsInHalvesAreNotTrained) {
  EXPECT_EQ(StepOf(Crossed(true).Infer(), FusedTables()).step->trained, Count(64));
  EXPECT_EQ(StepOf(Crossed(false).Infer(), FusedTables()).step->trained, Count(64 + 24 + 24));
}

// Positions times frequencies, twice; a cosine of what a weight made is a network's own.
TEST(Tables, FrequenciesOfRotationsAreNotTrained) {
  for (const bool rotates : {true, false}) {
    SmallModel model;
    model.Input("x", {2, 4, 6, 8}).Weight("w", {8, 8}).Input("positions", {6, 1});
    model.Weight("frequencies", {4}).Node("MatMul", {"x", "w"}, {"q"});
    model.Node("Mul", {"positions", "frequencies"}, {"angles"});
    SetInt(model.AddNode("Concat", {"angles", "angles"}, {"both"}), "axis", 1);
    model.Node("Cos", {"both"}, {"c"}).Node("Sin", {"both"}, {"s"});
    model.Ints("axis", {3}).Ints("zero", {0}).Ints("half", {4}).Ints("end", {8});
    model.Node("Slice", {"q", "zero", "half", "axis"}, {"a"});
    model.Node("Slice", {"q", "half", "end", "axis"}, {"b"}).Node("Neg", {"b"}, {"n"});
    SetInt(model.AddNode("Concat", {rotates ? "n" : "b", "a"}, {"r"}), "axis", 3);
    model.Node("Mul", {"q", "c"}, {"t"}).Node("Mul", {"r", "s"}, {"u"});
    model.Node("Add", {"t", "u"}, {"y"}).Output("y");
    const Count trained = StepOf(model.Infer(), FusedTables()).step->trained;
    EXPECT_EQ(trained, Count(rotates ? 64 : 64 + 4));
  }
}

}  // namespace
}  // namespace dlcost
