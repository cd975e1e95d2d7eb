#pragma once

#include <string_view>

namespace dlcost {

struct Device;

// What the constants behind an expected time rest on.
enum class TimingBasis {
  kMeasured,   // kernels that ran on this device
  kInherited,  // kernels that ran on others of its architecture, or of a neighbouring one
  kAssumed,    // documents and common values: nothing like it was measured
};
std::string_view Name(TimingBasis basis);  // "measured", "inherited", "assumed"

TimingBasis BasisOf(const Device& device);

// The range that holds four of five measurements, as a logarithm, where constants come from
// elsewhere: half as wide again when inherited, and never narrower than a factor of two when
// assumed.
double WidenRange(TimingBasis basis, double log_range);

}  // namespace dlcost
