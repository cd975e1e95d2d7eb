#pragma once

#include <string>

#include "estimator/measured/compare.h"

namespace dlcost {

// One line: why measured and predicted differ (padding, Winograd, the matrix pipe that is in no
// counter, reuse in the cache, launch overhead, low occupancy). "" where they do not.
std::string Explain(const CompareRow& row);

// FLOPs per instruction of the matrix pipe, for the counter of its instructions; nothing where it
// is not public or differs by instruction. `compute_capability` as in Device ("8.0").
std::optional<double> FlopsPerTensorInstruction(const std::string& compute_capability);

}  // namespace dlcost
