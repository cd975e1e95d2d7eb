#include "estimator/infer/run_values.h"

#include <gtest/gtest.h>

#include "estimator/infer/infer_once.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

InferredModel InferAt(const SmallModel& model, const std::vector<std::string>& at,
                      bool assume = false) {
  InferOptions options;
  for (const std::string& text : at) options.at.push_back(ParseRunBinding(text));
  options.assume_typical = assume;
  return Infer(model.Read(), options);
}

std::string AdviceError(const SmallModel& model, const std::string& at) {
  try {
    InferAt(model, {at});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// Rows that a mask keeps, through a product: 8 x 16 weights for each.
SmallModel Experts() {
  SmallModel model;
  model.Input("x", {40, 8}).Input("mask", {40}, onnx::TensorProto::BOOL).Weight("w", {8, 16});
  model.Ints("minus", {-1});
  model.Node("NonZero", {"mask"}, {"kept"}).Node("Reshape", {"kept", "minus"}, {"rows"});
  model.Node("Gather", {"x", "rows"}, {"taken"}).Node("MatMul", {"taken", "w"}, {"y"}).Output("y");
  return model;
}

// A length that is a sum of durations, and what is done over it.
SmallModel Speech() {
  SmallModel model;
  model.Input("durations", {1, 12}, onnx::TensorProto::INT64).Input("x", {1, 8});
  model.Weight("w", {8, 16}).Ints("one", {1}).Ints("eight", {8});
  SetInt(model.AddNode("ReduceSum", {"durations"}, {"length"}), "keepdims", 0);
  model.Node("Unsqueeze", {"length", "zero"}, {"frames"}).Ints("zero", {0});
  SetInt(model.AddNode("Concat", {"frames", "eight"}, {"shape"}), "axis", 0);
  model.Node("Expand", {"x", "shape"}, {"wide"}).Node("MatMul", {"wide", "w"}, {"y"}).Output("y");
  return model;
}

TEST(RunValues, TextsAreParsed) {
  const RunBinding shape = ParseRunBinding("/a/NonZero:1=2x57");
  EXPECT_EQ(shape.target, "/a/NonZero:1");
  EXPECT_EQ(std::get<Shape>(shape.what), Shape({2, 57}));
  EXPECT_EQ(std::get<RunBinding::Values>(ParseRunBinding("a=b=[1, -2,0.5]").what).elements,
            (std::vector<double>{1, -2, 0.5}));
  EXPECT_EQ(ParseRunBinding("a=b=[1]").target, "a=b");
  EXPECT_DOUBLE_EQ(std::get<RunBinding::Share>(ParseRunBinding("n=12.5%").what).fraction, 0.125);
  EXPECT_EQ(std::get<Shape>(ParseRunBinding("n=").what), Shape());
  EXPECT_TRUE(std::get<RunBinding::Values>(ParseRunBinding("n=[]").what).elements.empty());
  for (const char* wrong : {"n", "=2", "n=2xx3", "n=-1", "n=a", "n=[1", "n=[a]", "n=[1,]", "n=101%",
                            "n=-1%", "n=%", "n=[inf]", "n=99999999999999999999"}) {
    EXPECT_THROW(ParseRunBinding(wrong), Error) << wrong;
  }
}

TEST(RunValues, AShapeMakesCountsExact) {
  const InferredModel most = InferAt(Experts(), {});
  EXPECT_EQ(MacsOf(most), Macs(40 * 8 * 16));
  EXPECT_TRUE(NodeOf(most, "n_y").upper_bound);
  const InferredModel model = InferAt(Experts(), {"n_kept=1x13"});
  EXPECT_EQ(ShapeOf(model, "y"), Shape({13, 16}));
  EXPECT_EQ(MacsOf(model), Macs(13 * 8 * 16));
  for (const CountedNode& node : model.nodes) EXPECT_FALSE(node.upper_bound) << node.name;
  ASSERT_EQ(model.bindings_used.size(), 1U);
  EXPECT_EQ(model.bindings_used[0].node, "n_kept");
  EXPECT_EQ(model.bindings_used[0].what, "[1,13] of at most [1,40]");
  EXPECT_EQ(model.bindings_used[0].how, "--at n_kept=1x13");
  EXPECT_TRUE(model.notes.empty());
}

TEST(RunValues, NodesTensorsAndPatternsAreNames) {
  for (const char* at : {"n_kept=1x13", "kept=1x13", "n_kept:0=1x13", "*kept=1x13", "n_k*t=1x13",
                         "kept=32.5%", "n_*:0=32.5%"}) {
    EXPECT_EQ(MacsOf(InferAt(Experts(), {at})), Macs(13 * 8 * 16)) << at;
  }
}

TEST(RunValues, PatternsBindWhatIsOpenInNodes) {
  // The names of tensors would match, too: of the Reshape behind, whose shape follows.
  EXPECT_EQ(MacsOf(InferAt(Experts(), {"*=32.5%"})), Macs(13 * 8 * 16));
  EXPECT_EQ(AdviceError(Experts(), "m_*=50%"),
            "test.onnx: --at m_*=50%: there is no such node or tensor");
  // A name goes before a pattern.
  EXPECT_EQ(MacsOf(InferAt(Experts(), {"*=50%", "n_kept=1x13"})), Macs(13 * 8 * 16));
}

TEST(RunValues, AnUpperBoundIsNotedWithWhatBindsIt) {
  EXPECT_EQ(InferAt(Experts(), {}).notes,
            std::vector<std::string>{
                "the counts of 4 nodes are upper bounds, for the data decides the size of n_kept; "
                "bind sizes, such as --at n_kept=50%, or estimate with --assume typical"});
}

TEST(RunValues, ValuesOfAMaskCountItsRows) {
  SmallModel model;
  model.Input("s", {6}).Ints("zero", {0}).Input("x", {6, 8});
  model.Node("Cast", {"s"}, {"i"}).Node("NonZero", {"i"}, {"kept"}).Output("kept");
  SetInt(*model.proto().mutable_graph()->mutable_node(0), "to", onnx::TensorProto::INT64);
  const InferredModel inferred = InferAt(model, {"i=[1,0,0,1,1,0]"});
  EXPECT_EQ(ShapeOf(inferred, "kept"), Shape({1, 3}));
  EXPECT_FALSE(NodeOf(inferred, "n_kept").upper_bound);
  EXPECT_EQ(NodeOf(inferred, "n_i").status, NodeStatus::kCounted) << "it runs all the same";
}

TEST(RunValues, WithoutAdviceCountsAreTheSame) {
  const Model model = Speech().Read();
  const InferredModel advised = Infer(model, {}), plain = InferUnadvised(model, {});
  EXPECT_EQ(plain.notes.size() + 1, advised.notes.size());
  EXPECT_NE(advised.notes.back().find("--at"), std::string::npos);
  EXPECT_EQ(MacsOf(plain), MacsOf(advised));
  EXPECT_EQ(NodeOf(plain, "n_y").status, NodeStatus::kUnknown);
  // What is assumed changes counts.
  EXPECT_EQ(MacsOf(InferUnadvised(model, {.assume_typical = true})),
            MacsOf(Infer(model, {.assume_typical = true})));
  EXPECT_NE(MacsOf(InferUnadvised(model, {.assume_typical = true})), MacsOf(plain));
}

TEST(RunValues, ALengthResolvesWhatFollows) {
  const InferredModel open = InferAt(Speech(), {});
  EXPECT_EQ(NodeOf(open, "n_y").status, NodeStatus::kUnknown);
  ASSERT_FALSE(open.notes.empty());
  EXPECT_EQ(open.notes.back(),
            "2 unknown nodes follow from the value of 'length': bind it with --at 'length=[60]'");
  const InferredModel model = InferAt(Speech(), {"n_length=[57]"});
  EXPECT_EQ(MacsOf(model), Macs(57 * 8 * 16));
  ASSERT_EQ(model.bindings_used.size(), 1U);
  EXPECT_EQ(model.bindings_used[0].node, "n_length");
  EXPECT_TRUE(model.bindings_used[0].what.starts_with("the value [57]"));
}

TEST(RunValues, WhatCannotBeIsAnError) {
  EXPECT_EQ(AdviceError(Experts(), "n_kept=1x41"),
            "test.onnx: node 'n_kept' (NonZero): --at n_kept=1x41: its shape is at most [1,40]");
  EXPECT_EQ(AdviceError(Experts(), "n_kept=13"),
            "test.onnx: node 'n_kept' (NonZero): --at n_kept=13: its shape is at most [1,40]");
  EXPECT_EQ(
      AdviceError(Experts(), "n_kpet=1x13"),
      "test.onnx: --at n_kpet=1x13: there is no such node or tensor (did you mean 'n_kept'?)");
  EXPECT_EQ(AdviceError(Experts(), "x=1x13"),
            "test.onnx: --at x=1x13: 'x' is an input; bind it with --input or --value");
  EXPECT_EQ(AdviceError(Speech(), "length=[1,2]"),
            "test.onnx: node 'n_length' (ReduceSum): --at length=[1,2]: 2 values for a tensor of "
            "shape []");
  EXPECT_EQ(AdviceError(Speech(), "length=[1.5]"),
            "test.onnx: node 'n_length' (ReduceSum): --at length=[1.5]: 1.5 is no integer");
  EXPECT_EQ(
      AdviceError(Speech(), "length=50%"),
      "test.onnx: node 'n_length' (ReduceSum): --at length=50%: its shape is [], whatever the "
      "data is");
}

TEST(RunValues, SizesOfOneNodeAreOneSize) {
  SmallModel model;
  model.Input("x", {10}, onnx::TensorProto::INT64);
  model.Node("Unique", {"x"}, {"values", "first", "inverse", "counts"}).Output("values");
  const InferredModel inferred = InferAt(model, {"n_values=4"});
  EXPECT_EQ(ShapeOf(inferred, "first"), Shape({4}));
  EXPECT_EQ(ShapeOf(inferred, "inverse"), Shape({10}));
  EXPECT_EQ(ShapeOf(inferred, "counts"), Shape({4}));
  EXPECT_FALSE(NodeOf(inferred, "n_values").upper_bound);
  EXPECT_EQ(ShapeOf(InferAt(model, {"n_values:3=4"}), "values"), Shape({4}));
}

TEST(RunValues, OperatorsThatNobodyDefinedTakeAShape) {
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {16, 3});
  model.AddNode("Mystery", {"x"}, {"m"}).set_domain("my.own");
  model.proto().add_opset_import()->set_domain("my.own");
  model.Node("MatMul", {"m", "w"}, {"y"}).Output("y");
  const InferredModel inferred = InferAt(model, {"n_m=4x16"});
  EXPECT_EQ(ShapeOf(inferred, "y"), Shape({4, 3}));
  EXPECT_EQ(NodeOf(inferred, "n_m").status, NodeStatus::kUnknown);
}

TEST(Assume, HalfOfAMask) {
  const InferredModel model = InferAt(Experts(), {}, true);
  EXPECT_EQ(MacsOf(model), Macs(20 * 8 * 16));
  EXPECT_TRUE(NodeOf(model, "n_y").assumed);
  EXPECT_TRUE(NodeOf(model, "n_kept").assumed);
  EXPECT_FALSE(NodeOf(model, "n_y").upper_bound);
  ASSERT_EQ(model.assumptions.size(), 1U);
  EXPECT_EQ(model.assumptions[0].node, "n_kept");
  EXPECT_EQ(model.assumptions[0].what, "[1,20] of at most [1,40]");
  EXPECT_EQ(model.assumptions[0].how, "half of the elements of a mask");
  // What the user says comes first.
  const InferredModel bound = InferAt(Experts(), {"kept=1x13"}, true);
  EXPECT_EQ(MacsOf(bound), Macs(13 * 8 * 16));
  EXPECT_TRUE(bound.assumptions.empty());
  EXPECT_FALSE(NodeOf(bound, "n_y").assumed);
}

TEST(Assume, AnEqualPartForEachExpert) {
  SmallModel model;
  model.Input("chosen", {40}, onnx::TensorProto::INT64).Ints("experts", {8}).Ints("bits", {0, 1});
  model.Ints("third", {3});
  SetInt(model.AddNode("OneHot", {"chosen", "experts", "bits"}, {"table"}), "axis", 0);
  SetInt(model.AddNode("Gather", {"table", "third"}, {"mask"}), "axis", 0);
  model.Node("NonZero", {"mask"}, {"kept"}).Output("kept");
  const InferredModel inferred = InferAt(model, {}, true);
  EXPECT_EQ(ShapeOf(inferred, "kept"), Shape({2, 5}));
}

TEST(Assume, EveryExpertIsMet) {
  SmallModel model;
  model.Input("chosen", {40}, onnx::TensorProto::INT64).Ints("experts", {8}).Ints("bits", {0, 1});
  SetInt(model.AddNode("OneHot", {"chosen", "experts", "bits"}, {"table"}), "axis", 0);
  model.Ints("rows", {1}).Ints("none", {0}).Node("ReduceSum", {"table", "rows"}, {"met"});
  model.Node("Greater", {"met", "none"}, {"mask"}).Node("NonZero", {"mask"}, {"kept"});
  model.Output("kept");
  const InferredModel inferred = InferAt(model, {}, true);
  EXPECT_EQ(ShapeOf(inferred, "kept").dims().back(), 8);
  EXPECT_TRUE(NodeOf(inferred, "n_kept").assumed);
}

TEST(Assume, WhatTheModelContradictsIsLeft) {
  SmallModel model = Experts();
  model.Weight("all", {40, 8}).Node("Add", {"taken", "all"}, {"sum"}).Output("sum");
  const InferredModel inferred = InferAt(model, {}, true);
  EXPECT_TRUE(inferred.assumptions.empty());
  EXPECT_TRUE(NodeOf(inferred, "n_y").upper_bound);
}

TEST(Assume, FiveFramesForEachDuration) {
  const InferredModel model = InferAt(Speech(), {}, true);
  EXPECT_EQ(MacsOf(model), Macs(60 * 8 * 16));
  EXPECT_TRUE(NodeOf(model, "n_y").assumed);
  ASSERT_EQ(model.assumptions.size(), 1U);
  EXPECT_EQ(model.assumptions[0].what, "the value [60]");
}

TEST(Assume, NothingToAssumeChangesNothing) {
  SmallModel model;
  model.Input("x", {4, 8}).Node("Relu", {"x"}, {"y"}).Output("y");
  const InferredModel inferred = InferAt(model, {}, true);
  EXPECT_TRUE(inferred.assumptions.empty());
  EXPECT_THAT(inferred.notes, testing::ElementsAre(testing::HasSubstr("changes nothing")));
}

}  // namespace
}  // namespace dlcost
