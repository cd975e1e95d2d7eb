#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/compare/join.h"
#include "estimator/compare/node_names.h"

namespace dlcost {

// A kind of range beside the runs of the model: "preprocess", "load batch".
struct RangeTime {
  std::string name;
  double per_run = 0;             // how many for each run
  Seconds time;                   // for each run
  std::optional<Seconds> device;  // of it: kernels and copies that were launched in it
};

// One run of the model by the clock on the wall, with what is outside the device.
struct RunTime {
  Seconds wall;                   // median of the runs; the first of several is warm-up
  std::optional<Seconds> device;  // of it: some kernel or copy ran
  std::string from;               // what the run was told by: "range 'ProfilerStep#'"
  std::vector<RangeTime> beside;  // in the order of their first ranges
};

// By the ranges that most of the device's time was launched in (without a device: that take most
// time), of which there is one for each run at least; ranges that name nodes are layers. A file
// without such ranges: from the first kernel's start to the last one's end, if it tells starts.
std::optional<RunTime> RunTimeOf(const Measurement& measurement, const Joined& joined,
                                 const NodeNames& names);

}  // namespace dlcost
