#include "estimator/infer/places.h"

#include <functional>

#include "estimator/core/error.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

// Constants of a graph that nobody ran: their types are in attributes.
void InferConstants(Graph& graph) {
  for (const Node& node : graph.nodes) {
    const OpDef* def = FindOperator(node.domain, node.op);
    if (!node.inputs.empty() || def == nullptr || def->random) continue;
    if (def->control != ControlFlow::kNone) continue;
    try {
      OpContext ctx(graph, node, SinceVersion(*def, node.opset));
      def->infer(ctx);
    } catch (const Unresolved&) {
      continue;
    } catch (const Error&) {
      continue;  // a node that may never run
    }
    for (const TensorId id : node.outputs) {
      if (id == kNoTensor) continue;
      Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
      tensor.constant = tensor.foldable = true;
    }
  }
}

}  // namespace

Places::Places(InferredModel& model)
    : main_(&model.model->graph), main_producers_(main_->tensors.size(), kNone) {
  for (const Subgraph& subgraph : model.subgraphs) {
    originals_[subgraph.graph.get()] = subgraph.original;
    AddCaptures(*subgraph.graph, *subgraph.outer);
    if (subgraph.taken) AddResults(subgraph);
  }
  AddFollowed(model);
  for (CountedNode& counted : model.nodes) {
    if (counted.def == nullptr || counted.def->control == ControlFlow::kNone) continue;
    if (counted.status == NodeStatus::kUnknown) {
      AddUnfollowed(*counted.node, *counted.graph, counted);
    }
  }
  for (std::size_t r = 0; r < readers_.size(); ++r) {
    for (const TensorId id : readers_[r].node->outputs) {
      if (id == kNoTensor) continue;
      const Tensor& tensor = TensorAt({readers_[r].graph, id});
      // Reals lead back to weights where they are known before the run, integers also on the way
      // of data: a table that rows are taken from.
      if (!tensor.foldable && !IsInteger(tensor.type.dtype)) continue;
      const auto producer = static_cast<std::uint32_t>(r);
      if (readers_[r].graph == main_) {
        main_producers_[static_cast<std::size_t>(id)] = producer;
      } else {
        producers_[&tensor] = producer;
      }
    }
  }
}

void Places::AddFollowed(InferredModel& model) {
  std::unordered_map<const Graph*, Graph*> graphs;
  graphs[&model.model->graph] = &model.model->graph;
  for (Subgraph& subgraph : model.subgraphs) graphs[subgraph.graph.get()] = subgraph.graph.get();
  readers_.reserve(model.nodes.size());
  for (CountedNode& counted : model.nodes) {
    Graph* const graph =
        counted.graph == &model.model->graph ? &model.model->graph : graphs.at(counted.graph);
    readers_.push_back({counted.node, graph, counted.def, &counted});
  }
}

void Places::AddUnfollowed(const Node& owner, const Graph& outer, CountedNode& row) {
  for (const Attribute& attribute : owner.attributes) {
    if (const auto* graph = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) {
      AddGraph(**graph, outer, row);
    } else if (const auto* graphs =
                   std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute.value)) {
      for (const auto& each : *graphs) AddGraph(*each, outer, row);
    }
  }
}

void Places::AddGraph(const Graph& original, const Graph& outer, CountedNode& row) {
  Graph& graph = unfollowed_.emplace_back(original);
  originals_[&graph] = &original;
  AddCaptures(graph, outer);
  InferConstants(graph);
  for (const Node& node : graph.nodes) {
    readers_.push_back({&node, &graph, FindOperator(node.domain, node.op), &row});
    AddUnfollowed(node, graph, row);
  }
}

void Places::AddCaptures(const Graph& inner, const Graph& outer) {
  for (const Capture& capture : inner.captures) {
    captured_[&TensorAt({&inner, capture.inner})] = {&outer, capture.outer};
  }
}

void Places::AddResults(const Subgraph& subgraph) {
  // A loop's body tells first whether to go on.
  const std::size_t skip = subgraph.owner->op == "Loop" ? 1 : 0;
  for (std::size_t i = 0; i < subgraph.owner->outputs.size(); ++i) {
    const TensorId outer = subgraph.owner->outputs[i];
    if (outer == kNoTensor || i + skip >= subgraph.graph->outputs.size()) continue;
    results_[&TensorAt({subgraph.outer, outer})] = {subgraph.graph.get(),
                                                    subgraph.graph->outputs[i + skip]};
  }
}

Place Places::Resolve(Place place) const {
  while (!captured_.empty()) {
    const auto found = captured_.find(&TensorAt(place));
    if (found == captured_.end()) return place;
    place = found->second;
  }
  return place;
}

const Tensor* Places::Identity(Place place) const {
  if (originals_.empty()) return &TensorAt(place);
  const auto found = originals_.find(place.graph);
  return &TensorAt({found == originals_.end() ? place.graph : found->second, place.id});
}

const ReadingNode* Places::Producer(const Tensor& tensor) const {
  const std::less<> before;
  const std::vector<Tensor>& all = main_->tensors;
  if (!before(&tensor, all.data()) && before(&tensor, all.data() + all.size())) {
    const std::uint32_t producer = main_producers_[static_cast<std::size_t>(&tensor - all.data())];
    return producer == kNone ? nullptr : &readers_[producer];
  }
  const auto found = producers_.find(&tensor);
  return found == producers_.end() ? nullptr : &readers_[found->second];
}

const Place* Places::Inside(const Tensor& tensor) const {
  if (results_.empty()) return nullptr;
  const auto found = results_.find(&tensor);
  return found == results_.end() ? nullptr : &found->second;
}

}  // namespace dlcost
