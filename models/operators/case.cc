#include "models/operators/case.h"

#include <fmt/ranges.h>

#include <charconv>
#include <string>

#include "estimator/core/error.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

// Splits at top-level separators: not inside [], {} or quotes.
std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : separator;
    if (c == '\'') quoted = !quoted;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (c == separator && (i == text.size() || (depth == 0 && !quoted))) {
      if (i > start) parts.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  return parts;
}

template <typename T>
T Number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error("malformed case: '{}' is not a number", text);
  }
  return value;
}

bool LooksReal(std::string_view text) {
  return text.find_first_of(".eE") != std::string_view::npos || text.find("inf") != text.npos;
}

template <typename T>
std::vector<T> Numbers(std::string_view text) {
  std::vector<T> numbers;
  for (const std::string_view part : Split(text, ',')) numbers.push_back(Number<T>(part));
  return numbers;
}

// "seq:f32([2,3];[4,3])": a sequence with these elements; "(?)" for a length that is not known.
Tensor ParseContainer(std::string_view text) {
  const std::size_t open = text.find('(');
  const auto dtype = ParseDType(text.substr(4, open - 4));
  if (!dtype || text.back() != ')') throw Error("malformed case tensor '{}'", text);
  Tensor tensor;
  tensor.type.kind = text.substr(0, 3) == "seq" ? ValueKind::kSequence : ValueKind::kOptional;
  tensor.type.dtype = *dtype;
  const std::string_view body = text.substr(open + 1, text.size() - open - 2);
  if (body == "?") return tensor;
  tensor.type.elements.emplace();
  for (const std::string_view part : Split(body, ';')) {
    TensorType element;
    element.dtype = *dtype;
    if (part != "[?]")
      element.shape = Shape(Numbers<std::int64_t>(part.substr(1, part.size() - 2)));
    tensor.type.elements->push_back(std::move(element));
  }
  return tensor;
}

Tensor ParseTensor(std::string_view text) {
  if (text.substr(0, 4) == "seq:" || text.substr(0, 4) == "opt:") return ParseContainer(text);
  Tensor tensor;
  if (text.substr(0, 2) == "w:") {
    tensor.role = Role::kWeight;
    tensor.constant = tensor.foldable = true;
    text.remove_prefix(2);
  }
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']');
  if (open == text.npos || close == text.npos) throw Error("malformed case tensor '{}'", text);
  const auto dtype = ParseDType(text.substr(0, open));
  if (!dtype) throw Error("malformed case: unknown type in '{}'", text);
  tensor.type.dtype = *dtype;
  const std::string_view dims = text.substr(open + 1, close - open - 1);
  if (dims != "?") tensor.type.shape = Shape(Numbers<std::int64_t>(dims));
  if (close + 1 < text.size()) {
    const std::string_view body = text.substr(close + 2, text.size() - close - 3);
    if (IsFloat(*dtype)) {
      tensor.value = std::make_shared<Value>(Numbers<double>(body));
    } else {
      tensor.value = std::make_shared<Value>(Numbers<std::int64_t>(body));
    }
    tensor.constant = tensor.foldable = true;
  }
  return tensor;
}

AttributeValue ParseAttributeValue(std::string_view text) {
  if (text.front() == '\'') return std::string(text.substr(1, text.size() - 2));
  if (text.front() == '[') {
    const std::string_view body = text.substr(1, text.size() - 2);
    if (!body.empty() && body.front() == '\'') {
      std::vector<std::string> strings;
      for (const std::string_view part : Split(body, ',')) {
        strings.emplace_back(part.substr(1, part.size() - 2));
      }
      return strings;
    }
    if (LooksReal(body)) return Numbers<double>(body);
    return Numbers<std::int64_t>(body);
  }
  if (text.find('[') != text.npos) {
    const Tensor tensor = ParseTensor(text);
    return StoredTensor{tensor.type.dtype, *tensor.type.shape, tensor.value,
                        SizeOf(tensor.type.dtype, tensor.type.shape->Elements())};
  }
  if (LooksReal(text)) return Number<double>(text);
  return Number<std::int64_t>(text);
}

