#include "estimator/hardware/timing_basis.h"

#include <algorithm>
#include <cmath>

#include "estimator/hardware/device.h"

namespace dlcost {
namespace {

constexpr double kInheritedWidth = 1.5;
constexpr double kAssumedFactor = 2;

}  // namespace

std::string_view Name(TimingBasis basis) {
  switch (basis) {
    case TimingBasis::kMeasured:
      return "measured";
    case TimingBasis::kInherited:
      return "inherited";
    case TimingBasis::kAssumed:
      break;
  }
  return "assumed";
}

TimingBasis BasisOf(const Device& device) {
  const auto& measured = device.calibrated_on;
  if (std::find(measured.begin(), measured.end(), device.id) != measured.end()) {
    return TimingBasis::kMeasured;
  }
  return measured.empty() && device.timing_neighbours.empty() ? TimingBasis::kAssumed
                                                              : TimingBasis::kInherited;
}

double WidenRange(TimingBasis basis, double log_range) {
  if (basis == TimingBasis::kMeasured) return log_range;
  const double wider = kInheritedWidth * log_range;
  return basis == TimingBasis::kInherited ? wider : std::max(wider, std::log(kAssumedFactor));
}

}  // namespace dlcost
