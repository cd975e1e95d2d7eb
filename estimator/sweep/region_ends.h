#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "estimator/sweep/region.h"
#include "estimator/sweep/sampler.h"

namespace dlcost {

// What RegionRange says where the model takes sizes beyond.
inline constexpr std::string_view kOtherStructure = "other nodes run, or fuse otherwise";
inline constexpr std::string_view kBends = "other counts";

// Fills in CountRegion::ranges: along each variable, the others at their base, doubles the distance
// until a family leaves its polynomials, then halves the interval. Sizes above `limit` are not
// looked at.
void FindEnds(Sampler& sampler, const std::vector<CountFamily>& families, std::int64_t limit,
              CountRegion& region);

}  // namespace dlcost
