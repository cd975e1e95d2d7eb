#pragma once

#include <deque>
#include <set>
#include <string>
#include <unordered_map>

#include "estimator/profiles/measurement.h"

namespace dlcost {

// Kernels of nvprof's tables of metrics and of events: one row per counter, the rows of a kernel
// follow each other. A kernel whose events were taken too stands in a table of each; both become
// one row of the measurement.
class NvprofMetrics {
 public:
  explicit NvprofMetrics(Measurement& measurement) : out_(measurement) {}

  // Whether the table that begins is one of events.
  void SetEvents(bool events) { in_events_ = events; }
  // Where the counter of a row goes: to the kernel above, or, when that is another one or has the
  // counter already, to this one.
  CounterSet& Of(MeasuredKernel kernel, const std::string& counter);
  // At the end of a table: hands over the last kernel.
  void Finish();

 private:
  Measurement& out_;
  bool in_events_ = false, open_ = false;
  MeasuredKernel kernel_;
  CounterSet counters_;
  std::set<std::string> seen_;
  // Rows of the measurement that came from tables of events, by kernel.
  std::unordered_map<std::string, std::deque<std::size_t>> of_events_;
};

}  // namespace dlcost
