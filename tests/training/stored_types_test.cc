// Types of what is stored and computed with before the run, under --precision.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/precision/precision.h"
#include "tests/training/small_step.h"

namespace dlcost {
namespace {

DType TypeOf(const InferredModel& model, const std::string& name) {
  return TensorOf(model, name).type.dtype;
}

InferredModel In(const std::string& precision, const SmallModel& model) {
  return InPrecision(model.Infer(), FindPrecision(precision), {});
}

// y = x w' with w' = [(s * w + b a)^T | c], in matrices of [16,8], [16,2], [2,8] and [8,4].
SmallModel ComputedWeight() {
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {16, 8}).Weight("s", {16, 1}).Weight("b", {16, 2});
  model.Weight("a", {2, 8}).Weight("c", {8, 4});
  model.Node("Mul", {"s", "w"}, {"scaled"}).Node("MatMul", {"b", "a"}, {"low"});
  model.Node("Add", {"scaled", "low"}, {"sum"});
  SetInts(model.AddNode("Transpose", {"sum"}, {"turned"}), "perm", {1, 0});
  SetInt(model.AddNode("Concat", {"turned", "c"}, {"joined"}), "axis", 1);
  return model.Node("MatMul", {"x", "joined"}, {"y"}).Output("y");
}

TEST(StoredTypes, WeightsThatWeightsAreComputedFromAreHalves) {
  for (const char* precision : {"fp16", "products-fp16"}) {
    const InferredModel half = In(precision, ComputedWeight());
    EXPECT_EQ(half.parameters, Count(128 + 16 + 32 + 16 + 32)) << precision;
    EXPECT_EQ(half.weight_bytes, Bytes(2 * 224)) << precision;
    EXPECT_EQ(MacsOf(half), Macs(4 * 8 * 20)) << precision;
    EXPECT_THAT(half.notes, testing::IsEmpty()) << precision;
  }
  EXPECT_EQ(Find(In("fp16", ComputedWeight()), "Cast"), nullptr);
  EXPECT_EQ(TypeOf(In("fp16", ComputedWeight()), "joined"), DType::kFloat16);
}

// The file casts its weight to float32, which is to be the type of the model.
TEST(StoredTypes, SoIsWhatAFileCastsThemTo) {
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 16}, onnx::TensorProto::BFLOAT16);
  SetInt(model.AddNode("Cast", {"w"}, {"wide"}), "to", onnx::TensorProto::FLOAT);
  const InferredModel half = In("fp16", model.Node("MatMul", {"x", "wide"}, {"y"}).Output("y"));
  EXPECT_EQ(TypeOf(half, "wide"), DType::kFloat16);
  EXPECT_EQ(half.weight_bytes, Bytes(2 * 128));
}

// A filter that is normalized by its own mean, as standardized convolutions are written: what
// normalizations read in float32 is computed from halves.
TEST(StoredTypes, SoAreThoseWhoseStatisticsAreComputed) {
  SmallModel model;
  model.Input("x", {1, 4, 5, 5}).Weight("w", {1, 8, 36}).Weight("g", {8}).Weight("v", {8});
  SetInts(model.AddNode("ReduceMean", {"w"}, {"mean"}), "axes", {0, 2});
  SetInt(*model.proto().mutable_graph()->mutable_node(0), "keepdims", 0);
  model.Node("BatchNormalization", {"w", "g", "g", "mean", "v"}, {"n"});
  model.Ints("shape", {8, 4, 3, 3}).Node("Reshape", {"n", "shape"}, {"filter"});
  const InferredModel half = In("fp16", model.Node("Conv", {"x", "filter"}, {"y"}).Output("y"));
  EXPECT_EQ(TypeOf(half, "w"), DType::kFloat16);
  EXPECT_EQ(TypeOf(half, "filter"), DType::kFloat16);
  EXPECT_EQ(half.weight_bytes, Bytes(2 * 288 + 4 * 16));
}

// Two factors make the scales of a resizing: 8 pixels of 2 channels become 16.
TEST(StoredTypes, SizesAreComputedInTheTypesOfTheFile) {
  SmallModel model;
  model.Input("x", {1, 2, 2, 4}).Floats("one", {1, 1, 1, 1}).Floats("two", {1, 1, 1, 2});
  model.Node("Mul", {"one", "two"}, {"scales"});
  model.Node("Resize", {"x", "", "scales"}, {"y"}).Output("y");
  const InferredModel half = In("fp16", model);
  EXPECT_EQ(TypeOf(half, "one"), DType::kFloat32);
  EXPECT_EQ(TypeOf(half, "scales"), DType::kFloat32);
  EXPECT_EQ(TypeOf(half, "y"), DType::kFloat16);
  EXPECT_EQ(ShapeOf(half, "y"), Shape({1, 2, 2, 8}));
}

