#pragma once

#include <string>
#include <vector>

#include "estimator/profiles/input.h"

namespace dlcost {

// Two columns of a table of runs: one row per run, a header, lines that start with '#' are
// comments.
struct Runs {
  std::vector<double> x, y;
};

// `x` and `y` name columns (case does not matter); "hidden^2" is a column raised to a power.
// Numbers may carry units, which columns name or numbers have behind them: "Time (ms)" is read in
// seconds. Throws Error, with line and nearest spelling, for a column that is not there or a field
// that is no number.
Runs ReadRuns(Input input, const std::string& x, const std::string& y);

}  // namespace dlcost
