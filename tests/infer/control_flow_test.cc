// Control flow against hand counts: a product [4,8] x [8,8] has 4 * 8 * 8 = 256
// multiply-accumulates.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/core/error.h"
#include "estimator/infer/memory.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

InferredModel Infer(const SmallModel& model, const ControlChoices& control = {}) {
  InferOptions options;
  options.control = control;
  return Infer(model.Read(), options);
}

// Loop(trips, true, x): h = MatMul(h, w), which captures w.
SmallModel LoopModel(std::vector<std::int64_t> trips) {
  SmallModel body;
  body.Input("i", {}, onnx::TensorProto::INT64).Input("c", {}, onnx::TensorProto::BOOL);
  body.Input("h", {4, 8}).Node("Identity", {"c"}, {"c2"}).Node("MatMul", {"h", "w"}, {"h2"});
  body.Node("Relu", {"h2"}, {"z"}).Output("c2").Output("h2").Output("z");
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 8});
  if (trips.empty()) {
    model.Input("n", {}, onnx::TensorProto::INT64);
  } else {
    model.Ints("n", trips);
  }
  SetGraph(model.AddNode("Loop", {"n", "", "x"}, {"y", "all"}), "body", body);
  model.Output("y").Output("all");
  return model;
}

TEST(Loop, MultipliesItsBodyByTheTripCount) {
  const InferredModel model = Infer(LoopModel({5}));
  EXPECT_EQ(MacsOf(model), Macs(5 * 256));
  EXPECT_EQ(ShapeOf(model, "y"), Shape({4, 8}));
  EXPECT_EQ(ShapeOf(model, "all"), Shape({5, 4, 8}));
  EXPECT_EQ(NodeOf(model, "n_y/n_h2").repeat, Count(5));
  EXPECT_EQ(model.parameters, Count(64)) << "w is captured, not copied";
}

TEST(If, BranchesWithDifferentOutputsAreAnError) {
  SmallModel one, two;
  one.Node("Relu", {"x"}, {"a"}).Output("a").Output("a");
  two.Node("Neg", {"x"}, {"b"}).Output("b");
  SmallModel model;
  model.Input("x", {4}).Input("c", {}, onnx::TensorProto::BOOL);
  auto& branch = model.AddNode("If", {"c"}, {"y"});
  SetGraph(branch, "then_branch", one);
  SetGraph(branch, "else_branch", two);
  model.Output("y");
  EXPECT_THAT([&] { Infer(model); },
              testing::ThrowsMessage<Error>(HasSubstr("one branch has 2 outputs, the other 1")));
}

TEST(Loop, WithoutIterationsHandsOnItsState) {
  const InferredModel model = Infer(LoopModel({0}));
  EXPECT_EQ(MacsOf(model), Macs(0));
  EXPECT_EQ(ShapeOf(model, "all"), Shape({0, 4, 8}));
}

TEST(Loop, AChoiceForAllThatChangesNothingIsSaid) {
  ControlChoices control;
  control.trips[""] = 3;
  const auto unused = testing::Contains(HasSubstr("--trips changes nothing"));
  EXPECT_THAT(Infer(LoopModel({5}), control).notes, unused);
  EXPECT_THAT(Infer(LoopModel({}), control).notes, testing::Not(unused));
}

TEST(Loop, AnOpenTripCountIsNamedAndCanBeBound) {
  const SmallModel open = LoopModel({});
  const InferredModel unknown = Infer(open);
  EXPECT_EQ(NodeOf(unknown, "n_y").status, NodeStatus::kUnknown);
  EXPECT_THAT(NodeOf(unknown, "n_y").why, HasSubstr("--trips 'n_y=16'"));
  ControlChoices choices;
  AddTrips(choices, "n_y=7");
  EXPECT_EQ(MacsOf(Infer(open, choices)), Macs(7 * 256));
  ControlChoices misspelt;
  AddTrips(misspelt, "n_z=7");
  EXPECT_THROW(Infer(open, misspelt), Error);
}

TEST(Loop, TooManyIterationsOverflowWithAName) {
  try {
    Infer(LoopModel({1'000'000'000'000'000'000}));
    // Such a limit means "none" to exporters, and this body never says stop.
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("n_y"));
  }
}

// h = Concat(h, h W): 1, 2, 4 rows; MACs 64 * (1 + 2 + 4).
TEST(Loop, StateThatGrowsIsFollowed) {
  SmallModel body;
  body.Input("i", {}, onnx::TensorProto::INT64).Input("c", {}, onnx::TensorProto::BOOL);
  body.Input("h", {"rows", 8}).Node("Identity", {"c"}, {"c2"}).Node("MatMul", {"h", "w"}, {"m"});
  SetInt(body.AddNode("Concat", {"h", "m"}, {"h2"}), "axis", 0);
  body.Output("c2").Output("h2");
  SmallModel model;
  model.Input("x", {1, 8}).Weight("w", {8, 8}).Ints("n", {3});
  SetGraph(model.AddNode("Loop", {"n", "", "x"}, {"y"}), "body", body);
  model.Output("y");
  const InferredModel inferred = Infer(model);
  EXPECT_EQ(ShapeOf(inferred, "y"), Shape({8, 8}));
  EXPECT_EQ(MacsOf(inferred), Macs(64 * 7));
  EXPECT_EQ(inferred.parameters, Count(64));
}

