#include "estimator/training/uses.h"

namespace dlcost {

Uses::Uses(Graph& graph)
    : graph_(graph), makers_(graph.tensors.size(), kNone), readers_(graph.tensors.size()) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    ForEachRead(node(n), [&](TensorId id) { readers_[static_cast<std::size_t>(id)].push_back(n); });
    for (const TensorId id : node(n).outputs) {
      if (id != kNoTensor) makers_[static_cast<std::size_t>(id)] = n;
    }
  }
  for (const TensorId id : graph.outputs) readers_[static_cast<std::size_t>(id)].push_back(kNone);
}

std::optional<double> Uses::Number(TensorId id) const {
  if (id == kNoTensor || tensor(id).value == nullptr || tensor(id).value->size() != 1) {
    return std::nullopt;
  }
  return tensor(id).value->Real(0);
}

}  // namespace dlcost