std::string ValueText(const Value& value) {
  return value.is_integer() ? fmt::format("{{{}}}", fmt::join(value.ints(), ","))
                            : fmt::format("{{{}}}", fmt::join(value.reals(), ","));
}

std::string ContainerText(const TensorType& type) {
  std::vector<std::string> elements;
  if (!type.elements) {
    elements.emplace_back("?");
  } else {
    for (const TensorType& element : *type.elements) {
      elements.push_back(element.shape ? ToString(*element.shape) : "[?]");
    }
  }
  return fmt::format("{}:{}({})", type.kind == ValueKind::kSequence ? "seq" : "opt",
                     Name(type.dtype), fmt::join(elements, ";"));
}

}  // namespace

std::vector<Tensor> ParseCaseTensors(std::string_view text) {
  std::vector<Tensor> tensors;
  for (const std::string_view part : Split(text, ' ')) {
    if (part == "_") {
      tensors.emplace_back();
      tensors.back().type.kind = ValueKind::kOpaque;  // stands for "omitted"
    } else {
      tensors.push_back(ParseTensor(part));
    }
  }
  return tensors;
}

std::vector<Attribute> ParseCaseAttributes(std::string_view text) {
  std::vector<Attribute> attributes;
  for (const std::string_view part : Split(text, ' ')) {
    const std::size_t equals = part.find('=');
    if (equals == part.npos) throw Error("malformed case attribute '{}'", part);
    attributes.push_back(
        {std::string(part.substr(0, equals)), ParseAttributeValue(part.substr(equals + 1))});
  }
  return attributes;
}

CaseResult RunCase(const OpDef& def, const OpCase& op_case) {
  Graph graph;
  Node node;
  node.name = node.op = std::string(def.name);
  node.domain = std::string(def.domain);
  node.opset = op_case.opset != 0 ? op_case.opset : *(def.since.end() - 1);
  node.attributes = ParseCaseAttributes(op_case.attributes);
  const auto add = [&graph](Tensor tensor, const char* prefix) {
    if (tensor.type.kind == ValueKind::kOpaque) return kNoTensor;
    tensor.name = fmt::format("{}{}", prefix, graph.tensors.size());
    graph.tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(graph.tensors.size() - 1);
  };
  for (Tensor& input : ParseCaseTensors(op_case.inputs)) {
    node.inputs.push_back(add(std::move(input), "in"));
  }
  for (const Tensor& output : ParseCaseTensors(op_case.outputs)) {
    Tensor empty;
    empty.type.kind = output.type.kind;
    node.outputs.push_back(add(std::move(empty), "out"));
  }
  OpContext ctx(graph, node, SinceVersion(def, node.opset));
  CaseResult result;
  def.infer(ctx);
  if (def.values != nullptr) def.values(ctx);
  result.cost = def.cost(ctx);
  for (const TensorId id : node.outputs) {
    if (id == kNoTensor) {
      result.outputs.emplace_back();
      result.outputs.back().type.kind = ValueKind::kOpaque;
    } else {
      result.outputs.push_back(graph.tensors[static_cast<std::size_t>(id)]);
    }
  }
  return result;
}

std::string OutputsText(const std::vector<Tensor>& outputs, bool with_values) {
  std::vector<std::string> texts;
  for (const Tensor& tensor : outputs) {
    if (tensor.type.kind == ValueKind::kOpaque) {
      texts.emplace_back("_");
      continue;
    }
    if (tensor.type.kind == ValueKind::kSequence || tensor.type.kind == ValueKind::kOptional) {
      texts.push_back(ContainerText(tensor.type));
      continue;
    }
    std::string text(Name(tensor.type.dtype));
    text += tensor.type.shape ? ToString(*tensor.type.shape) : "[?]";
    if (with_values && tensor.value) text += ValueText(*tensor.value);
    texts.push_back(text);
  }
  return fmt::format("{}", fmt::join(texts, " "));
}

}  // namespace dlcost
