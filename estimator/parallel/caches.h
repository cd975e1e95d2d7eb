#pragma once

#include <vector>

#include "estimator/core/units.h"
#include "estimator/graph/graph.h"

namespace dlcost {

// By TensorId: keys, values and states, which one run of a graph hands on to the next. A device
// that has a part of them keeps it, where other results are made whole. They are what a node
// that multiplies makes beside its result (attention, LSTM), what two activations' product reads,
// and what the graph was given; all three as they are or moved, by Concat, Transpose, Reshape and
// the like. `macs`: of every node.
std::vector<bool> CachesOf(const Graph& graph, const std::vector<Macs>& macs);

}  // namespace dlcost