// while (k < 4) { k = k + 1; h = h W }: the condition follows from the counter.
TEST(Loop, AConditionOnACounterIsFollowed) {
  SmallModel body;
  body.Input("i", {}, onnx::TensorProto::INT64).Input("c", {}, onnx::TensorProto::BOOL);
  body.Input("k", {1}, onnx::TensorProto::INT64).Input("h", {4, 8});
  body.Node("Add", {"k", "one"}, {"k2"}).Node("Less", {"k2", "four"}, {"c2"});
  body.Node("MatMul", {"h", "w"}, {"h2"}).Output("c2").Output("k2").Output("h2");
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 8}).Ints("zero", {0}).Ints("one", {1}).Ints("four", {4});
  SetGraph(model.AddNode("Loop", {"", "", "zero", "x"}, {"k3", "y"}), "body", body);
  model.Output("y");
  EXPECT_EQ(MacsOf(Infer(model)), Macs(4 * 256));
}

SmallModel IfModel(bool constant) {
  SmallModel cheap, costly;
  cheap.Node("MatMul", {"x", "w"}, {"a"}).Output("a");
  costly.Node("MatMul", {"x", "w"}, {"b"}).Node("MatMul", {"b", "w"}, {"c"}).Output("c");
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 8});
  if (constant) {
    model.Ints("one", {1}).Node("Less", {"one", "one"}, {"no"});
  } else {
    model.Input("no", {1}, onnx::TensorProto::BOOL);
  }
  onnx::NodeProto& node = model.AddNode("If", {"no"}, {"y"});
  SetGraph(node, "then_branch", costly);
  SetGraph(node, "else_branch", cheap);
  model.Output("y");
  return model;
}

TEST(If, AKnownConditionTakesItsBranch) { EXPECT_EQ(MacsOf(Infer(IfModel(true))), Macs(256)); }

TEST(If, AnOpenConditionTakesTheCostlierBranchOrTheChosenOne) {
  const InferredModel model = Infer(IfModel(false));
  EXPECT_EQ(MacsOf(model), Macs(2 * 256));
  EXPECT_TRUE(NodeOf(model, "n_y").upper_bound);
  EXPECT_THAT(NodeOf(model, "n_y").cost.note, HasSubstr("then branch"));
  ControlChoices choices;
  AddBranch(choices, "else");
  EXPECT_EQ(MacsOf(Infer(IfModel(false), choices)), Macs(256));
}

TEST(If, NestedInItself) {
  SmallModel inner;
  inner.Node("MatMul", {"x", "w"}, {"y0"}).Output("y0");
  for (int depth = 1; depth < 60; ++depth) {
    SmallModel outer;
    onnx::NodeProto& node = outer.AddNode("If", {"c"}, {"y" + std::to_string(depth)});
    SetGraph(node, "then_branch", inner);
    SmallModel other;
    other.Node("Relu", {"x"}, {"z" + std::to_string(depth)}).Output("z" + std::to_string(depth));
    SetGraph(node, "else_branch", other);
    outer.Output("y" + std::to_string(depth));
    inner = outer;
  }
  inner.Input("x", {4, 8}).Weight("w", {8, 8}).Input("c", {}, onnx::TensorProto::BOOL);
  EXPECT_EQ(MacsOf(Infer(inner)), Macs(256));
}

// A branch that hands out a weight of its own: the one that is taken counts, the other does not.
TEST(If, WeightsThatABranchReturnsAreParameters) {
  SmallModel narrow, wide;
  narrow.Weight("a", {8, 2}).Output("a");
  wide.Weight("b", {8, 3}).Node("Identity", {"b"}, {"b2"}).Output("b2");
  for (const bool choose_wide : {true, false}) {
    SmallModel model;
    model.Input("x", {4, 8}).Input("c", {}, onnx::TensorProto::BOOL);
    onnx::NodeProto& node = model.AddNode("If", {"c"}, {"w"});
    SetGraph(node, "then_branch", wide);
    SetGraph(node, "else_branch", narrow);
    model.Node("MatMul", {"x", "w"}, {"y"}).Output("y");
    ControlChoices choices;
    AddBranch(choices, choose_wide ? "then" : "else");
    const InferredModel inferred = Infer(model, choices);
    EXPECT_EQ(inferred.parameters, Count(choose_wide ? 24 : 16));
    EXPECT_EQ(MacsOf(inferred), Macs(4 * (choose_wide ? 24 : 16)));
  }
}

