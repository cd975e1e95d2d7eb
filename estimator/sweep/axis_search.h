#pragma once

#include <cstddef>
#include <vector>

#include "estimator/sweep/region.h"
#include "estimator/sweep/sampler.h"

namespace dlcost {

// How counts change along one variable, the others at the base of their axes: the least period such
// that all counts are polynomials at sizes that are so far apart, and the highest degree. Where
// none is, the period that leaves the fewest over. `numbers`: how many a tally has; `base` is kept
// among the samples.
RegionAxis FindAxis(Sampler& sampler, const std::vector<RegionAxis>& axes, std::size_t variable,
                    std::size_t structure, std::size_t numbers, const Point& base,
                    const RegionOptions& options);

}  // namespace dlcost
