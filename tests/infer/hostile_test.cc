// Files that no exporter writes and that must neither crash nor hang: each ends in a line that says
// where, within a second.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

class Hostile : public ::testing::Test {
 protected:
  // Sanitizers and a busy machine slow everything down; an endless loop stays endless.
  static constexpr std::chrono::seconds kLimit{300};

  void SetUp() override { start_ = std::chrono::steady_clock::now(); }
  void TearDown() override { EXPECT_LT(std::chrono::steady_clock::now() - start_, kLimit); }

  static std::string ErrorOf(const SmallModel& model) {
    try {
      model.Infer();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

 private:
  std::chrono::steady_clock::time_point start_;
};

// Loop(trips, true, x) around `body`, which hands on the condition and h2.
SmallModel LoopAround(SmallModel body, std::int64_t trips) {
  SmallModel model;
  model.Input("x", {1, 4}).Weight("w", {4, 4}).Ints("n", {trips});
  SetGraph(model.AddNode("Loop", {"n", "", "x"}, {"y"}), "body", body);
  return model.Output("y");
}

SmallModel Body() {
  SmallModel body;
  body.Input("i", {}, onnx::TensorProto::INT64).Input("go", {}, onnx::TensorProto::BOOL);
  return body.Input("h", {"rows", 4}).Output("go");
}

TEST_F(Hostile, ALoopOfManyTripsThatGrows) {
  SmallModel body = Body();
  SetInt(body.AddNode("Concat", {"h", "h"}, {"h2"}), "axis", 0);
  const InferredModel model = LoopAround(body.Output("h2"), 1'000'000'000).Infer();
  EXPECT_EQ(NodeOf(model, "n_y").status, NodeStatus::kUnknown);
  EXPECT_THAT(NodeOf(model, "n_y").why, HasSubstr("changes shape in every one of"));
}

TEST_F(Hostile, ALoopOfManyTripsThatDoesNot) {
  SmallModel body = Body();
  const SmallModel model =
      LoopAround(body.Node("MatMul", {"h", "w"}, {"h2"}).Output("h2"), 1'000'000'000'000'000'000);
  EXPECT_THAT(ErrorOf(model), HasSubstr("n_y"));
}

TEST_F(Hostile, ALoopThatNeverSaysStop) {
  SmallModel body = Body();
  SmallModel model = LoopAround(body.Node("Relu", {"h"}, {"h2"}).Output("h2"), 1);
  model.proto().mutable_graph()->mutable_node(0)->set_input(0, "");
  EXPECT_THAT(ErrorOf(model), HasSubstr("never ends"));
}

// The condition is an And of itself, 60 times over: 2^60 ways to a counter.
TEST_F(Hostile, AConditionThatDoubles) {
  SmallModel body = Body();
  body.Node("Less", {"i", "seven"}, {"a0"}).Node("MatMul", {"h", "w"}, {"h2"});
  for (int depth = 0; depth < 60; ++depth) {
    const std::string from = "a" + std::to_string(depth);
    body.Node("And", {from, from}, {"a" + std::to_string(depth + 1)});
  }
  body.proto().mutable_graph()->mutable_output(0)->set_name("a60");
  SmallModel model = LoopAround(body.Output("h2"), std::numeric_limits<std::int64_t>::max());
  model.Scalar("seven", 7);
  EXPECT_EQ(NodeOf(model.Infer(), "n_y/n_h2").repeat, Count(8)) << "followed by its values";
}

// A body of nodes that wait for one another.
TEST_F(Hostile, AStateInACircle) {
  SmallModel body = Body();
  body.Node("Identity", {"p"}, {"h2"}).Node("Identity", {"h2"}, {"p"}).Output("h2");
  EXPECT_THAT(ErrorOf(LoopAround(body, 5)), HasSubstr("cycle"));
}

// Each of 8 loops in one another runs 2^62 times.
TEST_F(Hostile, LoopsInLoopsWithoutALimit) {
  SmallModel inner = Body();
  inner.Node("Relu", {"h"}, {"h2"}).Output("h2");
  for (int depth = 0; depth < 8; ++depth) {
    inner.proto().mutable_graph()->mutable_output(0)->set_name("go2");
    inner.Node("Less", {"i", "end"}, {"go2"});
    SmallModel outer = Body();
    SetGraph(outer.AddNode("Loop", {"n", "", "h"}, {"h2"}), "body", inner);
    inner = outer.Output("h2");
  }
  SmallModel model;
  model.Input("x", {1, 4}).Scalar("n", std::numeric_limits<std::int64_t>::max());
  model.Scalar("end", std::int64_t{1} << 62).Scalar("once", 1);
  SetGraph(model.AddNode("Loop", {"once", "", "x"}, {"y"}), "body", inner);
  EXPECT_THAT(ErrorOf(model.Output("y")), HasSubstr("does not fit in 64 bits"));
}

// As many taps as there are positions: which of them meet padding is not found out one by one.
TEST_F(Hostile, AFilterAsLongAsTheLongestAxis) {
  constexpr int kExtent = 2'000'000'000;
  SmallModel model;
  model.Input("x", {1, 1, kExtent}).Weight("w", {1, 1, kExtent});
  SetInts(model.AddNode("Conv", {"x", "w"}, {"y"}), "pads", {kExtent - 1, kExtent - 1});
  const InferredModel inferred = model.Output("y").Infer();
  // Every tap meets every position once.
  EXPECT_EQ(NodeOf(inferred, "n_y").cost.valid_macs, Macs(Count(kExtent) * kExtent));
}

// Nothing tells the scales, so that the declared shape is taken; its rank is not the input's.
TEST_F(Hostile, ADeclaredRankThatNoNodeCanMake) {
  SmallModel model;
  model.Input("x", {1, 1, 2, 2}).Input("scales", {4}).Node("Upsample", {"x", "scales"}, {"y"});
  auto* output = model.proto().mutable_graph()->add_output();
  output->set_name("y");
  auto* tensor = output->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx::TensorProto::FLOAT);
  tensor->mutable_shape()->add_dim()->set_dim_value(4);
  EXPECT_THAT(ErrorOf(model), HasSubstr("n_y"));
  EXPECT_THAT(ErrorOf(model), HasSubstr("the shape [4] has no axis 1"));
}

// 61 loops, each inside the next: 2^61 runs of 4 comparisons are too many to count.
TEST_F(Hostile, LoopsInLoops) {
  SmallModel inner = Body();
  inner.Node("Relu", {"h"}, {"h2"}).Output("h2");
  for (int depth = 0; depth < 60; ++depth) {
    SmallModel outer = Body();
    SetGraph(outer.AddNode("Loop", {"n", "", "h"}, {"h2"}), "body", inner);
    inner = outer.Output("h2");
  }
  for (const std::int64_t trips : {1, 2}) {
    SmallModel model;
    model.Input("x", {1, 4}).Ints("n", {trips});
    SetGraph(model.AddNode("Loop", {"n", "", "x"}, {"y"}), "body", inner);
    model.Output("y");
    EXPECT_THAT(ErrorOf(model), trips == 1 ? HasSubstr("no error") : HasSubstr("n_y"));
  }
}

// No loop has a counter that moves by fixed steps: each would be followed, and those inside in each
// of its iterations.
TEST_F(Hostile, LoopsInLoopsThatMustBeFollowed) {
  const auto body_with_counter = [] {
    SmallModel body;
    body.Input("i", {}, onnx::TensorProto::INT64).Input("go", {}, onnx::TensorProto::BOOL);
    body.Input("k", {}, onnx::TensorProto::INT64).Input("h", {"rows", 4});
    body.Node("Mul", {"k", "k"}, {"square"}).Node("Mod", {"square", "end"}, {"k2"});
    body.Node("Less", {"k2", "end"}, {"go2"});
    return body.Output("go2").Output("k2");
  };
  SmallModel inner = body_with_counter();
  inner.Node("Relu", {"h"}, {"h2"}).Output("h2");
  for (int depth = 0; depth < 8; ++depth) {
    SmallModel outer = body_with_counter();
    SetGraph(outer.AddNode("Loop", {"n", "", "three", "h"}, {"k9", "h2"}), "body", inner);
    inner = outer.Output("h2");
  }
  SmallModel model;
  model.Input("x", {1, 4}).Scalar("n", std::numeric_limits<std::int64_t>::max());
  model.Scalar("three", 3).Scalar("end", 1'000'003);
  SetGraph(model.AddNode("Loop", {"n", "", "three", "x"}, {"k8", "y"}), "body", inner);
  const InferredModel inferred = model.Output("y").Infer();
  EXPECT_EQ(NodeOf(inferred, "n_k8").status, NodeStatus::kUnknown);
}

// A function `name` whose body calls `callee` twice.
void AddFunction(SmallModel& model, const std::string& name, const std::string& callee) {
  onnx::FunctionProto& function = *model.proto().add_functions();
  function.set_domain("my");
  function.set_name(name);
  function.add_input("a");
  function.add_output("c");
  function.add_opset_import()->set_version(17);
  for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "c")}) {
    onnx::NodeProto& node = *function.add_node();
    node.set_op_type(callee);
    if (callee != "Relu") node.set_domain("my");
    node.add_input(from);
    node.add_output(to);
  }
}

