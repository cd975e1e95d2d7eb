#pragma once

#include "estimator/roofline/expected.h"
#include "estimator/roofline/timing_device.h"

namespace dlcost {

// Kernels that a framework calls one by one without waiting for them: the host prepares the next
// calls while the device still runs. A call starts when it has been made and the device is free, so
// that the run takes about as long as the slower of the two, not both together.
class CallQueue {
 public:
  explicit CallQueue(const TimingDevice& device) : gap_(device[Constant::kLaunchGraph]) {}

  // The time of a call on its own (RunOptions::eager) becomes what it adds to the run, from
  // the end of the call before to its own end; never less than `bound` seconds. Calls in order.
  TimeRange Add(const Expected& alone, double bound);

 private:
  double gap_;                        // seconds between two kernels that wait for each other
  double called_ = 0, finished_ = 0;  // seconds from the start of the run
};

}  // namespace dlcost
