#include "estimator/roofline/call_queue.h"

#include <algorithm>

namespace dlcost {

TimeRange CallQueue::Add(const Expected& alone, double bound) {
  called_ += alone.launch;
  const double free = finished_ > 0 ? finished_ + gap_ : 0;
  const double start = std::max(called_, free);
  const double end = start + std::max(alone.time.expected - alone.launch, bound);
  const double added = end - finished_;
  finished_ = end;
  const double scale = added / alone.time.expected;
  return {std::max(alone.time.low * scale, bound), added, alone.time.high * scale};
}

}  // namespace dlcost
