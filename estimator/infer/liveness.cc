#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "estimator/infer/memory.h"

namespace dlcost {
namespace {

Bytes SizeOfTensor(const Tensor& tensor) {
  if (tensor.foldable || !tensor.type.shape) return Bytes(0);
  return SizeOf(tensor.type.dtype, tensor.type.shape->Elements());
}

// What lives inside the graphs of a model, by the node that runs them.
using InnerPeaks = std::unordered_map<const Node*, Bytes>;

// Nodes that run as one: they read before they write, and keep to themselves what nobody else
// reads.
using Kernels = std::vector<std::vector<const CountedNode*>>;

// Nodes that share the memory of what they read, beside those that always do.
using Views = std::unordered_set<const CountedNode*>;

// One graph, main or inner. Memory is owned by the tensor at the root of a chain of views
// and of outputs in place.
class Liveness {
 public:
  Liveness(const Graph& graph, const Kernels& kernels, const InnerPeaks& inner, const Views& views)
      : graph_(graph),
        kernels_(kernels),
        inner_(inner),
        views_(views),
        root_(graph_.tensors.size()),
        made_(graph_.tensors.size(), kNever),
        last_use_(graph_.tensors.size(), kNever),
        size_(graph_.tensors.size()) {
    for (std::size_t t = 0; t < root_.size(); ++t) {
      root_[t] = static_cast<TensorId>(t);
      size_[t] = SizeOfTensor(graph_.tensors[t]);
    }
    Find();
  }

  Bytes Peak() const {
    const std::vector<Bytes> moments = Moments();
    return *std::max_element(moments.begin(), moments.end());
  }

  // The owners of memory of the main graph, where nothing is captured.
  std::vector<Buffer> Owners() const {
    const auto last = static_cast<std::int64_t>(kernels_.size()) - 1;
    std::vector<Buffer> owners;
    const auto add = [&](std::size_t t, std::int64_t from, std::int64_t to) {
      if (last < 0 || size_[t] == Bytes(0)) return;
      owners.push_back({static_cast<TensorId>(t), size_[t], static_cast<std::size_t>(from),
                        static_cast<std::size_t>(std::min(std::max(from, to), last))});
    };
    std::vector<bool> input(size_.size(), false);
    for (const TensorId id : graph_.inputs) {
      const auto t = static_cast<std::size_t>(id);
      input[t] = true;
      add(t, 0, last_use_[t] == kNever ? last : last_use_[t]);  // nobody frees what nobody reads
    }
    for (std::size_t t = 0; t < size_.size(); ++t) {
      if (!input[t] && made_[t] != kNever) add(t, made_[t], last_use_[t]);
    }
    return owners;
  }

  // What lives at the start, and while each kernel runs.
  std::vector<Bytes> Moments() const {
    Bytes live;
    std::vector<Bytes> moments;
    moments.reserve(kernels_.size() + 1);
    for (const TensorId id : graph_.inputs) live += SizeAt(static_cast<std::size_t>(id));
    moments.push_back(live);
    std::vector<bool> freed(root_.size(), false);
    // What is captured lives in the graph around, which frees it.
    for (const Capture& capture : graph_.captures) {
      freed[static_cast<std::size_t>(capture.inner)] = true;
    }
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      Bytes inside;
      for (const CountedNode* counted : kernels_[k]) {
        for (const TensorId id : counted->node->outputs) {
          if (id != kNoTensor && Root(id) == static_cast<std::size_t>(id)) {
            live += SizeAt(static_cast<std::size_t>(id));
          }
        }
        const auto found = inner_.find(counted->node);
        if (found != inner_.end()) inside = std::max(inside, found->second);
      }
      moments.push_back(live + inside);
      const auto release = [&](TensorId id) {
        if (id == kNoTensor || freed[Root(id)]) return;
        if (last_use_[Root(id)] > static_cast<std::int64_t>(k)) return;
        freed[Root(id)] = true;
        live -= SizeAt(Root(id));
      };
      for (const CountedNode* counted : kernels_[k]) {
        ForEachRead(*counted->node, release);
        for (const TensorId id : counted->node->outputs) release(id);  // that nobody reads
      }
    }
    return moments;
  }

 private:
  static constexpr std::int64_t kNever = -1;

  std::size_t Root(TensorId id) const {
    return static_cast<std::size_t>(root_[static_cast<std::size_t>(id)]);
  }

  void Find() {
    for (const auto& kernel : kernels_) {
      for (const CountedNode* counted : kernel) FindRoots(*counted);
    }
    FindUses();
    DropInner();
  }

