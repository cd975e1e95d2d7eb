#pragma once

#include <onnx/onnx_pb.h>

#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"

namespace dlcost {

inline constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

// Small ONNX models for tests, written as code reads: SmallModel().Input("x", {-1, 8}).Node("Relu",
// {"x"}, {"y"}).Output("y").
class SmallModel {
 public:
  explicit SmallModel(int opset = 17) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(opset);
    model_.mutable_graph()->set_name("test");
  }

  // A dimension as the file declares it: a size, or a symbol.
  struct Extent {
    Extent(int extent) : size(extent) {}                  // NOLINT: reads as a shape
    Extent(const char* name) : size(-1), symbol(name) {}  // NOLINT
    int size;
    std::string symbol;
  };

  SmallModel& Input(const std::string& name, std::vector<Extent> dims,
                    int type = onnx::TensorProto::FLOAT) {
    auto* input = model_.mutable_graph()->add_input();
    input->set_name(name);
    auto* tensor = input->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const Extent& extent : dims) {
      auto* dim = tensor->mutable_shape()->add_dim();
      if (extent.size >= 0) dim->set_dim_value(extent.size);
      if (!extent.symbol.empty()) dim->set_dim_param(extent.symbol);
    }
    return *this;
  }

  SmallModel& Weight(const std::string& name, std::vector<int> dims,
                     int type = onnx::TensorProto::FLOAT) {
    auto* tensor = model_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    for (const int dim : dims) tensor->add_dims(dim);
    return *this;
  }

  SmallModel& Ints(const std::string& name, std::vector<std::int64_t> values) {
    auto* tensor = model_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::INT64);
    tensor->add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) tensor->add_int64_data(value);
    return *this;
  }

  SmallModel& Floats(const std::string& name, std::vector<float> values) {
    auto* tensor = model_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    tensor->add_dims(static_cast<std::int64_t>(values.size()));
    for (const float value : values) tensor->add_float_data(value);
    return *this;
  }

  SmallModel& Scalar(const std::string& name, std::int64_t value,
                     int type = onnx::TensorProto::INT64) {
    auto* tensor = model_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    if (type == onnx::TensorProto::INT64) {
      tensor->add_int64_data(value);
    } else {
      tensor->add_int32_data(static_cast<std::int32_t>(value));  // also holds narrower types
    }
    return *this;
  }

  onnx::NodeProto& AddNode(const std::string& op, std::vector<std::string> inputs,
                           std::vector<std::string> outputs) {
    auto* node = model_.mutable_graph()->add_node();
    node->set_op_type(op);
    node->set_name(outputs.empty() ? op : "n_" + outputs.front());
    for (const std::string& input : inputs) node->add_input(input);
    for (const std::string& output : outputs) node->add_output(output);
    return *node;
  }
  SmallModel& Node(const std::string& op, std::vector<std::string> inputs,
                   std::vector<std::string> outputs) {
    AddNode(op, std::move(inputs), std::move(outputs));
    return *this;
  }

  // An operator of another domain.
  onnx::NodeProto& AddNodeOf(const std::string& domain, const std::string& op,
                             std::vector<std::string> inputs, std::vector<std::string> outputs) {
    auto* opset = model_.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(1);
    onnx::NodeProto& node = AddNode(op, std::move(inputs), std::move(outputs));
    node.set_domain(domain);
    return node;
  }

  SmallModel& Output(const std::string& name) {
    model_.mutable_graph()->add_output()->set_name(name);
    return *this;
  }

  onnx::ModelProto& proto() { return model_; }
  Model Read() const { return ReadModelFromBytes(model_.SerializeAsString(), "test.onnx"); }
  InferredModel Infer(const Bindings& bindings = {}) const {
    InferOptions options;
    options.bindings = bindings;
    return dlcost::Infer(Read(), options);
  }

 private:
  onnx::ModelProto model_;
};

// Attributes of a node.
inline void SetGraph(onnx::NodeProto& node, const std::string& name, SmallModel& graph) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = graph.proto().graph();
}

inline void SetInt(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

inline void SetInts(onnx::NodeProto& node, const std::string& name,
                    const std::vector<std::int64_t>& values) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

inline const Tensor& TensorOf(const InferredModel& model, const std::string& name) {
  for (const Tensor& tensor : model.model->graph.tensors) {
    if (tensor.name == name) return tensor;
  }
  throw Error("no tensor {}", name);
}

inline Shape ShapeOf(const InferredModel& model, const std::string& name) {
  const Tensor& tensor = TensorOf(model, name);
  if (!tensor.type.shape) throw Error("{} has no shape", name);
  return *tensor.type.shape;
}

inline const CountedNode& NodeOf(const InferredModel& model, const std::string& name) {
  for (const CountedNode& node : model.nodes) {
    if (node.name == name) return node;
  }
  throw Error("no node {}", name);
}

// Of all nodes together.
inline Macs MacsOf(const InferredModel& model) {
  Macs macs;
  for (const CountedNode& node : model.nodes) macs += node.cost.work.macs();
  return macs;
}

}  // namespace dlcost
