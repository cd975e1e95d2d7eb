#include "estimator/onnx/writer.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "estimator/core/error.h"
#include "estimator/graph/value_integer.h"

namespace dlcost {
namespace {

constexpr std::int64_t kIrVersion = 8;  // of the first file format with everything written here

// The upper half of a float, rounded to nearest even.
std::int32_t Bfloat16Bits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<std::int32_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

// Half precision by arithmetic on the float: exact for what half precision has, else truncated.
std::int32_t Float16Bits(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::int32_t exponent = static_cast<std::int32_t>((bits >> 23U) & 0xFFU) - 127 + 15;
  const std::uint32_t fraction = bits & 0x7FFFFFU;
  if (exponent >= 31) return static_cast<std::int32_t>(sign | 0x7C00U);
  if (exponent > 0) {
    const auto shifted = static_cast<std::uint32_t>(exponent) << 10U;
    return static_cast<std::int32_t>(sign | shifted | (fraction >> 13U));
  }
  if (exponent < -10) return static_cast<std::int32_t>(sign);
  const auto shift = static_cast<std::uint32_t>(14 - exponent);
  return static_cast<std::int32_t>(sign | ((fraction | 0x800000U) >> shift));
}

void SetElements(const Value& value, DType dtype, onnx::TensorProto& proto) {
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto integer = [&] { return IntegerAt(value, i).value_or(0); };
    const auto real = static_cast<float>(value.Real(i));
    switch (dtype) {
      case DType::kFloat32:
        proto.add_float_data(real);
        break;
      case DType::kFloat64:
        proto.add_double_data(value.Real(i));
        break;
      case DType::kInt64:
        proto.add_int64_data(integer());
        break;
      case DType::kUint32:
      case DType::kUint64:
        proto.add_uint64_data(static_cast<std::uint64_t>(integer()));
        break;
      case DType::kFloat16:
        proto.add_int32_data(Float16Bits(real));
        break;
      case DType::kBfloat16:
        proto.add_int32_data(Bfloat16Bits(real));
        break;
      case DType::kInt32:
      case DType::kInt16:
      case DType::kInt8:
      case DType::kUint16:
      case DType::kUint8:
      case DType::kBool:
        proto.add_int32_data(static_cast<std::int32_t>(integer()));
        break;
      default:
        throw Error("a constant of type {} cannot be written", Name(dtype));
    }
  }
}

void SetTensor(DType dtype, const Shape& shape, const Value& value, onnx::TensorProto& proto) {
  proto.set_data_type(static_cast<int>(dtype));
  for (const std::int64_t size : shape) proto.add_dims(size);
  SetElements(value, dtype, proto);
}

void SetType(const Tensor& tensor, onnx::ValueInfoProto& info) {
  if (tensor.type.kind != ValueKind::kTensor) return;
  auto* type = info.mutable_type()->mutable_tensor_type();
  type->set_elem_type(static_cast<int>(tensor.type.dtype));
  if (!tensor.type.shape) return;
  auto* shape = type->mutable_shape();
  for (const std::int64_t size : *tensor.type.shape) shape->add_dim()->set_dim_value(size);
}

// A Constant whose payload was too large to be kept.
bool IsUnreadConstant(const Node& node) {
  return node.op == "Constant" && node.domain.empty() &&
         std::any_of(node.attributes.begin(), node.attributes.end(), [](const Attribute& a) {
           const auto* tensor = std::get_if<StoredTensor>(&a.value);
           return tensor != nullptr && tensor->value == nullptr;
         });
}

class GraphWriter {
 public:
  // `outer` are the names of what the graph captures, by its own ids; `taken` all names so far.
  // `file` is the graph that the file begins with, whose inputs are seen in all graphs inside.
  GraphWriter(const Graph& graph, std::unordered_map<TensorId, std::string> outer,
              std::unordered_set<std::string>& taken, std::map<std::string, int>& opsets,
              onnx::GraphProto& file)
      : graph_(graph), names_(std::move(outer)), taken_(taken), opsets_(opsets), file_(file) {}

