#include "bench/synthetic.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <map>

#include "models/networks/networks.h"

namespace dlcost::bench {
namespace {

constexpr int kWidth = 64;

onnx::TensorProto& AddWeight(onnx::GraphProto& graph, const std::string& name,
                             const std::vector<std::int64_t>& dims) {
  onnx::TensorProto& weight = *graph.add_initializer();
  weight.set_name(name);
  weight.set_data_type(onnx::TensorProto::FLOAT);
  std::int64_t elements = 1;
  for (const std::int64_t dim : dims) {
    weight.add_dims(dim);
    elements *= dim;
  }
  weight.mutable_raw_data()->assign(static_cast<std::size_t>(elements) * sizeof(float), '\0');
  return weight;
}

void AddValue(onnx::ValueInfoProto& value, const std::string& name) {
  value.set_name(name);
  onnx::TypeProto::Tensor& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape()->add_dim()->set_dim_param("batch");
  type.mutable_shape()->add_dim()->set_dim_value(kWidth);
}

}  // namespace

std::string Chain(std::int64_t nodes) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("chain");
  AddWeight(graph, "weight", {kWidth, kWidth});
  AddWeight(graph, "bias", {kWidth});
  AddValue(*graph.add_input(), "input");
  std::string previous = "input";
  for (std::int64_t i = 0; i < nodes; ++i) {
    onnx::NodeProto& node = *graph.add_node();
    const std::string output = i + 1 == nodes ? "output" : fmt::format("/layers.{}/{}", i / 3, i);
    node.set_name(fmt::format("/layers.{}/node_{}", i / 3, i));
    node.add_input(previous);
    node.set_op_type(i % 3 == 0 ? "MatMul" : i % 3 == 1 ? "Add" : "Relu");
    if (i % 3 == 0) node.add_input("weight");
    if (i % 3 == 1) node.add_input("bias");
    node.add_output(output);
    previous = output;
  }
  AddValue(*graph.add_output(), "output");
  return model.SerializeAsString();
}

std::string WithStoredWeights(const std::string& network) {
  onnx::ModelProto model;
  if (!model.ParseFromString(BuildNetwork(network))) return {};
  onnx::GraphProto& graph = *model.mutable_graph();
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    shapes[tensor.name()] = {tensor.int64_data().begin(), tensor.int64_data().end()};
  }
  google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() == "ConstantOfShape") {
      AddWeight(graph, node.output(0), shapes.at(node.input(0)));
    } else {
      *kept.Add() = node;
    }
  }
  graph.mutable_node()->Swap(&kept);
  return model.SerializeAsString();
}

}  // namespace dlcost::bench
