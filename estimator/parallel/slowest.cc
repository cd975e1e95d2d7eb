#include "estimator/parallel/slowest.h"

#include <cmath>

namespace dlcost {
namespace {

// Of the standard normal distribution, 0.5 <= p < 1.
double Quantile(double p) {
  double low = 0, high = 10;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return high;
}

}  // namespace

double SlowestOf(int devices, double spread) {
  if (devices < 2 || spread == 0) return 1;
  return 1 + spread * Quantile((devices - 0.375) / (devices + 0.25));
}

}  // namespace dlcost
