#pragma once

#include <string>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/report/report.h"

namespace dlcost {

// Matrix products that read the same operand and would run as one, their weights stacked: what that
// saves by expected times. One kernel fills the device where several small ones leave it idle.
struct Merge {
  std::vector<std::string> nodes;  // in execution order
  std::string operand;             // the tensor that all of them read
  Count m, n, k;                   // of the stacked product
  Seconds apart, merged;           // expected, of all runs

  Seconds saved() const { return apart - merged; }
};

// Products of one shape of the shared operand whose other operand is a weight (nothing makes one
// wait for another), largest saving first; those that save less than a twentieth left out. Empty
// without expected times.
std::vector<Merge> FindMerges(const Report& report, const Device& device);

}  // namespace dlcost
