#include "estimator/onnx/skeleton.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "estimator/core/error.h"
#include "estimator/onnx/reader.h"

namespace dlcost {
namespace {

// y = MatMul(x, w) with a weight of 64 x 64 floats.
onnx::ModelProto SmallModel() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto* graph = model.mutable_graph();
  graph->set_name("small");
  auto* weight = graph->add_initializer();
  weight->set_name("w");
  weight->set_data_type(onnx::TensorProto::FLOAT);
  weight->add_dims(64);
  weight->add_dims(64);
  weight->set_raw_data(std::string(64 * 64 * 4, 'x'));
  auto* input = graph->add_input();
  input->set_name("x");
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_param("batch");
  type->mutable_shape()->add_dim()->set_dim_value(64);
  auto* node = graph->add_node();
  node->set_op_type("MatMul");
  node->add_input("x");
  node->add_input("w");
  node->add_output("y");
  graph->add_output()->set_name("y");
  return model;
}

TEST(Skeleton, DropsPayloadsAndKeepsStructure) {
  const std::string bytes = SmallModel().SerializeAsString();
  const std::string skeleton = ExtractSkeleton(bytes);
  EXPECT_LT(skeleton.size(), 300u);
  const Model model = ReadModelFromBytes(bytes, "small.onnx");
  ASSERT_EQ(model.graph.nodes.size(), 1u);
  EXPECT_EQ(model.graph.nodes[0].name, "MatMul:y");
  ASSERT_EQ(model.graph.inputs.size(), 1u);
  const Tensor& weight = model.graph.tensors[0];
  EXPECT_EQ(weight.name, "w");
  EXPECT_EQ(weight.type.shape, Shape({64, 64}));
  EXPECT_EQ(weight.stored, Bytes(64 * 64 * 4));
  EXPECT_EQ(weight.value, nullptr);
}

// A file cut anywhere is an error of one line, never a crash or a smaller model.
TEST(Skeleton, EveryTruncationIsAnError) {
  const std::string bytes = SmallModel().SerializeAsString();
  const std::size_t graph_end = bytes.size() - 4;  // the opset import follows the graph
  for (std::size_t length = 1; length < graph_end; ++length) {
    EXPECT_THROW(ReadModelFromBytes(bytes.substr(0, length), "cut.onnx"), Error) << length;
  }
}

TEST(Skeleton, PayloadMustFitTheShape) {
  onnx::ModelProto model = SmallModel();
  model.mutable_graph()->mutable_initializer(0)->set_raw_data("abc");
  EXPECT_THROW(ReadModelFromBytes(model.SerializeAsString(), "odd.onnx"), Error);
}

TEST(Reader, NamesDefinedTwiceAreAnError) {
  onnx::ModelProto model = SmallModel();
  *model.mutable_graph()->add_node() = model.graph().node(0);
  EXPECT_THROW(ReadModelFromBytes(model.SerializeAsString(), "twice.onnx"), Error);
}

TEST(Reader, UndefinedInputsNameTheNearest) {
  onnx::ModelProto model = SmallModel();
  model.mutable_graph()->mutable_node(0)->set_input(1, "ww");
  try {
    ReadModelFromBytes(model.SerializeAsString(), "undefined.onnx");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "undefined.onnx: node 'MatMul:y' (MatMul): input 'ww' is produced by no node "
                 "(did you mean 'w'?)");
  }
}

// The same weight listed as an input too, as IR version 3 requires.
TEST(Reader, InitializersListedAsInputsAreWeights) {
  onnx::ModelProto model = SmallModel();
  model.mutable_graph()->add_input()->set_name("w");
  EXPECT_EQ(ReadModelFromBytes(model.SerializeAsString(), "ir3.onnx").graph.inputs.size(), 1u);
}

TEST(Reader, DeepNestingIsRefused) {
  onnx::GraphProto graph;
  for (int i = 0; i < 1000; ++i) {
    onnx::GraphProto outer;
    auto* node = outer.add_node();
    node->set_op_type("If");
    auto* attribute = node->add_attribute();
    attribute->set_name("then_branch");
    attribute->set_type(onnx::AttributeProto::GRAPH);
    attribute->mutable_g()->Swap(&graph);
    graph.Swap(&outer);
  }
  onnx::ModelProto model;
  model.mutable_graph()->Swap(&graph);
  EXPECT_THROW(ReadModelFromBytes(model.SerializeAsString(), "deep.onnx"), Error);
}

}  // namespace
}  // namespace dlcost
