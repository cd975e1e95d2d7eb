#pragma once

#include <vector>

#include "estimator/roofline/bound.h"
#include "estimator/roofline/part.h"
#include "estimator/roofline/run.h"

namespace dlcost {

// What the expected time of one kernel is made of.
struct TimedKernel {
  const Kernel& kernel;
  const std::vector<PartRun>& parts;  // all with a time
  const Bound& bound;
  double seconds;  // of all parts, once
};

// Writes the terms of the expected time, outermost first, and what would shorten it, to `expected`,
// whose times are worked out.
void ExplainKernel(const Target& target, const TimedKernel& timed, Expected& expected);

}  // namespace dlcost
