#include "estimator/core/error.h"
#include "estimator/onnx/graph_builder.h"
#include "estimator/onnx/payload.h"

namespace dlcost {
namespace {

using onnx::AttributeProto;

// Files of IR version 1 leave the type out: the field that is set tells.
AttributeProto::AttributeType TypeOf(const AttributeProto& proto) {
  if (proto.has_type() && proto.type() != AttributeProto::UNDEFINED) return proto.type();
  if (proto.has_f()) return AttributeProto::FLOAT;
  if (proto.has_i()) return AttributeProto::INT;
  if (proto.has_s()) return AttributeProto::STRING;
  if (proto.has_t()) return AttributeProto::TENSOR;
  if (proto.has_g()) return AttributeProto::GRAPH;
  if (proto.floats_size() > 0) return AttributeProto::FLOATS;
  if (proto.ints_size() > 0) return AttributeProto::INTS;
  if (proto.strings_size() > 0) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

template <typename Out, typename Field>
std::vector<Out> ToVector(const Field& field) {
  return {field.begin(), field.end()};
}

}  // namespace

bool GraphBuilder::ToAttribute(const AttributeProto& given, Scope& scope, Attribute& attribute) {
  const AttributeProto* source = &given;
  attribute.name = given.name();
  if (!given.ref_attr_name().empty()) {
    // Inside a function body: the value comes from the call; an attribute that the call leaves out
    // is absent.
    if (scope.call_attributes == nullptr) {
      throw Error("attribute '{}' refers to a function's attribute outside of a function",
                  Printable(given.name()));
    }
    const auto found = scope.call_attributes->find(given.ref_attr_name());
    if (found == scope.call_attributes->end()) return false;
    source = found->second;
  }
  const AttributeProto& proto = *source;
  switch (TypeOf(proto)) {
    case AttributeProto::FLOAT:
      attribute.value = static_cast<double>(proto.f());
      break;
    case AttributeProto::INT:
      attribute.value = static_cast<std::int64_t>(proto.i());
      break;
    case AttributeProto::STRING:
      attribute.value = proto.s();
      break;
    case AttributeProto::TENSOR:
      attribute.value = ToStoredTensor(proto.t());
      break;
    case AttributeProto::SPARSE_TENSOR:
      attribute.value = ToStoredTensor(proto.sparse_tensor());
      break;
    case AttributeProto::GRAPH:
      attribute.value = Subgraph(proto.g(), scope);
      break;
    case AttributeProto::FLOATS:
      attribute.value = ToVector<double>(proto.floats());
      break;
    case AttributeProto::INTS:
      attribute.value = ToVector<std::int64_t>(proto.ints());
      break;
    case AttributeProto::STRINGS:
      attribute.value = ToVector<std::string>(proto.strings());
      break;
    case AttributeProto::GRAPHS: {
      std::vector<std::shared_ptr<Graph>> graphs;
      for (const auto& graph : proto.graphs()) graphs.push_back(Subgraph(graph, scope));
      attribute.value = std::move(graphs);
      break;
    }
    default:
      attribute.value = std::monostate{};  // type protos and lists of tensors cost nothing
  }
  return true;
}

}  // namespace dlcost
