#include "models/gradients/writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "estimator/core/error.h"
#include "models/operators/registry.h"

namespace dlcost {

NodeWriter::NodeWriter(Graph& graph, int opset) : graph_(graph), opset_(opset) {
  tensor_names_.Reserve(2 * graph.tensors.size());
  node_names_.Reserve(2 * graph.nodes.size());
  for (const Tensor& tensor : graph.tensors) tensor_names_.Take(tensor.name);
  for (const Node& node : graph.nodes) node_names_.Take(node.name);
}

void NodeWriter::Place(std::string prefix, std::string scope, Phase phase) {
  prefix_ = std::move(prefix);
  scope_ = std::move(scope);
  phase_ = phase;
}

Shape NodeWriter::ShapeOf(TensorId id) const {
  if (id == kNoTensor) throw Unresolved("an operand is left out");
  const Tensor& tensor = graph_.tensors[static_cast<std::size_t>(id)];
  if (!tensor.type.shape) {
    throw Unresolved("the shape of '" + Printable(tensor.name) + "' is not known");
  }
  return *tensor.type.shape;
}

DType NodeWriter::TypeOf(TensorId id) const {
  if (id == kNoTensor) throw Unresolved("an operand is left out");
  return graph_.tensors[static_cast<std::size_t>(id)].type.dtype;
}

TensorId NodeWriter::AddTensor(const std::string& name) {
  const auto id = static_cast<TensorId>(graph_.tensors.size());
  graph_.tensors.emplace_back().name = tensor_names_.Unique(name);
  return id;
}

TensorId NodeWriter::OfType(const std::string& name, TensorType type) {
  const TensorId id = AddTensor(name);
  graph_.tensors[static_cast<std::size_t>(id)].type = std::move(type);
  return id;
}

TensorId NodeWriter::Stored(const std::string& name, DType dtype, Shape shape) {
  const Bytes bytes = SizeOf(dtype, shape.Elements());
  const TensorId id = OfType(name, {.dtype = dtype, .shape = std::move(shape)});
  Tensor& tensor = graph_.tensors[static_cast<std::size_t>(id)];
  tensor.role = Role::kWeight;
  tensor.stored = bytes;
  tensor.is_initializer = tensor.constant = tensor.foldable = true;
  return id;
}

std::vector<TensorId> NodeWriter::Control(std::string_view op, std::vector<TensorId> inputs,
                                          std::vector<Attribute> attributes,
                                          const std::vector<TensorType>& outputs) {
  Node node = NewNode(op, "", std::move(inputs), std::move(attributes));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    node.outputs.push_back(OfType(fmt::format("{}:{}", node.name, i), outputs[i]));
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

TensorId NodeWriter::Copy(TensorId id) {
  const std::string name = graph_.tensors[static_cast<std::size_t>(id)].name + "/again";
  const TensorId copy = AddTensor(name);
  Tensor& tensor = graph_.tensors[static_cast<std::size_t>(copy)];
  tensor.type = graph_.tensors[static_cast<std::size_t>(id)].type;
  return copy;
}

void NodeWriter::Rename(TensorId id, const std::string& name) {
  graph_.tensors[static_cast<std::size_t>(id)].name = tensor_names_.Unique(name);
}

TensorId NodeWriter::Input(const std::string& name, DType dtype, Shape shape) {
  const TensorId id = AddTensor(name);
  Tensor& tensor = graph_.tensors[static_cast<std::size_t>(id)];
  tensor.role = Role::kInput;
  tensor.type.dtype = dtype;
  DeclaredType declared{.dtype = dtype, .dims = std::vector<Dim>()};
  for (const std::int64_t size : shape) declared.dims->push_back({.size = size});
  tensor.declared = std::move(declared);
  tensor.type.shape = std::move(shape);
  graph_.inputs.push_back(id);
  return id;
}

TensorId NodeWriter::Constant(const std::string& key, DType dtype, Shape shape, ValuePtr value) {
  // A precision may have changed the type of one since.
  const auto known = constants_.find(key);
  if (known != constants_.end() && TypeOf(known->second) == dtype) return known->second;
  const TensorId id = Stored("step/" + key, dtype, std::move(shape));
  graph_.tensors[static_cast<std::size_t>(id)].value = std::move(value);
  constants_[key] = id;
  return id;
}

TensorId NodeWriter::Ints(const std::vector<std::int64_t>& values) {
  std::string key = "[";
  for (const std::int64_t value : values) {
    if (key.size() > 1) key += ",";
    key += std::to_string(value);
  }
  return Constant(key + "]", DType::kInt64, {static_cast<std::int64_t>(values.size())},
                  std::make_shared<Value>(values));
}

TensorId NodeWriter::Scalar(double value, DType dtype) {
  return Constant(fmt::format("{} {}", Name(dtype), value), dtype, {},
                  std::make_shared<Value>(std::vector<double>{value}));
}

TensorId NodeWriter::Int(std::int64_t value) {
  return Constant(fmt::format("{}", value), DType::kInt64, {},
                  std::make_shared<Value>(std::vector<std::int64_t>{value}));
}

TensorId NodeWriter::True() {
  return Constant("true", DType::kBool, {}, std::make_shared<Value>(std::vector<std::int64_t>{1}));
}

TensorId NodeWriter::InType(TensorId x, DType type) {
  if (TypeOf(x) == type) return x;
  return Node1("Cast", {x}, {IntAttribute("to", static_cast<std::int64_t>(type))});
}

TensorId NodeWriter::Zeros(DType dtype, const Shape& shape) {
  return Expand(Scalar(0, dtype), shape);
}

Node NodeWriter::NewNode(std::string_view op, std::string_view domain, std::vector<TensorId> inputs,
                         std::vector<Attribute> attributes) {
  Node node;
  std::string name;
  name.reserve(prefix_.size() + 1 + op.size());
  node.name = node_names_.Unique(name.append(prefix_).append("/").append(op));
  node.op = op;
  node.domain = domain;
  node.scope = scope_;
  const OpDef* def = domain.empty() ? FindOperator(domain, op) : nullptr;
  node.opset = domain.empty() ? opset_ : 1;
  if (def != nullptr) node.opset = std::max(opset_, *def->since.begin());
  node.phase = phase_;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  return node;
}

std::vector<TensorId> NodeWriter::Nodes(std::string_view op, std::string_view domain,
                                        std::vector<TensorId> inputs,
                                        std::vector<Attribute> attributes, std::size_t outputs,
                                        const Shape* declared) {
  Node node = NewNode(op, domain, std::move(inputs), std::move(attributes));
  for (std::size_t i = 0; i < outputs; ++i) {
    node.outputs.push_back(
        AddTensor(outputs == 1 ? node.name : fmt::format("{}:{}", node.name, i)));
  }
  if (declared != nullptr) {
    DeclaredType type{.dtype = TypeOf(node.inputs[0]), .dims = std::vector<Dim>()};
    for (const std::int64_t size : *declared) type.dims->push_back({.size = size});
    graph_.tensors[static_cast<std::size_t>(node.outputs[0])].declared = std::move(type);
  }
  Infer(node);
  if (declared != nullptr) {
    graph_.tensors[static_cast<std::size_t>(node.outputs[0])].type.shape = *declared;
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

std::vector<TensorId> NodeWriter::NodeWith(std::string_view op, std::string_view domain,
                                           std::vector<TensorId> inputs,
                                           std::vector<Attribute> attributes,
                                           const std::vector<bool>& present) {
  Node node = NewNode(op, domain, std::move(inputs), std::move(attributes));
  for (std::size_t i = 0; i < present.size(); ++i) {
    node.outputs.push_back(present[i] ? AddTensor(fmt::format("{}:{}", node.name, i)) : kNoTensor);
  }
  std::vector<TensorId> outputs = node.outputs;
  // What is left out at the end is not there.
  const auto trim = [](std::vector<TensorId>& ids) {
    while (!ids.empty() && ids.back() == kNoTensor) ids.pop_back();
  };
  trim(node.inputs);
  trim(node.outputs);
  Infer(node);
  nodes_.push_back(std::move(node));
  return outputs;
}

TensorId NodeWriter::ContribOutput(std::string_view op, std::vector<TensorId> inputs,
                                   std::vector<Attribute> attributes, std::size_t only) {
  std::vector<bool> present(only + 1, false);
  present[only] = true;
  return NodeWith(op, "com.microsoft", std::move(inputs), std::move(attributes), present)[only];
}

void NodeWriter::Infer(const Node& node) {
  const OpDef* def = FindOperator(node.domain, node.op);
  if (def == nullptr) throw Error("there is no operator {}", node.op);
  OpContext ctx(graph_, node, SinceVersion(*def, node.opset));
  try {
    def->infer(ctx);
  } catch (const Unresolved&) {
    // Whoever needs the shape will ask for it in vain.
  } catch (const Error& error) {
    throw error.At("node '" + Printable(node.name) + "' (" + Printable(node.op) + ")");
  }
  bool constant = true;
  for (const TensorId id : node.inputs) {
    constant &= id == kNoTensor || graph_.tensors[static_cast<std::size_t>(id)].constant;
  }
  for (const TensorId id : node.outputs) {
    if (id != kNoTensor) graph_.tensors[static_cast<std::size_t>(id)].constant = constant;
  }
}

TensorId NodeWriter::Node1(std::string_view op, std::vector<TensorId> inputs,
                           std::vector<Attribute> attributes) {
  return Nodes(op, "", std::move(inputs), std::move(attributes), 1)[0];
}

TensorId NodeWriter::Contrib(std::string_view op, std::vector<TensorId> inputs,
                             std::vector<Attribute> attributes, const Shape* declared) {
  return Nodes(op, "com.microsoft", std::move(inputs), std::move(attributes), 1, declared)[0];
}

TensorId NodeWriter::Scale(TensorId a, double factor) {
  return factor == 1 ? a : Mul(a, Scalar(factor, TypeOf(a)));
}

TensorId NodeWriter::Reshape(TensorId x, const Shape& shape) {
  return ShapeOf(x) == shape ? x : Node1("Reshape", {x, Ints(shape.dims())});
}

TensorId NodeWriter::Transpose(TensorId x, const std::vector<std::int64_t>& permutation) {
  return Node1("Transpose", {x}, {IntsAttribute("perm", permutation)});
}

TensorId NodeWriter::Expand(TensorId x, const Shape& shape) {
  return ShapeOf(x) == shape ? x : Node1("Expand", {x, Ints(shape.dims())});
}

TensorId NodeWriter::ReduceSum(TensorId x, const std::vector<std::int64_t>& axes) {
  if (axes.empty()) return x;
  return Node1("ReduceSum", {x, Ints(axes)}, {IntAttribute("keepdims", 1)});
}

TensorId NodeWriter::SumTo(TensorId x, const Shape& shape) {
  const Shape from = ShapeOf(x);
  if (from == shape) return x;
  std::vector<std::int64_t> axes;
  const std::size_t added = from.rank() - shape.rank();
  for (std::size_t axis = 0; axis < from.rank(); ++axis) {
    const bool repeated = axis < added || (shape[axis - added] == 1 && from[axis] != 1);
    if (repeated) axes.push_back(static_cast<std::int64_t>(axis));
  }
  return Reshape(ReduceSum(x, axes), shape);
}

TensorId NodeWriter::Slice(TensorId x, std::int64_t axis, std::int64_t start, std::int64_t length) {
  return Node1("Slice", {x, Ints({start}), Ints({start + length}), Ints({axis})});
}

TensorId NodeWriter::Product(TensorId a, bool transpose_a, TensorId b, bool transpose_b) {
  if (!transpose_a && !transpose_b) return Node1("MatMul", {a, b});
  if (ShapeOf(a).rank() == 2 && ShapeOf(b).rank() == 2) {
    return Node1(
        "Gemm", {a, b},
        {IntAttribute("transA", transpose_a ? 1 : 0), IntAttribute("transB", transpose_b ? 1 : 0)});
  }
  return Contrib(
      "FusedMatMul", {a, b},
      {IntAttribute("transA", transpose_a ? 1 : 0), IntAttribute("transB", transpose_b ? 1 : 0)});
}

TensorId NodeWriter::ExtraOutput(Node& node, std::size_t output) {
  while (node.outputs.size() <= output) node.outputs.push_back(kNoTensor);
  if (node.outputs[output] == kNoTensor) {
    node.outputs[output] = AddTensor(fmt::format("{}:{}", node.name, output));
    Infer(node);
  }
  return node.outputs[output];
}

void NodeWriter::Become(TensorId made, TensorId wanted) {
  const bool again = std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& node) {
    return std::find(node.outputs.begin(), node.outputs.end(), made) != node.outputs.end();
  });
  if (!again) {
    Node copy = NewNode("Identity", "", {made}, {});
    copy.outputs = {wanted};
    nodes_.push_back(std::move(copy));
    return;
  }
  for (Node& node : nodes_) {
    std::replace(node.inputs.begin(), node.inputs.end(), made, wanted);
    std::replace(node.outputs.begin(), node.outputs.end(), made, wanted);
  }
}

void NodeWriter::Take() {
  graph_.nodes.insert(graph_.nodes.end(), std::make_move_iterator(nodes_.begin()),
                      std::make_move_iterator(nodes_.end()));
  nodes_.clear();
}

Attribute IntAttribute(std::string name, std::int64_t value) { return {std::move(name), value}; }
Attribute RealAttribute(std::string name, double value) { return {std::move(name), value}; }
Attribute TextAttribute(std::string name, std::string value) {
  return {std::move(name), std::move(value)};
}
Attribute IntsAttribute(std::string name, std::vector<std::int64_t> values) {
  return {std::move(name), std::move(values)};
}

}  // namespace dlcost
