#pragma once

#include <string>

#include "estimator/graph/graph.h"
#include "estimator/infer/binding.h"

namespace dlcost {

// Where a node's operands do not broadcast because one of them is stored in the file, or cut from
// what is, and the other has an open dimension's size: "; sequence = 1000, but what the file stores
// has 512 there: at most sequence = 512", as a table of positions that is too short. "" elsewhere.
std::string StoredSizeHint(const Graph& graph, const Node& node, const BoundDims& dims);

}  // namespace dlcost
