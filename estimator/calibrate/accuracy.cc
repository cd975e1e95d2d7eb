#include "estimator/calibrate/accuracy.h"

#include <algorithm>
#include <cmath>

#include "estimator/core/integer.h"

namespace dlcost {
namespace {

// A measured time this close to its bound has met it: tables print four to six digits.
constexpr double kRounding = 1e-3;

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

}  // namespace

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double position = share * static_cast<double>(values.size() - 1);
  const auto below = Truncate<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

Accuracy Summarize(const std::vector<TimeComparison>& rows) {
  Accuracy a;
  a.rows = rows.size();
  std::vector<double> ratios, errors, absolute, naive;
  double near = 0, covered = 0;
  for (const TimeComparison& row : rows) {
    if (row.bound > 0) ratios.push_back(row.measured / row.bound);
    if (row.measured < row.bound * (1 - kRounding)) ++a.violations;
    const double error = row.expected / row.measured - 1;
    errors.push_back(error);
    absolute.push_back(std::abs(error));
    naive.push_back(std::abs(row.naive / row.measured - 1));
    if (std::abs(error) <= 0.1) ++near;
    if (row.low <= row.measured && row.measured <= row.high) ++covered;
  }
  a.ratio_min = Quantile(ratios, 0);
  a.ratio_median = Quantile(ratios, 0.5);
  a.ratio_p90 = Quantile(ratios, 0.9);
  a.mape = Mean(absolute);
  a.median_ape = Quantile(absolute, 0.5);
  a.bias = Mean(errors);
  a.p90_ape = Quantile(absolute, 0.9);
  if (!rows.empty()) {
    a.within_10 = near / static_cast<double>(rows.size());
    a.range_coverage = covered / static_cast<double>(rows.size());
  }
  a.naive_mape = Mean(naive);
  return a;
}

}  // namespace dlcost
