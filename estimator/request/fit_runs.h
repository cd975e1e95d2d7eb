#pragma once

#include <map>
#include <string>
#include <vector>

#include "estimator/calibrate/fit.h"

namespace dlcost {

// A column of measured runs as powers of another one, against what theory says.
struct FitRequest {
  std::string path;                 // a table of runs: a header, one row per run
  std::string x, y;                 // columns; "hidden^2" for a square
  std::vector<int> terms = {1, 0};  // powers of x; 0 is the baseline, -1 is 1/x
  std::map<int, double> expected;   // coefficients that theory tells, by power
};

struct FittedRuns {
  FitRequest asked;
  Fit fit;
};
// Throws Error for a table that cannot be read, and for powers that are not told apart.
FittedRuns FitRuns(const FitRequest& request);

std::string FitText(const FittedRuns& fitted);
// Schema dlcost.fit/1.
std::string FitJson(const FittedRuns& fitted);

}  // namespace dlcost
