#include "estimator/roofline/bound.h"

namespace dlcost {

std::string_view Name(CacheState state) { return state == CacheState::kCold ? "cold" : "warm"; }

std::optional<CacheState> ParseCacheState(std::string_view name) {
  if (name == "cold") return CacheState::kCold;
  if (name == "warm") return CacheState::kWarm;
  return std::nullopt;
}

}  // namespace dlcost
