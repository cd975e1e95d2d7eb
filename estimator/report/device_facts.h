#pragma once

#include <set>

#include "estimator/report/report.h"
#include "estimator/roofline/run_sequence.h"

namespace dlcost {

// Fills in what a report tells of its device, once its totals are summed up: the roofs that they
// touch, of products in each of `modes`, and in its notes what its bounds and times rest on: where
// they were measured, weights that stay on the chip, the state of the clock.
void AddDeviceFacts(const Device& device, const RunSequence& runs, const std::set<MathMode>& modes,
                    Report& report);

}  // namespace dlcost
