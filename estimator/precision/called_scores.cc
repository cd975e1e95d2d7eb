#include "estimator/precision/called_scores.h"

#include <optional>

#include "estimator/infer/causal_mask.h"

namespace dlcost {
namespace {

const Tensor& TensorIn(const Graph& graph, TensorId id) {
  return graph.tensors[static_cast<std::size_t>(id)];
}

// A stored number; kUnknown where nobody knows its value.
constexpr double kUnknown = -1;
std::optional<double> NumberOf(const Graph& graph, TensorId id) {
  if (id == kNoTensor) return std::nullopt;
  const Tensor& tensor = TensorIn(graph, id);
  const bool stored = tensor.constant || tensor.foldable;
  if (!stored || !tensor.type.shape || tensor.type.shape->Elements() != Count(1)) {
    return std::nullopt;
  }
  const bool known = tensor.value != nullptr && !tensor.value->is_integer();
  return known && tensor.value->reals().size() == 1 ? tensor.value->reals().front() : kUnknown;
}

std::optional<double> FactorIn(const std::unordered_map<TensorId, double>& among, TensorId id) {
  const auto found = among.find(id);
  return found == among.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

void CalledScores::Look(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.inputs.size() != 2 || node.outputs.size() != 1) return;
  const TensorId a = node.inputs[0], b = node.inputs[1], made = node.outputs[0];
  if (node.op == "Mul") {
    const std::optional<double> left = NumberOf(graph, a), right = NumberOf(graph, b);
    if (left || right) scaled_.emplace(made, right ? *right : *left);
  } else if (node.op == "MatMul") {
    const std::optional<double> q = FactorIn(scaled_, a), k = FactorIn(scaled_, b);
    const auto& shape = TensorIn(graph, made).type.shape;
    if (q && q == k && shape && shape->rank() != kFusedCallAxes) scores_.emplace(made, *q);
  } else if (node.op == "Add") {
    for (const auto& [scores, mask] : {std::pair(a, b), std::pair(b, a)}) {
      const std::optional<double> factor = FactorIn(scores_, scores);
      const auto& shape = mask == kNoTensor ? std::nullopt : TensorIn(graph, mask).type.shape;
      if (factor && IsScaleOfCall(*factor, shape && DiffersByHead(*shape))) {
        scores_.emplace(made, *factor);
      }
    }
  }
}

}  // namespace dlcost
