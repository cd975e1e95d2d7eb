#pragma once

namespace dlcost {

// The expected time and the range that holds four of five measurements.
struct TimeRange {
  double low = 0, expected = 0, high = 0;  // seconds
};
// `bound` is a time that nothing beats: neither the range nor the expected time goes below it.
TimeRange WithRange(double expected, double log_range, double bound = 0);

}  // namespace dlcost
