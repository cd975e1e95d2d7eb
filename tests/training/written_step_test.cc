// Training steps as files.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/onnx/writer.h"
#include "tests/training/small_step.h"

namespace dlcost {
namespace {

// A Constant whose payload of 4,800 bytes the reader leaves where it is.
void AddTable(SmallModel& model, const std::string& name) {
  onnx::AttributeProto& value = *model.AddNode("Constant", {}, {name}).add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
  for (const int dim : {30, 40}) value.mutable_t()->add_dims(dim);
  for (int i = 0; i < 30 * 40; ++i) value.mutable_t()->add_float_data(0);
}

onnx::GraphProto Written(const SmallModel& model) {
  const InferredModel forward = model.Infer();
  const Step step = BuildStep(forward, {.optimizer = "none", .loss = "none"});
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(WriteModel(step.model)));
  return proto.graph();
}

// The shape of the input, or nothing.
std::vector<std::int64_t> InputOf(const onnx::GraphProto& graph, const std::string& name) {
  std::vector<std::int64_t> shape;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (input.name() != name) continue;
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      shape.push_back(dim.dim_value());
    }
  }
  return shape;
}

TEST(WrittenStep, HasLargeConstantsAsInputs) {
  SmallModel model;
  model.Input("x", {30, 8}).Weight("w", {8, 40}).Node("MatMul", {"x", "w"}, {"h"});
  AddTable(model, "table");
  const onnx::GraphProto graph = Written(model.Node("Add", {"h", "table"}, {"y"}).Output("y"));
  EXPECT_THAT(InputOf(graph, "table"), testing::ElementsAre(30, 40));
  EXPECT_THAT(InputOf(graph, "w"), testing::ElementsAre(8, 40));
  for (const onnx::NodeProto& node : graph.node()) EXPECT_NE(node.output(0), "table");
}

// Those of bodies too, as a body's inputs are its steps'.
TEST(WrittenStep, HasThoseOfBodiesAsInputsOfTheWhole) {
  SmallModel body;
  body.Input("i", {}, onnx::TensorProto::INT64).Input("on", {}, onnx::TensorProto::BOOL);
  body.Input("s", {30, 40}).Node("Identity", {"on"}, {"go"});
  AddTable(body, "table");
  body.Node("Add", {"s", "table"}, {"t"}).Output("go").Output("t");
  SmallModel model;
  model.Input("x", {30, 8}).Weight("w", {8, 40}).Node("MatMul", {"x", "w"}, {"h"});
  model.Scalar("times", 3);
  SetGraph(model.AddNode("Loop", {"times", "", "h"}, {"y"}), "body", body);
  const onnx::GraphProto graph = Written(model.Output("y"));
  EXPECT_THAT(InputOf(graph, "table"), testing::ElementsAre(30, 40));
}

}  // namespace
}  // namespace dlcost
