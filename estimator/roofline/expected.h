#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/hardware/roof.h"
#include "estimator/plan/kernel.h"
#include "estimator/roofline/bound.h"
#include "estimator/roofline/timing_device.h"

namespace dlcost {

struct ExpectedOptions {
  MathMode math = MathMode::kDefault;
  CacheState cache = CacheState::kCold;
  bool eager = false;    // every kernel is a framework call; otherwise they follow each other
  bool explain = false;  // fill in limiter, steps and advice: takes longer than the time itself
};

// One line of the arithmetic behind an expected time, for `dlcost explain`.
struct TimeStep {
  std::string what;    // "tiles", "arithmetic of one tile"
  std::string value;   // "128 x 256, 12 x 4 = 48", "11.2 us"
  std::string reason;  // where it comes from; may be empty
};

// What a good kernel takes, and where it goes.
struct Expected {
  TimeRange time;                // seconds
  double units = 0, memory = 0;  // arithmetic and traffic of all launches, before overlap
  double launch = 0;
  // Only when asked to explain.
  std::string limiter;  // "units", "memory", "cache", "launch"
  std::vector<TimeStep> steps;
  std::vector<std::string> advice;  // what would make it faster, the largest effect first
};

// The time model for a planned kernel. `bound` keeps the answer above what is possible. None for a
// kernel that launches nothing, contains unknown nodes, or whose type the device has no rate for.
std::optional<Expected> ExpectedKernel(const Kernel& kernel, const Device& device,
                                       const TimingDevice& timing, const Bound& bound,
                                       const ExpectedOptions& options);

}  // namespace dlcost
