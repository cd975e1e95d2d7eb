#include "estimator/onnx/graph_builder.h"

namespace dlcost {
namespace {

std::vector<Dim> ToDims(const onnx::TensorShapeProto& shape) {
  std::vector<Dim> dims;
  for (const auto& proto : shape.dim()) {
    Dim dim;
    if (proto.has_dim_value() && proto.dim_value() >= 0) dim.size = proto.dim_value();
    if (proto.has_dim_param()) dim.symbol = proto.dim_param();
    dims.push_back(std::move(dim));
  }
  return dims;
}

template <typename TensorTypeProto>
DeclaredType FromTensor(ValueKind kind, const TensorTypeProto& proto) {
  DeclaredType declared;
  declared.kind = kind;
  declared.dtype = DTypeFromOnnx(proto.elem_type());
  if (proto.has_shape()) declared.dims = ToDims(proto.shape());
  return declared;
}

}  // namespace

DeclaredType ToDeclaredType(const onnx::TypeProto& type) {
  // Sequences and optionals nest; hostile nesting was bounded when the file was parsed.
  if (type.has_tensor_type()) return FromTensor(ValueKind::kTensor, type.tensor_type());
  if (type.has_sparse_tensor_type()) {
    return FromTensor(ValueKind::kSparseTensor, type.sparse_tensor_type());
  }
  DeclaredType declared;
  if (type.has_sequence_type()) {
    declared = ToDeclaredType(type.sequence_type().elem_type());
    declared.kind = ValueKind::kSequence;
  } else if (type.has_optional_type()) {
    declared = ToDeclaredType(type.optional_type().elem_type());
    declared.kind = ValueKind::kOptional;
  } else if (type.has_map_type()) {
    declared = ToDeclaredType(type.map_type().value_type());
    declared.kind = ValueKind::kMap;
  } else {
    declared.kind = ValueKind::kOpaque;
  }
  return declared;
}

std::string NormalDomain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

}  // namespace dlcost
