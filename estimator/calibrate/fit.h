#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dlcost {

// What a term of a fit is: c * x^power; power 0 is the baseline, -1 the a/x of a latency that
// batches share.
struct FitTerm {
  int power = 0;
  double coefficient = 0;
  // One standard deviation; nothing when there are no more points than terms.
  std::optional<double> standard_error;
};

struct Fit {
  std::vector<FitTerm> terms;
  std::size_t points = 0;
  double r_squared = 0;           // 1 when the terms explain all of the variance
  double residual_deviation = 0;  // root of the mean squared residual, per degree of freedom
  double largest_residual = 0;    // relative to the point's y
};

// Least squares of y over the given powers of x (each at most once, -2 to 4). Columns are scaled
// before they are solved (QR with pivoting), so that FLOPs of 1e12 and layers of 1 get along.
// Throws Error for fewer points than terms, for x = 0 with a negative power, and for x that cannot
// tell the terms apart (all equal).
Fit FitPowers(const std::vector<double>& x, const std::vector<double>& y,
              const std::vector<int>& powers);

// A measured coefficient against what theory expects: ratio = measured / expected, and whether the
// difference is within two standard errors (nothing without a standard error).
struct Verdict {
  double ratio = 0;
  std::optional<bool> within_error;
};
Verdict Judge(const FitTerm& term, double expected);

}  // namespace dlcost
