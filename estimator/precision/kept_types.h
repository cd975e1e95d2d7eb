#pragma once

#include <set>
#include <vector>

#include "estimator/graph/graph.h"

namespace dlcost {

// Whether a node is known before the run but for what `trained` changes: it computes in no type.
bool IsKnown(const Graph& graph, const Node& node, const std::set<TensorId>& trained);

// Per tensor: stored numbers with an axis, and what is made of them before the run.
std::vector<bool> OfStored(const Graph& graph, const std::set<TensorId>& trained);

// What keeps the type that it has in the file where all that is stored gets another: what operators
// read in types of their own, and what sizes and formulas are computed with before the run.
// Weights that are rearranged or computed before the run are stored like others.
class KeptTypes {
 public:
  // The nodes of the graph are sorted.
  KeptTypes(const Graph& graph, const std::set<TensorId>& trained,
            const std::vector<bool>& of_stored);

  bool Keeps(TensorId id) const { return kept_.count(id) != 0; }
  // Whether a node known before the run makes what keeps its type.
  bool KeepsResultOf(const Node& node) const;

 private:
  const Graph& graph_;
  const std::vector<bool>& of_stored_;
  std::set<TensorId> kept_;
};

}  // namespace dlcost
