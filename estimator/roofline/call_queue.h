#pragma once

#include "estimator/roofline/expected.h"
#include "estimator/roofline/timing_device.h"

namespace dlcost {

// Kernels that a framework calls one by one without waiting for them: the host prepares the next
// calls while the device still runs. A kernel starts with its call once the device is free, so that
// the run takes as long as the slower of the two, not both together.
class CallQueue {
 public:
  // `own_host`: the device is the host, as a processor is, and computes between its calls.
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
