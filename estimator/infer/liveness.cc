#include <algorithm>
#include <unordered_map>

#include "estimator/infer/memory.h"

namespace dlcost {
namespace {

Bytes SizeOfTensor(const Tensor& tensor) {
  if (tensor.foldable || !tensor.type.shape) return Bytes(0);
  return SizeOf(tensor.type.dtype, tensor.type.shape->Elements());
}

// What lives inside the graphs of a model, by the node that runs them.
using InnerPeaks = std::unordered_map<const Node*, Bytes>;

// One graph, main or inner. Memory is owned by the tensor at the root of a chain of views
// and of outputs in place.
class Liveness {
 public:
  Liveness(const Graph& graph, const std::vector<const CountedNode*>& nodes,
           const InnerPeaks& inner)
      : graph_(graph),
        nodes_(nodes),
        inner_(inner),
        root_(graph_.tensors.size()),
        last_use_(graph_.tensors.size(), kNever),
        size_(graph_.tensors.size()) {
    for (std::size_t t = 0; t < root_.size(); ++t) {
      root_[t] = static_cast<TensorId>(t);
      size_[t] = SizeOfTensor(graph_.tensors[t]);
    }
  }

  Bytes Peak() {
    const std::vector<Bytes> moments = Moments();
    return *std::max_element(moments.begin(), moments.end());
  }

  // What lives at the start, and while each node runs.
  std::vector<Bytes> Moments() {
    FindRoots();
    FindLastUses();
    return Sweep();
  }

 private:
  static constexpr std::int64_t kNever = -1;

  std::size_t Root(TensorId id) const {
    return static_cast<std::size_t>(root_[static_cast<std::size_t>(id)]);
  }

  void FindRoots() {
    for (const CountedNode* counted : nodes_) {
      FindMemoryTaken(*counted);
      if (counted->status != NodeStatus::kView) continue;
      const Node& node = *counted->node;
      if (node.inputs.empty() || node.inputs[0] == kNoTensor) continue;
      for (const TensorId id : node.outputs) {
        if (id != kNoTensor) {
          root_[static_cast<std::size_t>(id)] = static_cast<TensorId>(Root(node.inputs[0]));
        }
      }
    }
  }

  // What grows in place has the size that it ends with from the start.
  void FindMemoryTaken(const CountedNode& counted) {
    for (const Access& access : counted.cost.accesses) {
      if (access.memory_of == Access::kNoInput) continue;
      const TensorId from = counted.node->inputs[static_cast<std::size_t>(access.memory_of)];
      const TensorId to = counted.node->outputs[static_cast<std::size_t>(access.operand)];
      if (from == kNoTensor || to == kNoTensor) continue;
      const std::size_t root = Root(from);
      root_[static_cast<std::size_t>(to)] = static_cast<TensorId>(root);
      size_[root] = std::max(size_[root], size_[static_cast<std::size_t>(to)]);
    }
  }

  void FindLastUses() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      ForEachRead(*nodes_[n]->node,
                  [&](TensorId id) { last_use_[Root(id)] = static_cast<std::int64_t>(n); });
    }
    for (const TensorId id : graph_.outputs) {
      last_use_[Root(id)] = static_cast<std::int64_t>(nodes_.size());
    }
  }

  Bytes SizeAt(std::size_t t) const { return size_[t]; }

  std::vector<Bytes> Sweep() {
    Bytes live;
    std::vector<Bytes> moments;
    moments.reserve(nodes_.size() + 1);
    for (const TensorId id : graph_.inputs) live += SizeAt(static_cast<std::size_t>(id));
    moments.push_back(live);
    std::vector<bool> freed(root_.size(), false);
    // What is captured lives in the graph around, which frees it.
    for (const Capture& capture : graph_.captures) {
      freed[static_cast<std::size_t>(capture.inner)] = true;
    }
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = *nodes_[n]->node;
      for (const TensorId id : node.outputs) {
        if (id != kNoTensor && Root(id) == static_cast<std::size_t>(id)) {
          live += SizeAt(static_cast<std::size_t>(id));
        }
      }
      const auto inside = inner_.find(&node);
      moments.push_back(inside == inner_.end() ? live : live + inside->second);
      const auto release = [&](TensorId id) {
        if (id == kNoTensor || freed[Root(id)]) return;
        if (last_use_[Root(id)] > static_cast<std::int64_t>(n)) return;
        freed[Root(id)] = true;
        live -= SizeAt(Root(id));
      };
      ForEachRead(node, release);
      for (const TensorId id : node.outputs) release(id);  // outputs that nobody reads
    }
    return moments;
  }

  const Graph& graph_;
  const std::vector<const CountedNode*>& nodes_;
  const InnerPeaks& inner_;
  std::vector<TensorId> root_;
  std::vector<std::int64_t> last_use_;
  std::vector<Bytes> size_;
};

}  // namespace

std::vector<Bytes> LiveBytes(const InferredModel& model) {
  std::unordered_map<const Graph*, std::vector<const CountedNode*>> nodes;
  for (const CountedNode& counted : model.nodes) nodes[counted.graph].push_back(&counted);
  for (const CountedNode& counted : model.last_iterations) {
    nodes[counted.graph].push_back(&counted);
  }
  // A graph is made after the one around it: backwards, every inner graph comes before its owner.
  InnerPeaks inner;
  for (auto subgraph = model.subgraphs.rbegin(); subgraph != model.subgraphs.rend(); ++subgraph) {
    const auto found = nodes.find(subgraph->graph.get());
    if (found == nodes.end()) continue;  // a branch that was not taken
    Bytes& peak = inner[subgraph->owner];
    peak = std::max(peak, Liveness(*subgraph->graph, found->second, inner).Peak());
  }
  const Graph& main = model.model->graph;
  return Liveness(main, nodes[&main], inner).Moments();
}

void MeasurePeakActivations(InferredModel& model) {
  const std::vector<Bytes> moments = LiveBytes(model);
  model.peak_activation_bytes = *std::max_element(moments.begin(), moments.end());
}

}  // namespace dlcost
