// Nodes that training runs as the nodes that they consist of, and lists that become their tensors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_step.h"

namespace dlcost {
namespace {

using testing::ElementsAre;
using testing::Pair;

TrainOptions Plain() { return {.optimizer = "sgd", .loss = "none"}; }

// x[1,2,4,4], a convolution of one tap to 2 channels, then one of 9 taps to 3 that an inference
// engine fused with its bias and Relu.
SmallModel FusedConvolution() {
  SmallModel model;
  model.Input("x", {1, 2, 4, 4}).Weight("a", {2, 2, 1, 1}).Weight("b", {3, 2, 3, 3});
  model.Weight("bias", {3}).Node("Conv", {"x", "a"}, {"h"});
  onnx::NodeProto& fused = model.AddNodeOf("com.microsoft", "FusedConv", {"h", "b", "bias"}, {"y"});
  SetInts(fused, "pads", {1, 1, 1, 1});
  onnx::AttributeProto& activation = *fused.add_attribute();
  activation.set_name("activation");
  activation.set_type(onnx::AttributeProto::STRING);
  activation.set_s("Relu");
  return model.Output("y");
}

TEST(Decompose, AFusedConvolutionTrainsAsItsParts) {
  const InferredModel step = StepOf(FusedConvolution().Infer(), Plain());
  EXPECT_EQ(Find(step, "FusedConv"), nullptr);
  EXPECT_NE(Find(step, "ReluGrad"), nullptr);
  EXPECT_EQ(Find(step, "Gradient"), nullptr);
  const std::int64_t first = 16 * 2 * 2, second = 48 * 18;
  EXPECT_THAT(
      MacsByPhase(step),
      ElementsAre(Pair("backward for data", second), Pair("backward for weights", first + second),
                  Pair("forward", first + second), Pair("optimizer", 0)));
  // Input, both sides of the second convolution; Relu's derivative reads its result.
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * (32 + 32 + 48)));
}

TEST(Decompose, WhatNothingTrainedIsBehindStaysFused) {
  TrainOptions options = Plain();
  options.frozen = {"a", "b", "bias"};
  SmallModel model = FusedConvolution();
  model.Weight("w", {4, 4}).Node("MatMul", {"y", "w"}, {"z"}).Output("z");
  const InferredModel step = StepOf(model.Infer(), options);
  EXPECT_NE(Find(step, "FusedConv"), nullptr);
}

// 7 steps of 2 samples, 4 gates of 5 units from 3 and 5: the products with the input are one over
// all steps there and one each back, those with the state are one per step.
TEST(Decompose, ALayerWithLengthsIsALoop) {
  SmallModel model;
  model.Input("x", {7, 2, 3}).Input("n", {2}, onnx::TensorProto::INT32).Weight("p", {3, 3});
  model.Weight("w", {1, 20, 3}).Weight("r", {1, 20, 5}).Node("MatMul", {"x", "p"}, {"h"});
  SetInt(model.AddNode("LSTM", {"h", "w", "r", "", "n"}, {"y"}), "hidden_size", 5);
  const InferredModel step = StepOf(model.Output("y").Infer(), Plain());
  EXPECT_EQ(Find(step, "LSTM"), nullptr);
  EXPECT_NE(Find(step, "Scan"), nullptr);
  EXPECT_EQ(Find(step, "Gradient"), nullptr);
  const std::int64_t linear = 7 * 2 * 3 * 3, input = 7 * 2 * 20 * 3, recurrent = 7 * 2 * 20 * 5;
  TrainOptions half = Plain();
  half.precision = "bf16";
  EXPECT_EQ(Find(StepOf(model.Infer(), half), "Gradient"), nullptr) << "bodies keep their types";
  const std::map<std::string, std::int64_t> macs = MacsByPhase(step);
  EXPECT_EQ(macs.at("forward"), linear + input + recurrent);
  EXPECT_EQ(macs.at("backward for data") + macs.at("backward for weights"),
            linear + 2 * (input + recurrent));
}