  void Write(const std::vector<TensorId>& as_inputs, onnx::GraphProto& proto) {
    proto.set_name(graph_.name.empty() ? "graph" : graph_.name);
    NameAll();
    for (const TensorId id : graph_.inputs) Describe(id, *proto.add_input());
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      const auto id = static_cast<TensorId>(t);
      const Tensor& tensor = graph_.tensors[t];
      if (!tensor.is_initializer || !IsRead(id)) continue;
      const bool input = std::find(as_inputs.begin(), as_inputs.end(), id) != as_inputs.end();
      if (input || tensor.value == nullptr) {
        Describe(id, *file_.add_input());
      } else {
        onnx::TensorProto& stored = *proto.add_initializer();
        SetTensor(tensor.type.dtype, *tensor.type.shape, *tensor.value, stored);
        stored.set_name(NameOf(id));
      }
    }
    for (const Node& node : graph_.nodes) {
      if (IsUnreadConstant(node)) {
        Describe(node.outputs.at(0), *file_.add_input());
      } else {
        WriteNode(node, *proto.add_node());
      }
    }
    // What only a declaration tells: how large the input of a pooling was.
    for (const Node& node : graph_.nodes) {
      if (IsUnreadConstant(node)) continue;
      for (const TensorId id : node.outputs) {
        if (id == kNoTensor || !graph_.tensors[static_cast<std::size_t>(id)].declared) continue;
        const bool is_output =
            std::find(graph_.outputs.begin(), graph_.outputs.end(), id) != graph_.outputs.end();
        if (!is_output) Describe(id, *proto.add_value_info());
      }
    }
    for (const TensorId id : graph_.outputs) Describe(id, *proto.add_output());
  }

 private:
  // Before the graphs inside take theirs: a name means one value in a graph and all inside.
  void NameAll() {
    for (const TensorId id : graph_.inputs) NameOf(id);
    for (const TensorId id : graph_.outputs) NameOf(id);
    for (const Node& node : graph_.nodes) {
      for (const TensorId id : node.inputs) {
        if (id != kNoTensor) NameOf(id);
      }
      for (const TensorId id : node.outputs) {
        if (id != kNoTensor) NameOf(id);
      }
    }
  }

  // A tensor's name, unique in the file: inlined functions may repeat names.
  const std::string& NameOf(TensorId id) {
    const auto known = names_.find(id);
    if (known != names_.end()) return known->second;
    std::string name = graph_.tensors[static_cast<std::size_t>(id)].name;
    const std::string own = name;
    for (auto number = static_cast<std::int64_t>(id); !taken_.insert(name).second; ++number) {
      name = fmt::format("{}#{}", own, number);
    }
    return names_.emplace(id, std::move(name)).first->second;
  }

  bool IsRead(TensorId id) {
    if (read_.empty()) {
      read_.resize(graph_.tensors.size(), false);
      for (const Node& node : graph_.nodes) {
        ForEachRead(node, [&](TensorId r) { read_[static_cast<std::size_t>(r)] = true; });
      }
      for (const TensorId output : graph_.outputs) read_[static_cast<std::size_t>(output)] = true;
    }
    return read_[static_cast<std::size_t>(id)];
  }

  void Describe(TensorId id, onnx::ValueInfoProto& info) {
    info.set_name(NameOf(id));
    SetType(graph_.tensors[static_cast<std::size_t>(id)], info);
  }

  void WriteNode(const Node& node, onnx::NodeProto& proto) {
    const auto [known, fresh] = opsets_.emplace(node.domain, node.opset);
    if (!fresh && known->second != node.opset) {
      throw Error(
          "a file has one version of the operators: this model's is {}, but node '{}' needs {}; "
          "convert the model to opset {} first",
          std::min(known->second, node.opset), Printable(node.name),
          std::max(known->second, node.opset), std::max(known->second, node.opset));
    }
    proto.set_name(node.name);
    proto.set_op_type(node.op);
    proto.set_domain(node.domain);
    for (const TensorId id : node.inputs) proto.add_input(id == kNoTensor ? "" : NameOf(id));
    for (const TensorId id : node.outputs) proto.add_output(id == kNoTensor ? "" : NameOf(id));
    for (const Attribute& attribute : node.attributes) {
      if (std::holds_alternative<std::monostate>(attribute.value)) continue;
      onnx::AttributeProto& written = *proto.add_attribute();
      written.set_name(attribute.name);
      std::visit([&](const auto& value) { SetAttribute(value, node, written); }, attribute.value);
    }
  }

