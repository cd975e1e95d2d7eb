#include "estimator/parallel/caches.h"

#include <algorithm>

#include "models/operators/registry.h"

namespace dlcost {
namespace {

class CacheFinder {
 public:
  CacheFinder(const Graph& graph, const std::vector<Macs>& macs)
      : graph_(graph), macs_(macs), found_(graph.tensors.size(), false) {}

  std::vector<bool> Find() {
    for (const TensorId id : graph_.inputs) {
      if (IsActivation(id)) Mark(id);
    }
    for (std::size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (macs_[n] > Macs(0)) {
        MarkOperands(node);
      } else if (Moves(node) && AnyOf(node.outputs)) {
        for (const TensorId id : node.inputs) Mark(id);
      }
    }
    for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      if (macs_[n] > Macs(0)) {
        for (std::size_t o = 1; o < node.outputs.size(); ++o) Mark(node.outputs[o]);
      } else if (Moves(node) && AnyOf(node.inputs)) {
        for (const TensorId id : node.outputs) Mark(id);
      }
    }
    return std::move(found_);
  }

 private:
  const Tensor& tensor(TensorId id) const { return graph_.tensors[static_cast<std::size_t>(id)]; }
  bool IsActivation(TensorId id) const {
    return id != kNoTensor && !tensor(id).constant && IsFloat(tensor(id).type.dtype);
  }
  void Mark(TensorId id) {
    if (IsActivation(id)) found_[static_cast<std::size_t>(id)] = true;
  }
  bool AnyOf(const std::vector<TensorId>& ids) const {
    return std::any_of(ids.begin(), ids.end(), [&](TensorId id) {
      return id != kNoTensor && found_[static_cast<std::size_t>(id)];
    });
  }
  void MarkOperands(const Node& node) {
    if (node.inputs.size() < 2 || !IsActivation(node.inputs[0]) || !IsActivation(node.inputs[1])) {
      return;
    }
    Mark(node.inputs[0]);
    Mark(node.inputs[1]);
  }
  static bool Moves(const Node& node) {
    const OpDef* def = FindOperator(node.domain, node.op);
    return def != nullptr && (def->role == FusionRole::kMovement || def->role == FusionRole::kView);
  }

  const Graph& graph_;
  const std::vector<Macs>& macs_;
  std::vector<bool> found_;
};

}  // namespace

std::vector<bool> CachesOf(const Graph& graph, const std::vector<Macs>& macs) {
  return CacheFinder(graph, macs).Find();
}

}  // namespace dlcost
