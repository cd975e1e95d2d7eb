#include "estimator/roofline/recurrent_time.h"

#include "models/algorithms/library.h"

namespace dlcost {
double GatesSeconds(const TimingDevice& device, const RecurrentProblem& p) {
  // Gates in, state in and out; small enough to stay in the cache.
  const double bytes = (p.gates + 3) * p.batch * p.hidden * p.element_bytes;
  return device[Constant::kLaunchGraph] + bytes / CacheRate(device);
}

double WalkSeconds(const TimingDevice& device, const RecurrentProblem& p) {
  return device[Constant::kLaunchGraph] +
         p.hidden * device.library->recurrent_clocks / device.clock;
}

}  // namespace dlcost
