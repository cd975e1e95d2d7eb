#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/parallel/scaling.h"
#include "estimator/request/input_options.h"
#include "estimator/request/job.h"

namespace dlcost {

// A training on several numbers of devices.
struct ScaleRequest {
  JobOptions job;  // its batch is that of one device; with `strong` that of all together
  std::vector<std::int64_t> devices;
  bool strong = false;
  int zero = 0;  // what is shared out: 1 states of the optimizer, 2 gradients too, 3 parameters too
  GradientOptions gradients;
  double spread = kDeviceSpread * 100;  // percent
  InputOptions input;                   // where nothing is given: not looked at
  int prefetch = 2;                     // batches that are prepared ahead
  std::optional<double> samples;        // to train on in all
  std::optional<double> price;          // of a device, per hour
};
// Throws Error for what no step does, and for a size that the system does not have.
Scaling Scale(const ScaleRequest& request);

}  // namespace dlcost
