#pragma once

#include <string>

#include "estimator/compare/compare.h"

namespace dlcost {

// One line: why measured and predicted differ (padding, Winograd, the matrix pipe that is in no
// counter, reuse in the cache, launch overhead, low occupancy). "" where they do not.
std::string Explain(const CompareRow& row);

}  // namespace dlcost
