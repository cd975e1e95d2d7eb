#include "estimator/regress/classify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace dlcost {
namespace {

// The attribute as the file has it, a default that is spelled out included.
std::string WrittenText(const NodeRow& row, const std::string& name) {
  for (const auto& [key, text] : row.attributes) {
    if (key == name) return text;
  }
  return "default";
}

void CompareAttributes(const NodeRow& before, const NodeRow& after, NodeDelta& delta) {
  std::map<std::string, std::pair<std::string, std::string>> both;
  for (const auto& [name, text] : SignificantAttributes(before)) both[name].first = text;
  for (const auto& [name, text] : SignificantAttributes(after)) both[name].second = text;
  for (const auto& [name, texts] : both) {
    if (texts.first == texts.second) continue;
    delta.attributes.push_back(
        fmt::format("{} {} -> {}", name, WrittenText(before, name), WrittenText(after, name)));
  }
}

std::vector<const Operand*> WeightsOf(const NodeRow& row) {
  std::vector<const Operand*> weights;
  for (const Operand& input : row.inputs) {
    if (IsWeight(input)) weights.push_back(&input);
  }
  return weights;
}

// "3x3" of a convolution's weight.
std::string KernelText(const NodeRow& row) {
  const Operand* weight = MainWeight(row);
  if (weight == nullptr || weight->shape->rank() < 3) return "";
  const std::vector<std::int64_t>& dims = weight->shape->dims();
  return fmt::to_string(fmt::join(dims.begin() + 2, dims.end(), "x"));
}

void CompareFeatures(const NodeRow& before, const NodeRow& after, NodeDelta& delta) {
  const std::optional<Features> a = FeaturesOf(before), b = FeaturesOf(after);
  if (!a || !b) return;
  if (a->in != b->in) {
    delta.in_before = a->in;
    delta.in_after = b->in;
  }
  if (a->out != b->out) {
    delta.out_before = a->out;
    delta.out_after = b->out;
  }
}

void CompareWeights(const NodeRow& before, const NodeRow& after, NodeDelta& delta) {
  CompareFeatures(before, after, delta);
  const std::vector<const Operand*> a = WeightsOf(before), b = WeightsOf(after);
  const bool has_features = FeaturesOf(before) && FeaturesOf(after);
  if (a.size() != b.size()) {
    const bool bias = has_features && std::max(a.size(), b.size()) == 2;
    delta.weights.push_back(fmt::format("{} {}", b.size() > a.size() ? "gained" : "lost",
                                        bias ? "a bias" : "a weight"));
  }
  if (has_features) {
    const std::string from = KernelText(before), to = KernelText(after);
    if (from != to) delta.weights.push_back(fmt::format("kernel {} -> {}", from, to));
    return;  // the rest of the shapes is what the features say
  }
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const std::string from = ShapeText(a[i]->shape), to = ShapeText(b[i]->shape);
    if (from == to) continue;
    // A vector per channel (normalization, bias) follows from its input; a matrix does not.
    const bool follows = a[i]->shape->rank() == 1 && b[i]->shape->rank() == 1;
    if (!follows) delta.weights.push_back(fmt::format("weight {} -> {}", from, to));
  }
}

// Height and width alone where batch and channels stay.
std::string ShapeChange(const std::optional<Shape>& before, const std::optional<Shape>& after) {
  const auto tail = [](const Shape& shape) {
    return Shape(std::vector<std::int64_t>(shape.dims().begin() + 2, shape.dims().end()));
  };
  if (before && after && before->rank() == after->rank() && before->rank() > 2 &&
      (*before)[0] == (*after)[0] && (*before)[1] == (*after)[1]) {
    return fmt::format("{} -> {}", ShapeText(tail(*before)), ShapeText(tail(*after)));
  }
  return fmt::format("{} -> {}", ShapeText(before), ShapeText(after));
}

void CompareOperands(const Operands& before, const Operands& after, bool outputs,
                     NodeDelta& delta) {
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    const Operand &a = before[i], &b = after[i];
    if (a.name.empty() || b.name.empty() || a.weight != b.weight) continue;
    if (a.dtype != b.dtype && (IsFloat(a.dtype) || IsFloat(b.dtype))) {
      delta.type_before = a.dtype;
      delta.type_after = b.dtype;
    }
    if (a.shape == b.shape) continue;
    if (!a.weight || a.shape.value_or(Shape()).rank() == 1) delta.shapes = true;
    if (outputs && delta.output_change.empty()) {
      delta.output_change = ShapeChange(a.shape, b.shape);
    }
  }
}

bool SameOperands(const Operands& before, const Operands& after) {
  return std::equal(before.begin(), before.end(), after.begin(), after.end(),
                    [](const Operand& a, const Operand& b) {
                      return a.weight == b.weight && a.dtype == b.dtype && a.shape == b.shape &&
                             a.name.empty() == b.name.empty();
                    });
}

}  // namespace

NodeDelta CompareNodes(const NodeRow& before, const NodeRow& after) {
  NodeDelta delta;
  delta.fusion =
      before.op != after.op && (before.op.starts_with("Fused") || after.op.starts_with("Fused"));
  // Nearly all pairs of two large models: nothing to put into words.
  if (!delta.fusion && before.attributes == after.attributes &&
      SameOperands(before.inputs, after.inputs) && SameOperands(before.outputs, after.outputs)) {
    return delta;
  }
  CompareAttributes(before, after, delta);
  CompareWeights(before, after, delta);
  CompareOperands(before.inputs, after.inputs, false, delta);
  CompareOperands(before.outputs, after.outputs, true, delta);
  return delta;
}

}  // namespace dlcost
