#pragma once

#include <cstdint>
#include <vector>

#include "estimator/sweep/region.h"

namespace dlcost {

// The grid of sizes that polynomials of the axes' degrees are found from: base + period * k along
// each variable, the last one running fastest.
std::size_t GridSize(const std::vector<RegionAxis>& axes);
Point GridPoint(const std::vector<RegionAxis>& axes, std::size_t index);
// Values on the grid to coefficients of the products of binomials (CountRegion::newton): forward
// differences along every variable. Throws OverflowError.
std::vector<std::int64_t> Differences(const std::vector<RegionAxis>& axes,
                                      std::vector<std::int64_t> values);

}  // namespace dlcost
