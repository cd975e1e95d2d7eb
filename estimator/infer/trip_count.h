#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "estimator/infer/control_flow.h"

namespace dlcost {

// How often a loop's body runs, as its condition tells it without running the body: where that
// compares a counter that moves by a fixed step with something that no iteration changes, the
// number follows from both, however large it is.
struct TripCount {
  std::int64_t trips = 0;
  bool at_most = false;  // the condition may also end the loop for reasons that only the run knows
};

// `body` has been inferred with what holds in every iteration; `initial` is its state before the
// first. Nullopt where the condition is not of this kind, or does not become false before the
// counter has no room.
std::optional<TripCount> CountTrips(const Graph& body, const std::vector<Known>& initial);

}  // namespace dlcost
