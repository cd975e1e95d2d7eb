#pragma once

#include <cstdint>
#include <vector>

#include "estimator/regress/causes.h"

namespace dlcost {

inline constexpr int kNoCause = -1;

// Which cause each node belongs to, by index; kNoCause for those that are the same.
struct CauseOfNodes {
  std::vector<int> before, after;
};

// For each of `nodes` (of the later graph, without a cause) the cause that touches its kernel,
// before or after; else the one that is the fewest edges away; kNoCause where no path leads to one.
// Linear in nodes and edges.
std::vector<int> NearestCauses(const GraphComparison& comparison, const CauseOfNodes& causes,
                               const std::vector<std::int32_t>& nodes);

}  // namespace dlcost
