#include <algorithm>

#include "estimator/infer/memory.h"

namespace dlcost {
namespace {

// Memory is owned by the tensor at the root of a chain of views.
class Liveness {
 public:
  explicit Liveness(InferredModel& model)
      : model_(model),
        graph_(model.model->graph),
        root_(graph_.tensors.size()),
        last_use_(graph_.tensors.size(), kNever) {
    for (std::size_t t = 0; t < root_.size(); ++t) root_[t] = static_cast<TensorId>(t);
  }

  Bytes Peak() {
    FindRoots();
    FindLastUses();
    return Sweep();
  }

 private:
  static constexpr std::int64_t kNever = -1;

  bool IsMain(const CountedNode& counted) const { return counted.graph == &graph_; }
  std::size_t Root(TensorId id) const {
    return static_cast<std::size_t>(root_[static_cast<std::size_t>(id)]);
  }

  void FindRoots() {
    for (const CountedNode& counted : model_.nodes) {
      if (!IsMain(counted) || counted.status != NodeStatus::kView) continue;
      const Node& node = *counted.node;
      if (node.inputs.empty() || node.inputs[0] == kNoTensor) continue;
      for (const TensorId id : node.outputs) {
        if (id != kNoTensor) {
          root_[static_cast<std::size_t>(id)] = static_cast<TensorId>(Root(node.inputs[0]));
        }
      }
    }
  }

  void FindLastUses() {
    for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
      if (!IsMain(model_.nodes[n])) continue;
      for (const TensorId id : model_.nodes[n].node->inputs) {
        if (id != kNoTensor) last_use_[Root(id)] = static_cast<std::int64_t>(n);
      }
    }
    for (const TensorId id : graph_.outputs) {
      last_use_[Root(id)] = static_cast<std::int64_t>(model_.nodes.size());
    }
  }

  Bytes SizeOfTensor(std::size_t t) const {
    const Tensor& tensor = graph_.tensors[t];
    if (tensor.foldable || !tensor.type.shape) return Bytes(0);
    return SizeOf(tensor.type.dtype, tensor.type.shape->Elements());
  }

  Bytes Sweep() {
    Bytes live, peak;
    for (const TensorId id : graph_.inputs) live += SizeOfTensor(static_cast<std::size_t>(id));
    peak = live;
    std::vector<bool> freed(root_.size(), false);
    for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
      if (!IsMain(model_.nodes[n])) continue;
      const Node& node = *model_.nodes[n].node;
      for (const TensorId id : node.outputs) {
        if (id != kNoTensor && Root(id) == static_cast<std::size_t>(id)) {
          live += SizeOfTensor(static_cast<std::size_t>(id));
        }
      }
      peak = std::max(peak, live);
      const auto release = [&](TensorId id) {
        if (id == kNoTensor || freed[Root(id)]) return;
        if (last_use_[Root(id)] > static_cast<std::int64_t>(n)) return;
        freed[Root(id)] = true;
        live -= SizeOfTensor(Root(id));
      };
      for (const TensorId id : node.inputs) release(id);
      for (const TensorId id : node.outputs) release(id);  // outputs that nobody reads
    }
    return peak;
  }

  InferredModel& model_;
  const Graph& graph_;
  std::vector<TensorId> root_;
  std::vector<std::int64_t> last_use_;
};

}  // namespace

void MeasurePeakActivations(InferredModel& model) {
  model.peak_activation_bytes = Liveness(model).Peak();
}

}  // namespace dlcost
