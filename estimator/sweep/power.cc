#include "estimator/sweep/power.h"

#include <algorithm>

namespace dlcost {

std::optional<double> ExpectedWatts(const Device& device, Seconds expected, Seconds busy) {
  if (!device.power || expected.value() <= 0) return std::nullopt;
  const double share = std::clamp(busy.value() / expected.value(), 0.0, 1.0);
  return device.power->value() * (kIdlePower + (1 - kIdlePower) * share);
}

}  // namespace dlcost