SmallModel Calling(const std::string& function) {
  SmallModel model;
  onnx::OperatorSetIdProto& opset = *model.proto().add_opset_import();
  opset.set_domain("my");
  opset.set_version(1);
  model.Input("x", {1, 4}).AddNode(function, {"x"}, {"y"}).set_domain("my");
  return model.Output("y");
}

TEST_F(Hostile, AFunctionThatCallsItself) {
  SmallModel direct = Calling("f");
  AddFunction(direct, "f", "f");
  EXPECT_THAT(ErrorOf(direct), HasSubstr("'f' calls itself"));
  SmallModel mutual = Calling("f");
  AddFunction(mutual, "f", "g");
  AddFunction(mutual, "g", "f");
  EXPECT_THAT(ErrorOf(mutual), HasSubstr("'f' calls itself"));
}

TEST_F(Hostile, FunctionsThatDouble) {
  SmallModel model = Calling("f0");
  for (int depth = 0; depth < 60; ++depth) {
    AddFunction(model, "f" + std::to_string(depth),
                depth == 59 ? "Relu" : "f" + std::to_string(depth + 1));
  }
  EXPECT_THAT(ErrorOf(model), HasSubstr("nodes after inlining"));
}

// A field of length-delimited content, as protobuf writes it.
std::string Field(int number, const std::string& content) {
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  for (std::size_t left = content.size();; left >>= 7) {
    bytes += static_cast<char>((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    if (left <= 0x7f) break;
  }
  return bytes + content;
}

// Written byte by byte: protobuf itself would not parse so deep a message.
TEST_F(Hostile, AnIfThatDoesNotEndNesting) {
  SmallModel innermost;
  innermost.Node("Relu", {"x"}, {"y"}).Output("y");
  const std::string leaf = innermost.proto().graph().SerializeAsString();
  std::string graph = leaf;
  for (int depth = 0; depth < 2000; ++depth) {
    const std::string other = Field(1, "then_branch") + Field(6, leaf);
    const std::string deeper = Field(1, "else_branch") + Field(6, graph);
    const std::string node =
        Field(1, "c") + Field(2, "y") + Field(4, "If") + Field(5, other) + Field(5, deeper);
    graph = Field(1, node) + Field(12, Field(1, "y"));
  }
  try {
    ReadModelFromBytes(Field(7, graph), "deep.onnx");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("too deep"));
  }
}

// Text may be compared, converted and moved, but is not computed with: no count is made up.
TEST_F(Hostile, ArithmeticOnText) {
  constexpr int kText = onnx::TensorProto::STRING;
  const auto model = [&](const char* op, std::vector<SmallModel::Extent> dims) {
    SmallModel of_text;
    of_text.Input("a", dims, kText).Input("b", dims, kText);
    of_text.AddNode(op, {"a", "b"}, {"y"});
    return of_text.Output("y");
  };
  const char* says = "it computes with numbers, and an input is of type string";
  EXPECT_THAT(ErrorOf(model("Conv", {1, 1, 3, 3})), HasSubstr(says));
  EXPECT_THAT(ErrorOf(model("MatMul", {4, 4})), HasSubstr(says));
  EXPECT_THAT(ErrorOf(model("Mul", {4, 4})), HasSubstr(says));
  EXPECT_EQ(ErrorOf(model("Equal", {4, 4})), "no error");
}

}  // namespace
}  // namespace dlcost
