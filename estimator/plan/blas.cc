#include "estimator/plan/blas.h"

#include <numeric>
#include <utility>
#include <variant>
#include <vector>

namespace dlcost {
namespace {

// The shape of an operand that is stored, or the copy of what is stored in the type that products
// run in; null for any other.
const Shape* StoredShape(const ValueGraph& values, std::size_t n, std::size_t operand) {
  const ValueId value = values.Input(n, operand);
  if (value == kNoValue) return nullptr;
  const auto maker = values.Producer(value);
  const bool stored = values.IsConstant(value) ||
                      (maker != ValueGraph::kNoNode &&
                       values.node(static_cast<std::size_t>(maker)).node->phase == Phase::kCast);
  const auto& shape = values.tensor(value).type.shape;
  return stored && shape ? &*shape : nullptr;
}

bool IsVector(const Shape* shape) {
  return shape != nullptr && shape->rank() > 0 && shape->Elements() == Count(shape->dims().back());
}

bool IsNumber(const Shape* shape) { return shape != nullptr && shape->Elements() == Count(1); }

}  // namespace

bool AddsStoredVector(const ValueGraph& values, std::size_t n) {
  const std::string& op = values.node(n).node->op;
  if (op == "Gemm") return IsVector(StoredShape(values, n, 2));
  return op == "Add" &&
         (IsVector(StoredShape(values, n, 0)) || IsVector(StoredShape(values, n, 1)));
}

bool ScalesByStoredNumber(const ValueGraph& values, std::size_t n) {
  const std::string& op = values.node(n).node->op;
  if (op != "Mul" && op != "Div") return false;
  return IsNumber(StoredShape(values, n, 1)) ||
         (op == "Mul" && IsNumber(StoredShape(values, n, 0)));
}

bool TransposesMatrices(const ValueGraph& values, std::size_t n) {
  const Node& node = *values.node(n).node;
  const AttributeValue* perm = node.op == "Transpose" ? node.FindAttribute("perm") : nullptr;
  const auto* axes = perm == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(perm);
  if (axes == nullptr || axes->size() < 2) return false;
  std::vector<std::int64_t> exchanged(axes->size());
  std::iota(exchanged.begin(), exchanged.end(), 0);
  std::swap(exchanged.back(), exchanged[exchanged.size() - 2]);
  return *axes == exchanged;
}

}  // namespace dlcost