// y[2,3,6] = x[2,3,4] a[4,5] b[5,6] c[6], in one node or as one step of a Loop.
void AddChain(SmallModel& model) {
  onnx::NodeProto& chain = model.AddNode("Einsum", {"h", "a", "b", "c"}, {"y"});
  onnx::AttributeProto& equation = *chain.add_attribute();
  equation.set_name("equation");
  equation.set_type(onnx::AttributeProto::STRING);
  equation.set_s("...ij,jk, kl,l");
}

// Pairs: 6 rows times [4,5], then [5,6]; c only multiplies, and is summed again. Each pair costs a
// product more for each operand.
TEST(Decompose, AnEinsumOfManyGoesBackPairByPair) {
  SmallModel model;
  model.Input("x", {2, 3, 4}).Weight("a", {4, 5}).Weight("b", {5, 6}).Weight("c", {6});
  model.Weight("w", {4, 4}).Node("MatMul", {"x", "w"}, {"h"});
  AddChain(model);
  const InferredModel step = StepOf(model.Output("y").Infer(), Plain());
  EXPECT_EQ(Find(step, "Gradient"), nullptr);
  const std::int64_t first = 6 * 4 * 4, a = 6 * 4 * 5, b = 6 * 5 * 6, c = 6 * 6;
  EXPECT_THAT(
      MacsByPhase(step),
      ElementsAre(Pair("backward for data", a + b), Pair("backward for weights", first + a + b + c),
                  Pair("forward", first + a + b + c), Pair("optimizer", 0)));
  // x, and the left side of each pair.
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * (24 + 24 + 30 + 36)));
}

TEST(Decompose, StepsOfALoopDoSo) {
  SmallModel body;
  body.Input("i", {}, onnx::TensorProto::INT64).Input("on", {}, onnx::TensorProto::BOOL);
  body.Input("h", {2, 3, 4}).Node("Identity", {"on"}, {"go"}).Node("Identity", {"h"}, {"next"});
  AddChain(body);
  body.Output("go").Output("next").Output("y");
  SmallModel model;
  model.Input("x", {2, 3, 4}).Weight("a", {4, 5}).Weight("b", {5, 6}).Weight("c", {6});
  model.Scalar("times", 7);
  SetGraph(model.AddNode("Loop", {"times", "", "x"}, {"last", "ys"}), "body", body);
  const InferredModel step = StepOf(model.Output("ys").Infer(), Plain());
  EXPECT_EQ(Find(step, "Gradient"), nullptr);
  std::int64_t macs = 0;
  for (const auto& [phase, of_phase] : MacsByPhase(step)) macs += of_phase;
  const std::int64_t a = 6 * 4 * 5, b = 6 * 5 * 6, c = 6 * 6;
  EXPECT_EQ(macs, 7 * (2 * a + 3 * b + 2 * c)) << "nothing trained is before the first pair";
}

TEST(Lists, AnElementIsTheTensorItself) {
  SmallModel model;
  model.Input("x", {4, 8})
      .Weight("a", {8, 6})
      .Weight("b", {3, 2})
      .Node("MatMul", {"x", "a"}, {"h"});
  model.Ints("parts", {3, 3}).Scalar("last", -1);
  SetInt(model.AddNode("SplitToSequence", {"h", "parts"}, {"s"}), "axis", 1);
  model.Node("SequenceAt", {"s", "last"}, {"t"}).Node("MatMul", {"t", "b"}, {"y"}).Output("y");
  const InferredModel step = StepOf(model.Infer(), Plain());
  for (const char* op : {"SplitToSequence", "SequenceAt", "Gradient"}) {
    EXPECT_EQ(Find(step, op), nullptr) << op;
  }
  EXPECT_THAT(MacsByPhase(step),
              ElementsAre(Pair("backward for data", 4 * 3 * 2),
                          Pair("backward for weights", 4 * 3 * 2 + 4 * 8 * 6),
                          Pair("forward", 4 * 3 * 2 + 4 * 8 * 6), Pair("optimizer", 0)));
}

}  // namespace
}  // namespace dlcost
