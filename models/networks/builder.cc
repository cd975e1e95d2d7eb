#include "models/networks/builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <onnx/onnx_pb.h>

#include <bit>
#include <unordered_map>
#include <unordered_set>

#include "estimator/core/error.h"

namespace dlcost::networks {
namespace {

// The IR version that came with an operator set (table in onnx/docs/Versioning.md); readers refuse
// versions newer than themselves, so none newer than needed is claimed.
int IrVersion(int opset) {
  if (opset <= 14) return 7;
  if (opset <= 18) return 8;
  if (opset <= 20) return 9;
  if (opset <= 22) return 10;
  if (opset <= 23) return 11;
  return opset <= 24 ? 12 : 13;
}

void SetType(onnx::ValueInfoProto& info, DType dtype, const std::vector<Dim>& dims) {
  onnx::TypeProto::Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(dtype));
  onnx::TensorShapeProto& shape = *tensor.mutable_shape();
  for (const Dim& dim : dims) {
    onnx::TensorShapeProto::Dimension& added = *shape.add_dim();
    if (const std::int64_t* size = std::get_if<std::int64_t>(&dim)) {
      added.set_dim_value(*size);
    } else {
      added.set_dim_param(std::get<std::string>(dim));
    }
  }
}

// One element: bits of the upper half of a float for bf16 (exact for the values used here), rounded
// towards zero for f16.
void SetElement(onnx::TensorProto& tensor, DType dtype, float value) {
  tensor.set_data_type(static_cast<int>(dtype));
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (dtype == DType::kFloat32) {
    tensor.add_float_data(value);
  } else if (dtype == DType::kBfloat16) {
    tensor.add_int32_data(static_cast<std::int32_t>(bits >> 16));
  } else if (dtype == DType::kFloat16) {
    const std::uint32_t sign = (bits >> 16) & 0x8000;
    const std::int32_t exponent = static_cast<std::int32_t>((bits >> 23) & 0xff) - 127 + 15;
    std::uint32_t half = 0;  // too small for a normal half: zero
    if (exponent > 30) {
      half = 0x7bff;  // too large: the largest half
    } else if (exponent > 0) {
      half = (static_cast<std::uint32_t>(exponent) << 10) | ((bits >> 13) & 0x3ff);
    }
    tensor.add_int32_data(static_cast<std::int32_t>(sign | half));
  } else {
    throw Error("constants of type {} are not supported", Name(dtype));
  }
}

void SetAttribute(onnx::AttributeProto& attribute, const AttributeValue& value) {
  if (const std::int64_t* i = std::get_if<std::int64_t>(&value)) {
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(*i);
  } else if (const float* f = std::get_if<float>(&value)) {
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(*f);
  } else if (const std::string* s = std::get_if<std::string>(&value)) {
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(*s);
  } else {
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t item : std::get<std::vector<std::int64_t>>(value)) {
      attribute.add_ints(item);
    }
  }
}

}  // namespace

struct Builder::State {
  google::protobuf::Arena arena;
  onnx::ModelProto& model = *google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
  DType dtype;
  struct Module {
    std::string path, dotted;  // "/layer1/0/", "layer1.0."
  };
  std::vector<Module> scope = {{"/", ""}};
  std::unordered_map<std::string, int> uses;  // how often a node name was asked for
  std::unordered_set<std::string> constants;  // initializers, by name
  std::unordered_set<std::string> weights;
  std::unordered_map<Value, std::string> renamed;  // values that are outputs of the graph

  onnx::GraphProto& graph() { return *model.mutable_graph(); }

  // "/layer1/0/Relu", and "/layer1/0/Relu_1" for the second one.
  std::string NodeName(const std::string& op) {
    std::string name = scope.back().path + op;
    const int earlier = uses[name]++;
    if (earlier > 0) name += "_" + std::to_string(earlier);
    return name;
  }

  onnx::NodeProto& AddNode(const std::string& op, const std::string& name,
                           const std::vector<Value>& inputs) {
    onnx::NodeProto& node = *graph().add_node();
    node.set_op_type(op);
    node.set_name(name);
    for (const Value& input : inputs) node.add_input(input);
    return node;
  }

  static void SetFill(onnx::NodeProto& node, DType dtype, float value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(onnx::AttributeProto::TENSOR);
    attribute.mutable_t()->add_dims(1);
    SetElement(*attribute.mutable_t(), dtype, value);
  }
};

Builder::Builder(const std::string& name, int opset, DType dtype)
    : state_(std::make_shared<State>()) {
  state_->dtype = dtype;
  state_->model.set_ir_version(IrVersion(opset));
  state_->model.set_producer_name("dlcost");
  state_->model.add_opset_import()->set_version(opset);
  state_->graph().set_name(name);
}

Builder::~Builder() = default;

Builder::Scope::~Scope() { builder_.state_->scope.pop_back(); }

