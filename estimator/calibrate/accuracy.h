#pragma once

#include <string>
#include <vector>

namespace dlcost {

// One measured row beside its bound and the model's answer, in seconds.
struct TimeComparison {
  double measured = 0, bound = 0, naive = 0;
  double expected = 0, low = 0, high = 0;
};

// How far the model is off over a group of rows. Errors are (expected - measured) / measured.
struct Accuracy {
  std::size_t rows = 0;
  std::size_t violations = 0;                             // measured below the bound
  double ratio_min = 0, ratio_median = 0, ratio_p90 = 0;  // measured / bound
  double mape = 0;                                        // mean absolute error
  double median_ape = 0;
  double bias = 0;  // mean signed error
  double p90_ape = 0;
  double within_10 = 0;       // share of rows within 10 %
  double range_coverage = 0;  // share of rows inside the range
  double naive_mape = 0;      // of the naive roofline
};

// All zero for no rows.
Accuracy Summarize(const std::vector<TimeComparison>& rows);

// The value below which `share` of the values lie (linear between neighbours); 0 for none.
double Quantile(std::vector<double> values, double share);

}  // namespace dlcost
