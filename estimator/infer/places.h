#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "estimator/infer/infer.h"

namespace dlcost {

// A tensor of one of the graphs that a model's nodes run in.
struct Place {
  const Graph* graph;
  TensorId id;
};

inline const Tensor& TensorAt(Place place) {
  return place.graph->tensors[static_cast<std::size_t>(place.id)];
}

// A node that reads, with the row that it belongs to.
struct ReadingNode {
  const Node* node;
  Graph* graph;
  const OpDef* def;  // null: an operator that nobody defined
  CountedNode* row;
};

// The way from a reader back to what the file stores, across graphs: what inner graphs capture and
// hand out, and the copies that control flow makes of them. The graphs of control flow that could
// not be followed are read too: their nodes belong to the row of the node that holds them.
class Places {
 public:
  explicit Places(InferredModel& model);
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  const std::vector<ReadingNode>& readers() const { return readers_; }
  // A value that inner graphs capture is the outer graph's.
  Place Resolve(Place place) const;
  // Stands for a tensor in every copy of its graph.
  const Tensor* Identity(Place place) const;
  // What makes the tensor, as far as it leads back to something stored; null otherwise.
  const ReadingNode* Producer(const Tensor& tensor) const;
  // A graph inside may hand out a weight of its own (a branch that chooses between two of them):
  // where it is there; null otherwise.
  const Place* Inside(const Tensor& tensor) const;

 private:
  void AddFollowed(InferredModel& model);
  void AddUnfollowed(const Node& owner, const Graph& outer, CountedNode& row);
  void AddGraph(const Graph& original, const Graph& outer, CountedNode& row);
  void AddCaptures(const Graph& inner, const Graph& outer);
  void AddResults(const Subgraph& subgraph);

  std::vector<ReadingNode> readers_;
  std::deque<Graph> unfollowed_;  // copies, with the types of constants filled in
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
  // Indices into readers_: of tensors of the main graph by id, of others.
  const Graph* main_;
  std::vector<std::uint32_t> main_producers_;
  std::unordered_map<const Tensor*, std::uint32_t> producers_;
  std::unordered_map<const Tensor*, Place> captured_;         // inner tensor -> outer place
  std::unordered_map<const Tensor*, Place> results_;          // outer tensor -> inner place
  std::unordered_map<const Graph*, const Graph*> originals_;  // copy -> graph of the file
};

}  // namespace dlcost
