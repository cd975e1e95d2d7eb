#pragma once

#include <string>
#include <vector>

#include "estimator/graph/graph.h"

namespace dlcost {

// The stored floating-point numbers of a graph that training may change: weights with at least one
// axis; scalars are constants, running statistics are not trained. What a node without inputs that
// change makes (Constant, ConstantOfShape) becomes a stored tensor, and the node goes. Without those
// that match a pattern of `frozen`; throws Error for a pattern that matches none.
std::vector<TensorId> TakeParameters(Graph& graph, const std::vector<std::string>& frozen);

}  // namespace dlcost