Builder::Scope Builder::In(const std::string& module) {
  const State::Module& around = state_->scope.back();
  state_->scope.push_back({around.path + module + "/", around.dotted + module + "."});
  return Scope(*this);
}

Value Builder::Input(const std::string& name, DType dtype, const std::vector<Dim>& dims) {
  onnx::ValueInfoProto& info = *state_->graph().add_input();
  info.set_name(name);
  SetType(info, dtype, dims);
  return name;
}

void Builder::Output(const Value& value, const std::string& name, DType dtype,
                     const std::vector<Dim>& dims) {
  state_->renamed[value] = name;
  onnx::ValueInfoProto& info = *state_->graph().add_output();
  info.set_name(name);
  SetType(info, dtype, dims);
}

Value Builder::Weight(const std::string& name, const std::vector<std::int64_t>& shape) {
  return Weight(name, shape, state_->dtype);
}

Value Builder::Weight(const std::string& name, const std::vector<std::int64_t>& shape,
                      DType dtype) {
  const std::string full = state_->scope.back().dotted + name;
  if (!state_->weights.insert(full).second) throw Error("two weights named '{}'", full);
  onnx::NodeProto& node = state_->AddNode("ConstantOfShape", full, {Ints(shape)});
  node.add_output(full);
  if (dtype != DType::kFloat32) State::SetFill(node, dtype, 0);  // f32 zero is the default
  return full;
}

Value Builder::Ints(const std::vector<std::int64_t>& values) {
  const std::string name = fmt::format("ints_{}", fmt::join(values, "_"));
  if (state_->constants.insert(name).second) {
    onnx::TensorProto& tensor = *state_->graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) tensor.add_int64_data(value);
  }
  return name;
}

Value Builder::Int(std::int64_t value) {
  const std::string name = fmt::format("int_{}", value);
  if (state_->constants.insert(name).second) {
    onnx::TensorProto& tensor = *state_->graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_int64_data(value);
  }
  return name;
}

Value Builder::Scalar(float value) {
  const std::string name = fmt::format("scalar_{:.9g}", value);
  if (state_->constants.insert(name).second) {
    onnx::TensorProto& tensor = *state_->graph().add_initializer();
    tensor.set_name(name);
    SetElement(tensor, state_->dtype, value);
  }
  return name;
}

Value Builder::Node(const std::string& op, const std::vector<Value>& inputs,
                    const Attributes& attributes) {
  return Nodes(op, inputs, attributes, 1).front();
}

std::vector<Value> Builder::Nodes(const std::string& op, const std::vector<Value>& inputs,
                                  const Attributes& attributes, int outputs) {
  const std::string name = state_->NodeName(op);
  onnx::NodeProto& node = state_->AddNode(op, name, inputs);
  std::vector<Value> values;
  for (int i = 0; i < outputs; ++i) {
    values.push_back(name + "_output_" + std::to_string(i));
    node.add_output(values.back());
  }
  for (const auto& [key, value] : attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(key);
    SetAttribute(attribute, value);
  }
  return values;
}

Value Builder::ContribNode(const std::string& op, const std::vector<Value>& inputs,
                           const Attributes& attributes) {
  const std::string domain = "com.microsoft";
  const Value value = Node(op, inputs, attributes);
  auto& nodes = *state_->graph().mutable_node();
  nodes[nodes.size() - 1].set_domain(domain);
  auto& imports = *state_->model.mutable_opset_import();
  if (imports[imports.size() - 1].domain() != domain) {
    onnx::OperatorSetIdProto& import = *state_->model.add_opset_import();
    import.set_domain(domain);
    import.set_version(1);
  }
  return value;
}

Value Builder::Fill(const Value& shape, float value) {
  const std::string name = state_->NodeName("ConstantOfShape");
  onnx::NodeProto& node = state_->AddNode("ConstantOfShape", name, {shape});
  node.add_output(name + "_output_0");
  State::SetFill(node, state_->dtype, value);
  return node.output(0);
}

void Builder::Note(const std::string& text) {
  onnx::StringStringEntryProto& entry = *state_->model.add_metadata_props();
  entry.set_key("dlcost.note");
  entry.set_value(text);
}

DType Builder::dtype() const { return state_->dtype; }

Network Builder::Finish() {
  for (onnx::NodeProto& node : *state_->graph().mutable_node()) {
    for (auto* values : {node.mutable_input(), node.mutable_output()}) {
      for (std::string& value : *values) {
        const auto found = state_->renamed.find(value);
        if (found != state_->renamed.end()) value = found->second;
      }
    }
  }
  return Network(std::shared_ptr<const onnx::ModelProto>(state_, &state_->model));
}

std::string Network::Serialize() const {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    if (!model_->SerializeToCodedStream(&coded)) throw Error("the network is too large");
  }
  return bytes;
}

}  // namespace dlcost::networks