  void FindRoots(const CountedNode& counted) {
    FindMemoryTaken(counted);
    if (counted.status != NodeStatus::kView && views_.count(&counted) == 0) return;
    const Node& node = *counted.node;
    if (node.inputs.empty() || node.inputs[0] == kNoTensor) return;
    for (const TensorId id : node.outputs) {
      if (id != kNoTensor) {
        root_[static_cast<std::size_t>(id)] = static_cast<TensorId>(Root(node.inputs[0]));
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

  void FindUses() {
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      const auto now = static_cast<std::int64_t>(k);
      for (const CountedNode* counted : kernels_[k]) {
        for (const TensorId id : counted->node->outputs) {
          if (id != kNoTensor && Root(id) == static_cast<std::size_t>(id)) made_[Root(id)] = now;
        }
        // A view of something that another kernel made may be placed before its readers.
        ForEachRead(*counted->node,
                    [&](TensorId id) { last_use_[Root(id)] = std::max(last_use_[Root(id)], now); });
      }
    }
    for (const TensorId id : graph_.outputs) {
      last_use_[Root(id)] = static_cast<std::int64_t>(kernels_.size());
    }
  }

  void DropInner() {
    for (std::size_t t = 0; t < size_.size(); ++t) {
      if (made_[t] == kNever || made_[t] != last_use_[t]) continue;
      if (kernels_[static_cast<std::size_t>(made_[t])].size() > 1) size_[t] = Bytes(0);
    }
  }

  Bytes SizeAt(std::size_t t) const { return size_[t]; }

  const Graph& graph_;
  const Kernels& kernels_;
  const InnerPeaks& inner_;
  const Views& views_;
  std::vector<TensorId> root_;
  std::vector<std::int64_t> made_, last_use_;
  std::vector<Bytes> size_;
};

// The nodes of each graph by kernel, in the order in which kernels run; `kernel_of` gives a number
// per node, and every node of the last iterations is a kernel.
template <typename KernelOf>
std::unordered_map<const Graph*, Kernels> KernelsOf(const InferredModel& model,
                                                    KernelOf kernel_of) {
  const Graph* main = &model.model->graph;
  std::unordered_map<const Graph*, Kernels> kernels;
  // Of the main graph, in which most nodes are, by number.
  Kernels& numbered = kernels[main];
  std::map<std::pair<const Graph*, std::size_t>, std::vector<const CountedNode*>> members;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const CountedNode& counted = model.nodes[n];
    const std::size_t kernel = kernel_of(n);
    if (counted.graph != main) {
      members[{counted.graph, kernel}].push_back(&counted);
      continue;
    }
    if (numbered.size() <= kernel) numbered.resize(kernel + 1);
    numbered[kernel].push_back(&counted);
  }
  const auto is_empty = [](const auto& nodes) { return nodes.empty(); };
  numbered.erase(std::remove_if(numbered.begin(), numbered.end(), is_empty), numbered.end());
  for (auto& [key, nodes] : members) kernels[key.first].push_back(std::move(nodes));
  for (const CountedNode& counted : model.last_iterations) {
    kernels[counted.graph].push_back({&counted});
  }
  return kernels;
}

// A graph is made after the one around it: backwards, every inner graph comes before its owner.
InnerPeaks InnerPeaksOf(const InferredModel& model,
                        const std::unordered_map<const Graph*, Kernels>& kernels,
                        const Views& views) {
  InnerPeaks inner;
  for (auto subgraph = model.subgraphs.rbegin(); subgraph != model.subgraphs.rend(); ++subgraph) {
    const auto found = kernels.find(subgraph->graph.get());
    if (found == kernels.end()) continue;  // a branch that was not taken
    Bytes& peak = inner[subgraph->owner];
    peak = std::max(peak, Liveness(*subgraph->graph, found->second, inner, views).Peak());
  }
  return inner;
}

Views ViewsOf(const InferredModel& model, const std::vector<bool>& views) {
  Views nodes;
  for (std::size_t n = 0; n < views.size(); ++n) {
    if (views[n]) nodes.insert(&model.nodes[n]);
  }
  return nodes;
}

}  // namespace

LiveBuffers LiveAndBuffers(const InferredModel& model, const std::vector<std::size_t>& kernel_of,
                           const std::vector<bool>& views) {
  const auto kernels = KernelsOf(model, [&](std::size_t n) { return kernel_of[n]; });
  const Views nodes = ViewsOf(model, views);
  const InnerPeaks inner = InnerPeaksOf(model, kernels, nodes);
  const Graph& main = model.model->graph;
  const Liveness liveness(main, kernels.at(&main), inner, nodes);
  return {liveness.Moments(), liveness.Owners()};
}

std::vector<Bytes> LiveBytes(const InferredModel& model) {
  std::vector<std::size_t> alone(model.nodes.size());
  std::iota(alone.begin(), alone.end(), 0);
  return LiveBytes(model, alone);
}

std::vector<Bytes> LiveBytes(const InferredModel& model,
                             const std::vector<std::size_t>& kernel_of) {
  return LiveAndBuffers(model, kernel_of).live;
}

Bytes PeakActivations(const InferredModel& model) {
  const std::vector<Bytes> moments = LiveBytes(model);
  return *std::max_element(moments.begin(), moments.end());
}

}  // namespace dlcost
