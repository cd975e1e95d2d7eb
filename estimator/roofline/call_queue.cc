#include "estimator/roofline/call_queue.h"

#include <algorithm>

namespace dlcost {

bool IsOwnHost(const Device& device) { return device.cores.has_value(); }

double CallsAndDevice(const Expected& expected, const Device& device) {
  return IsOwnHost(device) ? expected.calls + expected.device
                           : std::max(expected.calls, expected.device);
}

TimeRange CallQueue::Add(const Expected& alone, double repeat, double bound) {
  if (repeat <= 0) return {};
  const double kernel = std::max(alone.device, bound);
  const double beside = alone.calls + alone.between;
  const double calls = alone.prepared + beside + (own_host_ ? kernel : 0);
  // The device goes on as soon as the first kernel is prepared, or its last kernel waits for its
  // call.
  const double first = called_ + alone.prepared / repeat;
  const double last = called_ + calls - beside / repeat;
  if (!own_host_) {
    finished_ = std::max(std::max(first, finished_) + kernel, last + kernel / repeat);
  }
  called_ += calls;
  // What the host does behind the last call delays the next kernel alone.
  const double called = called_ - alone.between / repeat;
  const double total = std::max(alone.host + std::max(called, finished_), total_ + bound);
  const double added = total - total_;
  total_ = total;
  const double scale = added / alone.time.expected;
  return {std::max(alone.time.low * scale, bound), added, alone.time.high * scale};
}

}  // namespace dlcost