  void SetAttribute(const std::monostate&, const Node&, onnx::AttributeProto&) {}
  void SetAttribute(std::int64_t value, const Node&, onnx::AttributeProto& proto) {
    proto.set_type(onnx::AttributeProto::INT);
    proto.set_i(value);
  }
  void SetAttribute(double value, const Node&, onnx::AttributeProto& proto) {
    proto.set_type(onnx::AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(value));
  }
  void SetAttribute(const std::string& value, const Node&, onnx::AttributeProto& proto) {
    proto.set_type(onnx::AttributeProto::STRING);
    proto.set_s(value);
  }
  void SetAttribute(const std::vector<std::int64_t>& values, const Node&,
                    onnx::AttributeProto& proto) {
    proto.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) proto.add_ints(value);
  }
  void SetAttribute(const std::vector<double>& values, const Node&, onnx::AttributeProto& proto) {
    proto.set_type(onnx::AttributeProto::FLOATS);
    for (const double value : values) proto.add_floats(static_cast<float>(value));
  }
  void SetAttribute(const std::vector<std::string>& values, const Node&,
                    onnx::AttributeProto& proto) {
    proto.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) proto.add_strings(value);
  }
  void SetAttribute(const StoredTensor& tensor, const Node& node, onnx::AttributeProto& proto) {
    if (tensor.value == nullptr) {
      throw Error("node '{}': a tensor of {} elements in an attribute was not read",
                  Printable(node.name), tensor.shape.Elements());
    }
    proto.set_type(onnx::AttributeProto::TENSOR);
    SetTensor(tensor.dtype, tensor.shape, *tensor.value, *proto.mutable_t());
  }
  void SetAttribute(const std::shared_ptr<Graph>& graph, const Node&, onnx::AttributeProto& proto) {
    proto.set_type(onnx::AttributeProto::GRAPH);
    WriteInner(*graph, *proto.mutable_g());
  }
  void SetAttribute(const std::vector<std::shared_ptr<Graph>>& graphs, const Node&,
                    onnx::AttributeProto& proto) {
    proto.set_type(onnx::AttributeProto::GRAPHS);
    for (const auto& graph : graphs) WriteInner(*graph, *proto.add_graphs());
  }

  void WriteInner(const Graph& graph, onnx::GraphProto& proto) {
    std::unordered_map<TensorId, std::string> captured;
    for (const Capture& capture : graph.captures) {
      captured.emplace(capture.inner, NameOf(capture.outer));
    }
    GraphWriter(graph, std::move(captured), taken_, opsets_, file_).Write({}, proto);
  }

  const Graph& graph_;
  std::unordered_map<TensorId, std::string> names_;
  std::unordered_set<std::string>& taken_;
  std::map<std::string, int>& opsets_;
  onnx::GraphProto& file_;
  std::vector<bool> read_;
};

}  // namespace

std::string WriteModel(const Model& model, const std::vector<TensorId>& as_inputs) {
  onnx::ModelProto proto;
  proto.set_ir_version(std::max(model.ir_version, kIrVersion));
  proto.set_producer_name("dlcost");
  std::map<std::string, int> opsets;
  std::unordered_set<std::string> taken;
  onnx::GraphProto& graph = *proto.mutable_graph();
  GraphWriter(model.graph, {}, taken, opsets, graph).Write(as_inputs, graph);
  for (const auto& [domain, version] : opsets) {
    onnx::OperatorSetIdProto& import = *proto.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
  }
  return proto.SerializeAsString();
}

}  // namespace dlcost
