#include "estimator/infer/infer.h"

#include <gtest/gtest.h>

#include <limits>

#include "estimator/infer/memory.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

TEST(Infer, NodesNeedNotBeSorted) {
  SmallModel model;
  model.Input("x", {2, 8}).Weight("w", {8, 4});
  model.Node("Relu", {"h"}, {"y"}).Node("MatMul", {"x", "w"}, {"h"}).Output("y");
  EXPECT_EQ(ShapeOf(model.Infer(), "y"), Shape({2, 4}));
}

TEST(Infer, ACycleIsAnErrorThatNamesANode) {
  SmallModel model;
  model.Node("Relu", {"a"}, {"b"}).Node("Relu", {"b"}, {"a"}).Output("a");
  try {
    model.Infer();
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "test.onnx: the graph has a cycle through node 'n_b'");
  }
}

// What exporters emit to flatten: Reshape(x, Concat(Gather(Shape(x), 0), -1)).
TEST(Infer, ShapeArithmeticResolvesAndCostsNothing) {
  SmallModel model;
  model.Input("x", {"N", 3, 4}).Ints("zero", {0}).Ints("minus", {-1});
  model.Node("Shape", {"x"}, {"s"}).Node("Gather", {"s", "zero"}, {"n"});
  model.AddNode("Concat", {"n", "minus"}, {"target"}).add_attribute()->set_name("axis");
  auto* axis = model.proto().mutable_graph()->mutable_node(2)->mutable_attribute(0);
  axis->set_type(onnx::AttributeProto::INT);
  axis->set_i(0);
  model.Node("Reshape", {"x", "target"}, {"y"}).Output("y");
  Bindings bindings;
  bindings.batch = 5;
  const InferredModel inferred = model.Infer(bindings);
  EXPECT_EQ(ShapeOf(inferred, "y"), Shape({5, 12}));
  for (const char* name : {"n_s", "n_n", "n_target"}) {
    EXPECT_EQ(NodeOf(inferred, name).status, NodeStatus::kMetadata) << name;
  }
  EXPECT_EQ(NodeOf(inferred, "n_y").status, NodeStatus::kView);
  EXPECT_EQ(inferred.parameters, Count(0));
}

TEST(Infer, UnknownOperatorsAreNamedAndContributeNothing) {
  SmallModel model;
  model.Input("x", {1, 8}).Node("Rellu", {"x"}, {"h"}).Node("Relu", {"h"}, {"y"}).Output("y");
  const InferredModel inferred = model.Infer();
  EXPECT_EQ(NodeOf(inferred, "n_h").status, NodeStatus::kUnknown);
  EXPECT_EQ(NodeOf(inferred, "n_h").why, "no definition of operator Rellu (did you mean 'Relu'?)");
  EXPECT_EQ(NodeOf(inferred, "n_y").status, NodeStatus::kUnknown);
  EXPECT_TRUE(NodeOf(inferred, "n_y").cost.work.empty());
}

// Runtimes differ in what they take for the extreme of values with a NaN.
TEST(Infer, NothingIsTheExtremeAmongWhatIsNoNumber) {
  for (const float second : {5.0F, std::numeric_limits<float>::quiet_NaN()}) {
    SmallModel model;
    auto* numbers = model.proto().mutable_graph()->add_initializer();
    numbers->set_name("numbers");
    numbers->set_data_type(onnx::TensorProto::FLOAT);
    numbers->add_dims(3);
    for (const float number : {1.0F, second, 2.0F}) numbers->add_float_data(number);
    const InferredModel inferred = model.Node("ArgMax", {"numbers"}, {"y"}).Output("y").Infer();
    EXPECT_EQ(TensorOf(inferred, "y").value != nullptr, second == 5.0F);
  }
}

// Five of at most four unique values are no four parts: the shape is not known, the type is.
TEST(Infer, ATypeIsKnownWhereTheShapeIsNot) {
  SmallModel model(20);
  model.Input("x", {4})
      .Ints("parts", {0, 1, 2, 2})
      .Node("Unique", {"x"}, {"u"})
      .Node("Split", {"u", "parts"}, {"p", "q", "r", "s"})
      .Node("IsNaN", {"q"}, {"y"})
      .Output("y");
  const InferredModel inferred = model.Infer();
  EXPECT_EQ(NodeOf(inferred, "n_y").status, NodeStatus::kUnknown);
  EXPECT_EQ(TensorOf(inferred, "y").type.dtype, DType::kBool);
}

// The shape that the file declares lets the nodes behind an unknown operator be counted.
TEST(Infer, DeclaredShapesBridgeUnknownOperators) {
  SmallModel model;
  model.Input("x", {"N", 8}).Node("Mystery", {"x"}, {"h"}).Node("Relu", {"h"}, {"y"}).Output("y");
  auto* declared = model.proto().mutable_graph()->add_value_info();
  *declared = model.proto().graph().input(0);
  declared->set_name("h");
  Bindings bindings;
  bindings.batch = 3;
  const InferredModel inferred = model.Infer(bindings);
  EXPECT_EQ(ShapeOf(inferred, "y"), Shape({3, 8}));
  EXPECT_EQ(NodeOf(inferred, "n_y").status, NodeStatus::kCounted);
}

TEST(Infer, ContradictionsNameTheNode) {
  SmallModel model;
  model.Input("x", {2, 8}).Weight("w", {9, 4}).Node("MatMul", {"x", "w"}, {"y"}).Output("y");
  try {
    model.Infer();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).rfind("test.onnx: node 'n_y' (MatMul): ", 0), 0u)
        << error.what();
  }
}

TEST(Infer, SharedWeightsCountOnceAndFoldedOnesCostNothing) {
  SmallModel model;
  model.Input("x", {2, 8}).Weight("w", {8, 8});
  model.Node("Transpose", {"w"}, {"wt"});
  model.Node("MatMul", {"x", "w"}, {"h"}).Node("MatMul", {"h", "wt"}, {"y"}).Output("y");
  const InferredModel inferred = model.Infer();
  EXPECT_EQ(inferred.parameters, Count(64));
  EXPECT_EQ(inferred.weight_bytes, Bytes(256));
  EXPECT_EQ(NodeOf(inferred, "n_wt").status, NodeStatus::kMetadata);
}

// x and h live together at the first node, then h and y; the flattened view shares h's memory.
TEST(Infer, PeakMemoryIsTheLargestSumOfLiveTensors) {
  SmallModel model;
  model.Input("x", {2, 8}).Weight("w", {8, 32}).Weight("v", {32, 4});
  model.Node("MatMul", {"x", "w"}, {"h"}).Node("Flatten", {"h"}, {"f"});
  model.Node("MatMul", {"f", "v"}, {"y"}).Output("y");
  EXPECT_EQ(PeakActivations(model.Infer()), Bytes(4 * (2 * 8 + 2 * 32)));
}

TEST(Infer, OverflowIsAnErrorThatNamesTheNode) {
  SmallModel model;
  model.Input("x", {"N", "M"}).Input("w", {"M", "K"}).Node("MatMul", {"x", "w"}, {"y"}).Output("y");
  Bindings bindings;
  bindings.dims = {{"N", 1 << 30}, {"M", 1 << 30}, {"K", 1 << 30}};
  try {
    model.Infer(bindings);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("node 'n_y' (MatMul): a count does not fit"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace dlcost
