#include "estimator/roofline/timing_device.h"

#include <algorithm>
#include <cmath>

#include "estimator/core/error.h"
#include "estimator/hardware/device.h"

namespace dlcost {

TimingDevice MakeTimingDevice(const Device& device) {
  TimingDevice result;
  if (!device.memory.bandwidth) {
    throw Error("{}: no memory bandwidth is listed, so there is no expected time", device.id);
  }
  result.units = device.units.value_or(1);
  result.clock = device.boost_clock ? device.boost_clock->value() : 1e9;
  result.memory_rate = device.memory.bandwidth->value();
  result.cache = device.WarmCapacity().AsDouble();
  result.constants = TimingConstants(device.timing);
  return result;
}

double MissShare(const TimingDevice& device, const Conditions& conditions, double touched) {
  if (conditions.cold || device.cache <= 0) return 1;
  const double filled = touched / device.cache;
  return std::clamp(
      (filled - device[Constant::kCacheWarmUntil]) / device[Constant::kCacheColdAfter], 0.0, 1.0);
}

double CacheRate(const TimingDevice& device) {
  return device.memory_rate * device[Constant::kCacheRate];
}

double Overlap(double p, double a, double b, double c) {
  const double longest = std::max({a, b, c});
  if (longest <= 0) return 0;
  // Scaled by the longest, so that no power underflows.
  const double sum = std::pow(a / longest, p) + std::pow(b / longest, p) + std::pow(c / longest, p);
  return longest * std::pow(sum, 1 / p);
}

TimeRange WithRange(double expected, double log_range, double bound) {
  const double middle = std::max(expected, bound);
  return {std::max(middle * std::exp(-log_range), bound), middle, middle * std::exp(log_range)};
}

}  // namespace dlcost
