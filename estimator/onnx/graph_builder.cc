#include "estimator/onnx/graph_builder.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/onnx/payload.h"
#include "estimator/onnx/scope.h"
#include "estimator/onnx/unknown_fields.h"

namespace dlcost {
namespace {

// Functions that call functions can multiply; no real model comes near this many nodes.
constexpr std::size_t kMaxNodes = 4'000'000;
constexpr std::size_t kMaxCalls = 100;  // nested

std::string FunctionKey(const std::string& domain, const std::string& name,
                        const std::string& overload) {
  return NormalDomain(domain) + ":" + name + ":" + overload;
}

template <typename Message>
std::string FirstUnknown(const Message& message, int field) {
  const std::vector<std::string> found = UnknownBytes(message, field);
  return found.empty() ? "" : found.front();
}

// The module path that PyTorch's dynamo exporter leaves in a node's metadata.
std::string NameScopes(const onnx::NodeProto& node) {
  for (const std::string& bytes : UnknownBytes(node, kNodeMetadataField)) {
    onnx::StringStringEntryProto entry;
    if (entry.ParseFromString(bytes) && entry.key() == "pkg.torch.onnx.name_scopes") {
      return entry.value();
    }
  }
  return "";
}

std::map<std::string, int> OpsetImports(
    const google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>& imports) {
  std::map<std::string, int> opset;
  for (const auto& import : imports) {
    const std::int64_t version = std::clamp<std::int64_t>(import.version(), 1, 1'000'000);
    opset[NormalDomain(import.domain())] = static_cast<int>(version);
  }
  return opset;
}

// A Constant that may be a weight: more than a number, and no shape or axes.
bool IsStoredTensor(const Node& node) {
  return node.op == "Constant" && node.domain.empty() && node.outputs.size() == 1 &&
         node.outputs[0] != kNoTensor &&
         std::any_of(node.attributes.begin(), node.attributes.end(), [](const Attribute& a) {
           const auto* tensor = std::get_if<StoredTensor>(&a.value);
           return tensor != nullptr && tensor->shape.rank() > 0 && tensor->dtype != DType::kInt64;
         });
}

// The last number that a name is given holds.
void SetNumber(NameTable& names, const std::string& name, TensorId number) {
  if (!names.Insert(name, number)) names.Find(name)->number = number;
}

}  // namespace

GraphBuilder::GraphBuilder(const onnx::ModelProto& model) : model_(model) {
  for (const onnx::FunctionProto& function : model.functions()) {
    const std::string overload = FirstUnknown(function, kFunctionOverloadField);
    functions_[FunctionKey(function.domain(), function.name(), overload)] = &function;
  }
}

Graph GraphBuilder::Build() {
  Graph graph;
  Scope scope;
  scope.graph = &graph;
  scope.opset = OpsetImports(model_.opset_import());
  FillGraph(model_.graph(), scope, true);
  return graph;
}

TensorId GraphBuilder::AddTensor(Scope& scope, const std::string& name, std::string_view what,
                                 const onnx::NodeProto* node) {
  const auto id = static_cast<TensorId>(scope.graph->tensors.size());
  if (!scope.names.Insert(name, id)) {
    const std::string place =
        node == nullptr ? std::string(what) : "node '" + Printable(node->name()) + "'";
    throw Error("{}: the name '{}' is defined twice", place, Printable(name));
  }
  Tensor& tensor = scope.graph->tensors.emplace_back();
  tensor.name.reserve(scope.prefix.size() + name.size());
  tensor.name.append(scope.prefix).append(name);
  return id;
}

std::optional<TensorId> GraphBuilder::Lookup(const std::string& name, Scope& scope) {
  if (const NameTable::Entry* found = scope.names.Find(name)) return found->number;
  if (scope.nodes != nullptr && scope.declared < scope.nodes->size()) {
    DeclareOutputs(scope, scope.nodes->size());
    return Lookup(name, scope);
  }
  if (scope.parent == nullptr) return std::nullopt;
  const std::optional<TensorId> outer = Lookup(name, *scope.parent);
  if (!outer || *outer == kNoTensor) return outer;
  const TensorId inner = AddTensor(scope, name, "captured value");
  scope.graph->captures.push_back({*outer, inner});
  return inner;
}

void GraphBuilder::AddInitializers(const onnx::GraphProto& proto, Scope& scope) {
  const auto add = [&](const std::string& name, const auto& stored_proto) {
    try {
      const TensorId id = AddTensor(scope, name, "initializer");
      Tensor& tensor = scope.graph->tensors[static_cast<std::size_t>(id)];
      StoredTensor stored = ToStoredTensor(stored_proto);
      tensor.role = Role::kWeight;
      tensor.type.dtype = stored.dtype;
      tensor.type.shape = std::move(stored.shape);
      tensor.value = std::move(stored.value);
      tensor.stored = stored.stored;
      tensor.is_initializer = tensor.constant = tensor.foldable = true;
    } catch (const Error& error) {
      throw error.At("initializer '" + Printable(name) + "'");
    }
  };
  for (const auto& initializer : proto.initializer()) add(initializer.name(), initializer);
  for (const auto& sparse : proto.sparse_initializer()) add(sparse.values().name(), sparse);
}

void GraphBuilder::AddInputs(const onnx::GraphProto& proto, Scope& scope) {
  for (const auto& input : proto.input()) {
    const NameTable::Entry* known = scope.names.Find(input.name());
    const bool is_initializer =
        known != nullptr &&
        scope.graph->tensors[static_cast<std::size_t>(known->number)].is_initializer;
    if (is_initializer) continue;  // IR version 3 lists weights as inputs, later ones may
    const TensorId id = AddTensor(scope, input.name(), "input");
    Tensor& tensor = scope.graph->tensors[static_cast<std::size_t>(id)];
    tensor.role = Role::kInput;
    tensor.declared = ToDeclaredType(input.type());
    scope.graph->inputs.push_back(id);
  }
}

void GraphBuilder::AddNodes(const NodeProtos& nodes, Scope& scope) {
  scope.nodes = &nodes;
  for (int i = 0; i < nodes.size(); ++i) {
    DeclareOutputs(scope, i + 1);
    AddNode(nodes[i], scope);
  }
}

void GraphBuilder::DeclareOutputs(Scope& scope, int end) {
  for (; scope.declared < end; ++scope.declared) {
    const onnx::NodeProto& node = (*scope.nodes)[scope.declared];
    for (const std::string& output : node.output()) {
      // A function's output has its tensor already: the caller's.
      if (output.empty() || (!scope.prefix.empty() && scope.names.Find(output) != nullptr))
        continue;
      AddTensor(scope, output, "node", &node);
    }
  }
}

// Room for what the file has, so that large graphs are not copied while they grow.
void GraphBuilder::Reserve(const onnx::GraphProto& proto, Scope& scope) {
  const auto nodes = static_cast<std::size_t>(proto.node_size());
  const auto tensors = nodes + static_cast<std::size_t>(proto.initializer_size()) +
                       static_cast<std::size_t>(proto.input_size());
  scope.graph->nodes.reserve(nodes);
  scope.graph->tensors.reserve(tensors);
  scope.names.Reserve(tensors);
  node_names_.Reserve(node_names_.entries().size() + nodes);
}

void GraphBuilder::FillGraph(const onnx::GraphProto& proto, Scope& scope, bool is_main) {
  Graph& graph = *scope.graph;
  graph.name = proto.name();
  Reserve(proto, scope);
  AddInitializers(proto, scope);
  AddInputs(proto, scope);
  AddNodes(proto.node(), scope);
  const auto declare = [&](const onnx::ValueInfoProto& value) {
    const NameTable::Entry* found = scope.names.Find(value.name());
    if (found == nullptr) return;
    Tensor& tensor = graph.tensors[static_cast<std::size_t>(found->number)];
    if (!tensor.declared) tensor.declared = ToDeclaredType(value.type());
  };
  for (const auto& value : proto.value_info()) declare(value);
  for (const auto& output : proto.output()) {
    const std::optional<TensorId> id = Lookup(output.name(), scope);
    if (!id || *id == kNoTensor) {
      throw Error("graph output '{}' is produced by no node", Printable(output.name()));
    }
    declare(output);
    Tensor& tensor = graph.tensors[static_cast<std::size_t>(*id)];
    if (tensor.role == Role::kActivation) tensor.role = Role::kOutput;
    graph.outputs.push_back(*id);
  }
  if (is_main && proto.node_size() == 0 && proto.output_size() == 0) {
    throw Error("the file has no graph: it is empty or not an ONNX model");
  }
}

std::string GraphBuilder::UniqueNodeName(const onnx::NodeProto& proto, const Scope& scope) {
  // Without a prefix, a name of the file can stand in the table as it is.
  if (scope.prefix.empty() && !proto.name().empty() && node_names_.Insert(proto.name())) {
    return proto.name();
  }
  std::string name = scope.prefix + proto.name();
  if (proto.name().empty()) {
    // Unnamed nodes are told by what they produce, which is unique in its graph.
    name = scope.prefix + proto.op_type();
    for (const std::string& output : proto.output()) {
      if (output.empty()) continue;
      name += ":" + output;
      break;
    }
  }
  std::string unique = name;
  for (int i = 2; node_names_.Find(unique) != nullptr; ++i) unique = fmt::format("{}#{}", name, i);
  node_names_.Insert(made_names_.emplace_back(unique));
  return unique;
}

int GraphBuilder::OpsetOf(const std::string& domain, const Scope& scope) const {
  const auto found = scope.opset.find(domain);
  if (found != scope.opset.end()) return found->second;
  return 1;  // a model without an import for the domain is of IR version 1 or 2, or sloppy
}

const onnx::FunctionProto* GraphBuilder::FindFunction(const onnx::NodeProto& node) const {
  if (functions_.empty()) return nullptr;
  const std::string overload = FirstUnknown(node, kNodeOverloadField);
  const auto found = functions_.find(FunctionKey(node.domain(), node.op_type(), overload));
  return found == functions_.end() ? nullptr : found->second;
}

void GraphBuilder::AddNode(const onnx::NodeProto& proto, Scope& scope) {
  const std::string name = UniqueNodeName(proto, scope);
  if (++node_count_ > kMaxNodes) throw Error("more than {} nodes after inlining", kMaxNodes);
  try {
    if (proto.op_type().empty()) throw Error("the node has no operator");
    const onnx::FunctionProto* function = FindFunction(proto);
    if (function != nullptr) {
      Inline(proto, *function, name, scope);
    } else {
      AddPlainNode(proto, name, scope);
    }
  } catch (const Error& error) {
    // Errors inside nested graphs keep the innermost node's name only: one line, not a stack.
    const bool placed = std::string_view(error.what()).substr(0, 6) == "node '";
    if (placed) throw;
    throw error.At("node '" + Printable(name) + "' (" + Printable(proto.op_type()) + ")");
  }
}

void GraphBuilder::AddPlainNode(const onnx::NodeProto& proto, const std::string& name,
                                Scope& scope) {
  Node& node = scope.graph->nodes.emplace_back();
  node.name = name;
  node.op = proto.op_type();
  node.domain = NormalDomain(proto.domain());
  node.opset = OpsetOf(node.domain, scope);
  node.scope = ScopeOf(name, NameScopes(proto));
  node.inputs.reserve(static_cast<std::size_t>(proto.input_size()));
  for (const std::string& input : proto.input()) {
    const std::optional<TensorId> id = input.empty() ? kNoTensor : Lookup(input, scope);
    if (!id) {
      std::vector<std::string> names;
      if (scope.names.entries().size() < 10'000) {
        for (const NameTable::Entry& known : scope.names.entries()) names.emplace_back(known.name);
        std::sort(names.begin(), names.end());
      }
      throw Error("input '{}' is produced by no node{}", Printable(input),
                  DidYouMean(input, names));
    }
    node.inputs.push_back(*id);
  }
  node.outputs.reserve(static_cast<std::size_t>(proto.output_size()));
  for (const std::string& output : proto.output()) {
    node.outputs.push_back(output.empty() ? kNoTensor : scope.names.Find(output)->number);
  }
  for (const auto& attribute_proto : proto.attribute()) {
    Attribute attribute;
    if (ToAttribute(attribute_proto, scope, attribute)) {
      node.attributes.push_back(std::move(attribute));
    }
  }
  if (!call_stack_.empty()) ShareConstant(proto, scope, node);
}

// A function stores its tensors once, however often it is called.
void GraphBuilder::ShareConstant(const onnx::NodeProto& proto, const Scope& scope, Node& node) {
  if (!IsStoredTensor(node)) return;
  const bool given = std::any_of(proto.attribute().begin(), proto.attribute().end(),
                                 [](const auto& a) { return !a.ref_attr_name().empty(); });
  if (given) return;
  const auto [first, fresh] =
      function_constants_.emplace(std::pair(scope.graph, &proto), node.outputs[0]);
  if (fresh) return;
  node.op = "Identity";
  node.inputs = {first->second};
  node.attributes.clear();
}

std::size_t GraphBuilder::ExpandedSize(const NodeProtos& nodes, std::size_t calls) {
  std::size_t size = 0;
  for (const onnx::NodeProto& node : nodes) {
    ++size;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) size += ExpandedSize(attribute.g().node(), calls);
    }
    const onnx::FunctionProto* function = FindFunction(node);
    if (function != nullptr && calls < kMaxCalls) {
      // 0 while it is being counted: one that calls itself is refused elsewhere.
      const auto [known, fresh] = expanded_size_.emplace(function, 0);
      if (fresh) {
        const std::size_t own = ExpandedSize(function->node(), calls + 1);
        expanded_size_[function] = own;
        size += own;
      } else {
        size += known->second;
      }
    }
    if (size > kMaxNodes) return kMaxNodes + 1;
  }
  return size;
}

