#pragma once

#include <string>
#include <vector>

#include "estimator/regress/classify.h"
#include "estimator/regress/match.h"
#include "estimator/regress/node_view.h"

namespace dlcost {

// Two reports with their nodes paired and compared.
struct GraphComparison {
  const GraphView& before;
  const GraphView& after;
  const Matching& matching;
  // Of each later node against its partner; nothing where there is no partner.
  const std::vector<NodeDelta>& deltas;
  // Both were made for the same device with the same options: what costs more, does so because the
  // model changed.
  bool same_conditions = true;

  // What a paired node, by its later index, costs more than before.
  Cost CostDelta(std::int32_t after_node) const {
    const auto i = static_cast<std::size_t>(after_node);
    return after.costs[i] - before.CostOf(matching.after_to_before[i]);
  }
};

// Nodes that belong to one act of change, all in order of execution. Indices are of `after`, but
// for `removed`.
struct Cause {
  std::vector<std::int32_t> changed;    // attributes or weights of their own
  std::vector<std::int32_t> readers;    // weights that only fit another number of inputs
  std::vector<std::int32_t> followers;  // other shapes, nothing of their own
  // The same in every respect, but fused otherwise because of a neighbour: other traffic and time.
  std::vector<std::int32_t> regrouped;
  std::vector<std::int32_t> added;
  std::vector<std::int32_t> removed;
  std::vector<std::int32_t> moved;                                // the same, fed by another node
  std::vector<std::pair<const Operand*, const Operand*>> inputs;  // of the model, before and after
};

// Sorts every difference to its cause: what changed by itself, and what followed from that.
std::vector<Cause> FindCauses(const GraphComparison& comparison);

}  // namespace dlcost
