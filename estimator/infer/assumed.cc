#include "estimator/infer/assumed.h"

#include <unordered_map>
#include <unordered_set>

namespace dlcost {
namespace {

class Marker {
 public:
  explicit Marker(InferredModel& model) : model_(model) {
    for (const Subgraph& subgraph : model.subgraphs) by_owner_[subgraph.owner].push_back(&subgraph);
  }

  void Run(const std::set<std::string>& sources) {
    // In execution order; a control-flow node comes before what it holds, so that what its graphs
    // do to its outputs shows in a second pass.
    for (bool changed = true; changed;) {
      changed = false;
      for (CountedNode& node : model_.nodes) {
        if (!node.assumed && (sources.count(node.name) != 0 || ReadsAssumed(node))) {
          node.assumed = changed = true;
        }
        if (node.assumed) Spread(node);
      }
    }
  }

 private:
  static const Tensor* Of(const Graph& graph, TensorId id) {
    return &graph.tensors[static_cast<std::size_t>(id)];
  }

  bool ReadsAssumed(const CountedNode& node) const {
    bool reads = false;
    ForEachRead(*node.node,
                [&](TensorId id) { reads |= tensors_.count(Of(*node.graph, id)) != 0; });
    if (reads) return true;
    const auto inside = by_owner_.find(node.node);
    if (inside == by_owner_.end()) return false;
    for (const Subgraph* subgraph : inside->second) {
      for (const TensorId id : subgraph->graph->outputs) {
        if (tensors_.count(Of(*subgraph->graph, id)) != 0) return true;
      }
    }
    return false;
  }

  // To the outputs, and into the graphs that the node runs.
  void Spread(const CountedNode& node) {
    for (const TensorId id : node.node->outputs) {
      if (id != kNoTensor) tensors_.insert(Of(*node.graph, id));
    }
    const auto inside = by_owner_.find(node.node);
    if (inside == by_owner_.end()) return;
    for (const Subgraph* subgraph : inside->second) {
      for (const TensorId id : subgraph->graph->inputs) tensors_.insert(Of(*subgraph->graph, id));
      for (const Capture& capture : subgraph->graph->captures) {
        if (tensors_.count(Of(*subgraph->outer, capture.outer)) != 0) {
          tensors_.insert(Of(*subgraph->graph, capture.inner));
        }
      }
    }
  }

  InferredModel& model_;
  std::unordered_map<const Node*, std::vector<const Subgraph*>> by_owner_;
  std::unordered_set<const Tensor*> tensors_;
};

}  // namespace

void MarkAssumed(InferredModel& model, const std::set<std::string>& sources) {
  if (!sources.empty()) Marker(model).Run(sources);
}

}  // namespace dlcost