TEST(StoredTypes, SoAreThoseThatBecomeIntegers) {
  SmallModel model;
  model.Input("x", {4, 6}).Floats("extents", {3, 8});
  SetInt(model.AddNode("Cast", {"extents"}, {"shape"}), "to", onnx::TensorProto::INT64);
  model.Node("Reshape", {"x", "shape"}, {"y"}).Output("y");
  const InferredModel half = In("fp16", model);
  EXPECT_EQ(TypeOf(half, "extents"), DType::kFloat32);
  EXPECT_EQ(TypeOf(half, "y"), DType::kFloat16);
  EXPECT_EQ(ShapeOf(half, "y"), Shape({3, 8}));
}

// Its shape is read, of which its type says nothing.
TEST(StoredTypes, AWeightWhoseShapeIsReadIsHalf) {
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 16}).Node("Shape", {"w"}, {"s"});
  const InferredModel half =
      In("fp16", model.Node("MatMul", {"x", "w"}, {"y"}).Output("y").Output("s"));
  EXPECT_EQ(half.weight_bytes, Bytes(2 * 128));
}

// Half data times a tensor of one number, stored with so many axes, or in a node.
SmallModel Factor(int axes, bool in_node) {
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 16}).Node("MatMul", {"x", "w"}, {"h"});
  const std::vector<int> dims(static_cast<std::size_t>(axes), 1);
  if (in_node) {
    onnx::AttributeProto& value = *model.AddNode("Constant", {}, {"f"}).add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    value.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
    for (const int dim : dims) value.mutable_t()->add_dims(dim);
    value.mutable_t()->add_float_data(2);
  } else {
    model.Weight("f", dims);
  }
  return model.Node("Mul", {"h", "f"}, {"y"}).Output("y");
}

TEST(StoredTypes, ATensorOfOneNumberWidensHalvesAndANumberDoesNot) {
  EXPECT_EQ(TypeOf(In("amp-fp16", Factor(0, false)), "y"), DType::kFloat16);
  EXPECT_EQ(TypeOf(In("amp-fp16", Factor(1, false)), "y"), DType::kFloat32);
  EXPECT_EQ(TypeOf(In("amp-fp16", Factor(3, false)), "y"), DType::kFloat32);
  EXPECT_EQ(TypeOf(In("amp-fp16", Factor(0, true)), "y"), DType::kFloat16);
  EXPECT_EQ(TypeOf(In("amp-fp16", Factor(1, true)), "y"), DType::kFloat16);
  EXPECT_EQ(TypeOf(In("fp16", Factor(1, false)), "y"), DType::kFloat16) << "stored in halves";
}

// h[4,8] = x w, and a list of its rows.
SmallModel Rows() {
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 8}).Node("MatMul", {"x", "w"}, {"h"});
  model.Scalar("one", 1);
  return model.Node("SplitToSequence", {"h", "one"}, {"rows"});
}

TEST(StoredTypes, ListsAreOfHalves) {
  SmallModel model = Rows();
  SetInt(model.AddNode("ConcatFromSequence", {"rows"}, {"again"}), "axis", 0);
  SetInt(model.AddNode("Concat", {"h", "again"}, {"y"}), "axis", 0);
  const InferredModel half = In("fp16", model.Output("y"));
  EXPECT_EQ(Find(half, "Cast"), nullptr);
  EXPECT_EQ(TypeOf(half, "again"), DType::kFloat16);
}

// As exporters write torch.repeat_interleave.
TEST(StoredTypes, ListsThatLoopsReadStayAsTheyAre) {
  SmallModel body;
  body.Input("i", {}, onnx::TensorProto::INT64).Input("on", {}, onnx::TensorProto::BOOL);
  body.Node("SequenceAt", {"rows", "i"}, {"row"}).Node("Identity", {"on"}, {"go"});
  body.Output("go").Output("row");
  SmallModel model = Rows();
  model.Scalar("times", 4).Ints("shape", {4, 8});
  SetGraph(model.AddNode("Loop", {"times", ""}, {"each"}), "body", body);
  model.Node("Reshape", {"each", "shape"}, {"again"});
  SetInt(model.AddNode("Concat", {"h", "again"}, {"y"}), "axis", 0);
  for (const char* precision : {"fp16", "amp-fp16", "products-fp16"}) {
    const InferredModel half = In(precision, model.Output("y"));
    EXPECT_EQ(TypeOf(half, "rows"), DType::kFloat32) << precision;
    EXPECT_EQ(ShapeOf(half, "y"), Shape({8, 8})) << precision;
    EXPECT_THAT(half.notes, testing::IsEmpty()) << precision;
  }
}

// Unique leaves 1 to 32 of 32 numbers, which may be 4.
TEST(StoredTypes, UpperBoundsNeedNotFitInAnotherTypeEither) {
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 8}).Node("MatMul", {"x", "w"}, {"h"});
  model.Node("Unique", {"h"}, {"u"}).Weight("four", {4}).Node("Add", {"u", "four"}, {"y"});
  model.Output("y");
  for (const char* precision : {"fp16", "amp-fp16", "products-fp16"}) {
    const InferredModel half = In(precision, model);
    EXPECT_EQ(NodeOf(half, "n_y").status, NodeStatus::kUnknown) << precision;
    EXPECT_EQ(MacsOf(half), Macs(4 * 8 * 8)) << precision;
  }
}

}  // namespace
}  // namespace dlcost
