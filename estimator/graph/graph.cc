#include "estimator/graph/graph.h"

#include <functional>
#include <numeric>
#include <queue>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

// Consumers of each tensor in one array (compressed rows): offsets[t] .. offsets[t + 1].
struct Consumers {
  std::vector<std::int32_t> offsets;
  std::vector<std::int32_t> nodes;
};

Consumers FindConsumers(const Graph& graph) {
  Consumers consumers;
  consumers.offsets.assign(graph.tensors.size() + 1, 0);
  for (const Node& node : graph.nodes) {
    ForEachRead(node, [&](TensorId id) { ++consumers.offsets[static_cast<std::size_t>(id) + 1]; });
  }
  for (std::size_t i = 1; i < consumers.offsets.size(); ++i) {
    consumers.offsets[i] += consumers.offsets[i - 1];
  }
  consumers.nodes.resize(static_cast<std::size_t>(consumers.offsets.back()));
  std::vector<std::int32_t> next(consumers.offsets.begin(), consumers.offsets.end() - 1);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    ForEachRead(graph.nodes[n], [&](TensorId id) {
      consumers.nodes[static_cast<std::size_t>(next[static_cast<std::size_t>(id)]++)] =
          static_cast<std::int32_t>(n);
    });
  }
  return consumers;
}

// Which tensors some node makes.
std::vector<bool> Produced(const Graph& graph) {
  std::vector<bool> produced(graph.tensors.size(), false);
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.outputs) {
      if (id != kNoTensor) produced[static_cast<std::size_t>(id)] = true;
    }
  }
  return produced;
}

// Whether every node of the file already follows the producers of its inputs. `waiting` says which
// tensors some node makes.
bool IsSorted(const Graph& graph, std::vector<bool> waiting) {
  for (const Node& node : graph.nodes) {
    bool ready = true;
    ForEachRead(node, [&](TensorId id) { ready &= !waiting[static_cast<std::size_t>(id)]; });
    if (!ready) return false;
    for (const TensorId id : node.outputs) {
      if (id != kNoTensor) waiting[static_cast<std::size_t>(id)] = false;
    }
  }
  return true;
}

}  // namespace

std::string_view Name(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kCast:
      return "weight casts";
    case Phase::kLoss:
      return "loss";
    case Phase::kRecompute:
      return "recompute";
    case Phase::kBackwardData:
      return "backward for data";
    case Phase::kBackwardWeights:
      return "backward for weights";
    case Phase::kOptimizer:
      return "optimizer";
  }
  return "";
}

const AttributeValue* Node::FindAttribute(std::string_view attribute) const {
  for (const Attribute& candidate : attributes) {
    if (candidate.name == attribute) return &candidate.value;
  }
  return nullptr;
}

std::vector<std::int32_t> TopologicalOrder(const Graph& graph) {
  const std::vector<bool> produced = Produced(graph);
  std::vector<std::int32_t> order;
  if (IsSorted(graph, produced)) {
    order.resize(graph.nodes.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  order.reserve(graph.nodes.size());
  const Consumers consumers = FindConsumers(graph);
  std::vector<std::int32_t> waiting(graph.nodes.size(), 0);  // inputs not produced yet
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    ForEachRead(graph.nodes[n], [&](TensorId id) {
      if (produced[static_cast<std::size_t>(id)]) ++waiting[n];
    });
    if (waiting[n] == 0) ready.push(static_cast<std::int32_t>(n));
  }
  while (!ready.empty()) {
    const std::int32_t n = ready.top();
    ready.pop();
    order.push_back(n);
    for (const TensorId id : graph.nodes[static_cast<std::size_t>(n)].outputs) {
      if (id == kNoTensor) continue;
      const auto t = static_cast<std::size_t>(id);
      for (auto c = consumers.offsets[t]; c < consumers.offsets[t + 1]; ++c) {
        const auto consumer =
            static_cast<std::size_t>(consumers.nodes[static_cast<std::size_t>(c)]);
        if (--waiting[consumer] == 0) ready.push(static_cast<std::int32_t>(consumer));
      }
    }
  }
  if (order.size() != graph.nodes.size()) {
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      if (waiting[n] > 0) {
        throw Error("the graph has a cycle through node '{}'", Printable(graph.nodes[n].name));
      }
    }
  }
  return order;
}

}  // namespace dlcost
