#pragma once

#include <string>
#include <vector>

#include "estimator/graph/graph.h"

namespace dlcost {

// Takes out of the parameters the stored tensors that exporters computed before the run, and that
// no framework trains: masks, and tables of rotations. Which they are shows in how they are used
// alone, as weights are never read. Notes say which, and what is unclear.
std::vector<std::string> LeaveTables(Graph& graph, std::vector<TensorId>& parameters);

}  // namespace dlcost
