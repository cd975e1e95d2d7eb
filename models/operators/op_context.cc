#include "models/operators/op_context.h"

#include "estimator/core/error.h"

namespace dlcost {
namespace {

template <typename T>
const T* Get(const Node& node, std::string_view name, std::string_view kind) {
  const AttributeValue* value = node.FindAttribute(name);
  if (value == nullptr) return nullptr;
  const T* typed = std::get_if<T>(value);
  if (typed == nullptr) throw Error("attribute '{}' is not {}", name, kind);
  return typed;
}

}  // namespace

bool OpContext::HasInput(int i) const {
  return i >= 0 && i < NumInputs() && node_.inputs[static_cast<std::size_t>(i)] != kNoTensor;
}

const Tensor& OpContext::Input(int i) const {
  if (!HasInput(i)) throw Error("input {} is missing", i);
  return graph_.tensors[static_cast<std::size_t>(node_.inputs[static_cast<std::size_t>(i)])];
}

DType OpContext::InputType(int i) const {
  const Tensor& tensor = Input(i);
  if (tensor.type.dtype == DType::kUndefined) {
    throw Unresolved("the type of '" + Printable(tensor.name) + "' is not known");
  }
  return tensor.type.dtype;
}

bool OpContext::InputShapeKnown(int i) const {
  return HasInput(i) && Input(i).type.shape.has_value();
}

const Shape& OpContext::InputShape(int i) const {
  const Tensor& tensor = Input(i);
  if (!tensor.type.shape) {
    throw Unresolved("the shape of '" + Printable(tensor.name) + "' is not known");
  }
  return *tensor.type.shape;
}

std::int64_t OpContext::InputDim(int i, std::int64_t axis) const { return InputShape(i).At(axis); }

const Node* OpContext::ReaderOf(int i, std::string_view op) const {
  // A node that stands outside its graph, as a made-up one, has none behind it.
  const bool inside = !graph_.nodes.empty() && &node_ >= graph_.nodes.data() &&
                      &node_ < graph_.nodes.data() + graph_.nodes.size();
  if (!inside || !HasOutput(i)) return nullptr;
  const TensorId output = node_.outputs[static_cast<std::size_t>(i)];
  for (const Node* node = &node_ + 1; node != graph_.nodes.data() + graph_.nodes.size(); ++node) {
    if (node->inputs.empty() || node->inputs[0] != output) continue;
    return node->op == op && node->domain == node_.domain ? node : nullptr;
  }
  return nullptr;
}

const Shape* OpContext::InputShapeOf(const Node& node, std::size_t input) const {
  if (input >= node.inputs.size() || node.inputs[input] == kNoTensor) return nullptr;
  const auto& shape = graph_.tensors[static_cast<std::size_t>(node.inputs[input])].type.shape;
  return shape ? &*shape : nullptr;
}

const Value* OpContext::InputValue(int i) const {
  return HasInput(i) ? Input(i).value.get() : nullptr;
}

ValuePtr OpContext::SharedInputValue(int i) const { return HasInput(i) ? Input(i).value : nullptr; }

std::vector<std::int64_t> OpContext::InputInts(int i) const {
  const Tensor& tensor = Input(i);
  if (!tensor.value) {
    throw Unresolved("the value of '" + Printable(tensor.name) + "' is computed at run time");
  }
  if (!tensor.value->is_integer()) throw Error("input {} is not made of integers", i);
  return tensor.value->ints();
}

std::vector<double> OpContext::InputReals(int i) const {
  const Tensor& tensor = Input(i);
  if (!tensor.value) {
    throw Unresolved("the value of '" + Printable(tensor.name) + "' is computed at run time");
  }
  std::vector<double> reals(tensor.value->size());
  for (std::size_t e = 0; e < reals.size(); ++e) reals[e] = tensor.value->Real(e);
  return reals;
}

bool OpContext::HasAttribute(std::string_view name) const {
  return node_.FindAttribute(name) != nullptr;
}

std::int64_t OpContext::Int(std::string_view name, std::int64_t fallback) const {
  const auto* value = Get<std::int64_t>(node_, name, "an integer");
  return value ? *value : fallback;
}

double OpContext::Float(std::string_view name, double fallback) const {
  const auto* value = Get<double>(node_, name, "a number");
  return value ? *value : fallback;
}

std::string OpContext::String(std::string_view name, std::string_view fallback) const {
  const auto* value = Get<std::string>(node_, name, "a string");
  return value ? *value : std::string(fallback);
}

std::vector<std::int64_t> OpContext::Ints(std::string_view name,
                                          std::vector<std::int64_t> fallback) const {
  const auto* value = Get<std::vector<std::int64_t>>(node_, name, "a list of integers");
  if (value != nullptr) return *value;
  return fallback;
}

std::vector<double> OpContext::Floats(std::string_view name) const {
  const auto* value = Get<std::vector<double>>(node_, name, "a list of numbers");
  return value ? *value : std::vector<double>{};
}

std::vector<std::string> OpContext::Strings(std::string_view name) const {
  const auto* value = Get<std::vector<std::string>>(node_, name, "a list of strings");
  return value ? *value : std::vector<std::string>{};
}

const StoredTensor* OpContext::TensorAttribute(std::string_view name) const {
  return Get<StoredTensor>(node_, name, "a tensor");
}

std::int64_t OpContext::RequiredInt(std::string_view name) const {
  if (!HasAttribute(name)) throw Error("attribute '{}' is missing", name);
  return Int(name, 0);
}

std::vector<std::int64_t> OpContext::RequiredInts(std::string_view name) const {
  if (!HasAttribute(name)) throw Error("attribute '{}' is missing", name);
  return Ints(name);
}

std::optional<std::vector<std::int64_t>> OpContext::IntsFromInputOrAttribute(
    int input_index, std::string_view name) const {
  if (HasAttribute(name)) return Ints(name);
  if (HasInput(input_index)) return InputInts(input_index);
  return std::nullopt;
}

bool OpContext::HasOutput(int i) const {
  return i >= 0 && i < NumOutputs() && node_.outputs[static_cast<std::size_t>(i)] != kNoTensor;
}

Tensor* OpContext::OutputTensor(int i) {
  if (!HasOutput(i)) return nullptr;
  return &graph_.tensors[static_cast<std::size_t>(node_.outputs[static_cast<std::size_t>(i)])];
}

void OpContext::SetOutput(int i, DType dtype, Shape shape) {
  for (const std::int64_t dim : shape) {
    if (dim < 0) throw Error("output {} would have the negative dimension {}", i, dim);
  }
  shape.Elements();  // throws when the element count overflows
  if (Tensor* tensor = OutputTensor(i)) {
    tensor->type.kind = ValueKind::kTensor;
    tensor->type.dtype = dtype;
    tensor->type.shape = std::move(shape);
  }
}

void OpContext::SetOutputType(int i, DType dtype) {
  if (Tensor* tensor = OutputTensor(i)) tensor->type.dtype = dtype;
}

void OpContext::SetOutputTensorType(int i, TensorType type) {
  if (Tensor* tensor = OutputTensor(i)) tensor->type = std::move(type);
}

void OpContext::SetOutputValue(int i, Value value) {
  SetOutputValue(i, std::make_shared<const Value>(std::move(value)));
}

void OpContext::SetOutputValue(int i, ValuePtr value) {
  Tensor* tensor = OutputTensor(i);
  if (tensor == nullptr || !value || !tensor->type.shape) return;
  const Count elements = tensor->type.shape->Elements();
  if (elements > Count(kMaxValueElements)) return;
  if (static_cast<std::int64_t>(value->size()) == elements.value())
    tensor->value = std::move(value);
}

void OpContext::MarkUpperBound(int i) {
  if (Tensor* tensor = OutputTensor(i)) tensor->upper_bound = true;
}

const Tensor& OpContext::Output(int i) const {
  if (!HasOutput(i)) throw Error("output {} is missing", i);
  return graph_.tensors[static_cast<std::size_t>(node_.outputs[static_cast<std::size_t>(i)])];
}

DType OpContext::OutputType(int i) const { return Output(i).type.dtype; }

const Shape& OpContext::OutputShape(int i) const {
  const Tensor& tensor = Output(i);
  if (!tensor.type.shape) {
    throw Unresolved("the shape of '" + Printable(tensor.name) + "' is not known");
  }
  return *tensor.type.shape;
}

Bytes OpContext::InputBytes(int i) const {
  if (!HasInput(i)) return Bytes(0);
  const Tensor& tensor = Input(i);
  if (tensor.is_initializer && tensor.stored > Bytes(0)) return tensor.stored;
  return SizeOf(InputType(i), InputShape(i).Elements());
}

Bytes OpContext::OutputBytes(int i) const {
  if (!HasOutput(i)) return Bytes(0);
  return SizeOf(OutputType(i), OutputShape(i).Elements());
}

}  // namespace dlcost
