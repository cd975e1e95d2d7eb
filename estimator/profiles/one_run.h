#pragma once

#include <vector>

#include "estimator/profiles/measurement.h"

namespace dlcost {

// Files of one run, each traced at another level, as the one that looked deepest: its kernels know
// the operators and ranges of the others. `counters`: of the same launches, taken in other runs.
// Notes say how many rows found each other. Throws Error for files of one level, and for those of
// which nothing belongs together.
Measurement OneRun(std::vector<Measurement> files, const std::vector<Measurement>& counters);

}  // namespace dlcost