// Scans axis 1 of [4,6,8]: 6 steps of [4,8] x [8,8]; results stack at axis 0.
TEST(Scan, StepsAlongItsAxis) {
  SmallModel body;
  body.Input("h", {4, 8}).Input("x", {4, 8}).Node("MatMul", {"x", "w"}, {"m"});
  body.Node("Add", {"h", "m"}, {"h2"}).Output("h2").Output("m");
  SmallModel model;
  model.Input("h0", {4, 8}).Input("xs", {4, 6, 8}).Weight("w", {8, 8});
  onnx::NodeProto& node = model.AddNode("Scan", {"h0", "xs"}, {"y", "ms"});
  SetGraph(node, "body", body);
  SetInt(node, "num_scan_inputs", 1);
  onnx::AttributeProto& axes = *node.add_attribute();
  axes.set_name("scan_input_axes");
  axes.set_type(onnx::AttributeProto::INTS);
  axes.add_ints(1);
  model.Output("y").Output("ms");
  const InferredModel inferred = Infer(model);
  EXPECT_EQ(MacsOf(inferred), Macs(6 * 256));
  EXPECT_EQ(ShapeOf(inferred, "y"), Shape({4, 8}));
  EXPECT_EQ(ShapeOf(inferred, "ms"), Shape({6, 4, 8}));
}

TEST(SequenceMap, RunsOncePerElement) {
  SmallModel body;
  body.Input("e", {"rows", 8}).Node("MatMul", {"e", "w"}, {"o"}).Output("o");
  SmallModel model;
  model.Input("a", {4, 8}).Input("b", {2, 8}).Weight("w", {8, 8});
  model.Node("SequenceConstruct", {"a", "b"}, {"s"});
  SetGraph(model.AddNode("SequenceMap", {"s"}, {"t"}), "body", body);
  SetInt(model.AddNode("ConcatFromSequence", {"t"}, {"y"}), "axis", 0);
  model.Output("y");
  const InferredModel inferred = Infer(model);
  EXPECT_EQ(MacsOf(inferred), Macs(256 + 128));
  EXPECT_EQ(ShapeOf(inferred, "y"), Shape({6, 8}));
  EXPECT_EQ(NodeOf(inferred, "n_t/n_o").repeat, Count(2)) << "one row for both elements";
}

// A sequence that comes in: only the user knows its length, which may be any number.
TEST(SequenceMap, RunsAsOftenAsTheUserSays) {
  SmallModel body;
  body.Input("e", {4, 8}).Node("MatMul", {"e", "w"}, {"o"}).Output("o");
  SmallModel model;
  model.Input("s", {4, 8}).Weight("w", {8, 8});
  onnx::TypeProto* type = model.proto().mutable_graph()->mutable_input(0)->mutable_type();
  const onnx::TypeProto tensor = *type;
  *type->mutable_sequence_type()->mutable_elem_type() = tensor;
  SetGraph(model.AddNode("SequenceMap", {"s"}, {"t"}), "body", body);
  model.Output("t");
  EXPECT_THAT(NodeOf(Infer(model), "n_t").why, HasSubstr("--trips 'n_t=16'"));
  for (const std::int64_t length : {std::int64_t{3}, std::int64_t{1} << 50}) {
    ControlChoices choices;
    AddTrips(choices, "n_t=" + std::to_string(length));
    EXPECT_EQ(NodeOf(Infer(model, choices), "n_t/n_o").repeat, Count(length));
  }
}

TEST(Choices, ReadTheirNodesFromTheRight) {
  ControlChoices choices;
  AddTrips(choices, "a=b=3");
  EXPECT_EQ(choices.trips.at("a=b"), 3);
  EXPECT_THROW(AddTrips(choices, "a=-1"), Error);
  EXPECT_THROW(AddTrips(choices, "a="), Error);
  EXPECT_THROW(AddBranch(choices, "a=both"), Error);
}

// Iteration t appends a row to [t + 1, 4] and multiplies by [4, 4]: 16 (t + 2) MACs. The sum over
// t < n is 16 n (n + 3) / 2, also where n is too large to follow.
TEST(Loop, GrowthIsSummedInClosedForm) {
  for (const std::int64_t n : {4, 20000, 1000000}) {
    SmallModel body;
    body.Input("i", {}, onnx::TensorProto::INT64).Input("go", {}, onnx::TensorProto::BOOL);
    body.Input("h", {"rows", 4}).Output("go");
    SetInt(body.AddNode("Concat", {"h", "row"}, {"longer"}), "axis", 0);
    body.Node("MatMul", {"longer", "w"}, {"h2"}).Output("h2");
    SmallModel model;
    model.Input("x", {1, 4}).Input("row", {1, 4}).Weight("w", {4, 4}).Ints("n", {n});
    SetGraph(model.AddNode("Loop", {"n", "", "x"}, {"y"}), "body", body);
    model.Output("y");
    const InferredModel inferred = Infer(model);
    EXPECT_EQ(ShapeOf(inferred, "y"), Shape({n + 1, 4}));
    EXPECT_EQ(MacsOf(inferred), Macs(16 * (n * (n + 3) / 2)));
    EXPECT_EQ(NodeOf(inferred, "n_y/n_h2").repeat, Count(n)) << "one row for all iterations";
    EXPECT_EQ(inferred.nodes.size(), 3U);
    // The last iteration holds h, what it appends to it, and the product.
    EXPECT_EQ(PeakActivations(inferred), Bytes(16 + 32 + 16 * (n + 1) * 2 + 16 * n));
  }
}

}  // namespace
}  // namespace dlcost