void GraphBuilder::Inline(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                          const std::string& name, Scope& scope) {
  if (std::find(call_stack_.begin(), call_stack_.end(), &function) != call_stack_.end()) {
    throw Error("the function '{}' calls itself", Printable(function.name()));
  }
  if (call_stack_.size() >= kMaxCalls) {
    throw Error("functions are nested deeper than {} calls", kMaxCalls);
  }
  if (call_stack_.empty() && node_count_ + ExpandedSize(function.node(), 1) > kMaxNodes) {
    throw Error("more than {} nodes after inlining", kMaxNodes);
  }
  // The body's attribute references see the call's attributes, then the function's defaults.
  std::vector<onnx::AttributeProto> defaults;
  for (const std::string& bytes : UnknownBytes(function, kFunctionAttributeProtoField)) {
    if (!defaults.emplace_back().ParseFromString(bytes)) defaults.pop_back();
  }
  std::unordered_map<std::string, const onnx::AttributeProto*> attributes;
  std::vector<onnx::AttributeProto> resolved;  // call attributes that are references themselves
  resolved.reserve(static_cast<std::size_t>(call.attribute_size()));
  for (const auto& attribute : defaults) attributes[attribute.name()] = &attribute;
  for (const auto& attribute : call.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      attributes[attribute.name()] = &attribute;
    } else if (scope.call_attributes != nullptr) {
      const auto outer = scope.call_attributes->find(attribute.ref_attr_name());
      if (outer != scope.call_attributes->end()) attributes[attribute.name()] = outer->second;
    }
  }
  Scope body;
  body.graph = scope.graph;
  body.prefix = name + "/";
  body.opset = OpsetImports(function.opset_import());
  for (const auto& [domain, version] : scope.opset) body.opset.emplace(domain, version);
  body.call_attributes = &attributes;
  for (int i = 0; i < function.input_size(); ++i) {
    const bool given = i < call.input_size() && !call.input(i).empty();
    const std::optional<TensorId> id = given ? Lookup(call.input(i), scope) : kNoTensor;
    if (!id) throw Error("input '{}' is produced by no node", Printable(call.input(i)));
    SetNumber(body.names, function.input(i), *id);
  }
  for (int i = 0; i < function.output_size(); ++i) {
    if (i >= call.output_size() || call.output(i).empty()) continue;
    const TensorId outer = scope.names.Find(call.output(i))->number;
    const NameTable::Entry* input = body.names.Find(function.output(i));
    if (input == nullptr) {
      body.names.Insert(function.output(i), outer);
      continue;
    }
    // A function that hands an input through: the caller's output is a copy of it.
    Node identity;
    identity.name = name + "/" + function.output(i);
    identity.op = "Identity";
    identity.opset = OpsetOf("", scope);
    identity.inputs = {input->number};
    identity.outputs = {outer};
    scope.graph->nodes.push_back(std::move(identity));
  }
  call_stack_.push_back(&function);
  AddNodes(function.node(), body);
  call_stack_.pop_back();
}

std::shared_ptr<Graph> GraphBuilder::Subgraph(const onnx::GraphProto& proto, Scope& scope) {
  auto graph = std::make_shared<Graph>();
  Scope inner;
  inner.graph = graph.get();
  inner.parent = &scope;
  inner.prefix = scope.prefix;
  inner.opset = scope.opset;
  inner.call_attributes = scope.call_attributes;
  FillGraph(proto, inner, false);
  return graph;
}

}  // namespace dlcost
