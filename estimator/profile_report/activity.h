#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/profiles/measurement.h"

namespace dlcost {

// What a device did over time, by the starts and ends of its kernels and copies on all streams.
struct DeviceActivity {
  std::string device;  // as the file calls it; "" when it does not
  std::optional<std::int64_t> process;
  std::int64_t launches = 0;
  Seconds span, busy, idle;  // span = busy + idle, first start to last end
  // Times in which nothing ran.
  std::int64_t gaps = 0;
  Seconds median_gap, p90_gap, longest_gap;   // p90: nine of ten are no longer
  std::string before_longest, after_longest;  // the kernels around the longest
  // Gaps up to kLaunchGap are what launching costs; in longer ones the device waits for the host's
  // own work, for input, for a synchronization.
  std::int64_t launch_gaps = 0;
  Seconds launch_idle;
  // Of those: launches that took less time than the gap before them.
  std::int64_t launch_bound = 0;
  Seconds launch_bound_time, launch_bound_gaps;
};

// Twice what a framework's call costs its host (20 to 50 us, docs/measuring.md).
inline constexpr Seconds kLaunchGap{100e-6};

// One for each device of each process, in the order in which the file names them. Empty where the
// file tells no starts, or only of some launches.
std::vector<DeviceActivity> ActivityOf(const Measurement& measurement);

}  // namespace dlcost
