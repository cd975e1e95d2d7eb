#pragma once

#include "estimator/hardware/device.h"
#include "estimator/roofline/expected.h"
#include "estimator/roofline/timing_device.h"

namespace dlcost {

// Whether the device is the host of its own calls, as a processor is: it computes between them.
bool IsOwnHost(const Device& device);
// Seconds that a kernel's calls and the device take: side by side, or one after the other.
double CallsAndDevice(const Expected& expected, const Device& device);

// Kernels that a framework calls one by one without waiting for them: the host prepares the next
// calls while the device still runs. A kernel starts with its call once the device is free, so that
// the run takes as long as the slower of the two, not both together.
class CallQueue {
 public:
  // `own_host`: IsOwnHost of the device.
  explicit CallQueue(bool own_host) : own_host_(own_host) {}

  // What a kernel (RunOptions::eager) that runs `repeat` times adds to the time of the run; never
  // less than `bound` seconds. Calls in order.
  TimeRange Add(const Expected& alone, double repeat, double bound);

 private:
  bool own_host_;
  double called_ = 0, finished_ = 0;  // seconds from the start of the run, without the host's own
  double total_ = 0;
};

}  // namespace dlcost
