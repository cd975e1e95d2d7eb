#include "estimator/precision/kept_types.h"

#include <algorithm>

#include "estimator/precision/autocast_rules.h"

namespace dlcost {
namespace {

const Tensor& At(const Graph& graph, TensorId id) {
  return graph.tensors[static_cast<std::size_t>(id)];
}

bool ReadsShapeAlone(const Node& node) {
  return node.domain.empty() && (node.op == "Shape" || node.op == "Size");
}

}  // namespace

bool IsKnown(const Graph& graph, const Node& node, const std::set<TensorId>& trained) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
    return id == kNoTensor ||
           (At(graph, id).foldable && !At(graph, id).type.value && trained.count(id) == 0);
  });
}

std::vector<bool> OfStored(const Graph& graph, const std::set<TensorId>& trained) {
  std::vector<bool> stored(graph.tensors.size(), false);
  for (std::size_t t = 0; t < stored.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    stored[t] = tensor.is_initializer && IsFloat(tensor.type.dtype) && tensor.type.shape &&
                tensor.type.shape->rank() > 0;
  }
  for (const Node& node : graph.nodes) {
    if (ReadsShapeAlone(node) || !IsKnown(graph, node, trained)) continue;
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
      return id != kNoTensor && stored[static_cast<std::size_t>(id)];
    });
    for (const TensorId id : node.outputs) {
      if (id != kNoTensor && any) stored[static_cast<std::size_t>(id)] = true;
    }
  }
  return stored;
}

KeptTypes::KeptTypes(const Graph& graph, const std::set<TensorId>& trained,
                     const std::vector<bool>& of_stored)
    : graph_(graph), of_stored_(of_stored) {
  // From the back: what makes a value that keeps its type keeps its own.
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool own = AutocastRuleOf(node->domain, node->op) == CastRule::kOwn;
    const bool keeps =
        !ReadsShapeAlone(*node) && IsKnown(graph, *node, trained) && KeepsResultOf(*node);
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      const TensorId id = node->inputs[i];
      if (id == kNoTensor) continue;
      const bool known = At(graph, id).is_initializer || At(graph, id).foldable;
      if ((own && i > 0) || (keeps && known && trained.count(id) == 0)) kept_.insert(id);
    }
  }
}

bool KeptTypes::KeepsResultOf(const Node& node) const {
  const auto& outputs = node.outputs;
  return outputs.empty() || std::any_of(outputs.begin(), outputs.end(), [&](TensorId id) {
           if (id == kNoTensor) return false;
           if (!of_stored_[static_cast<std::size_t>(id)]) return true;
           // Of weights no values are known, which might decide a size.
           const Tensor& tensor = At(graph_, id);
           return tensor.value != nullptr && (Keeps(id) || !IsFloat(tensor.type.dtype));
         });
}

}  // namespace dlcost
