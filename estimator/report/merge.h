#pragma once

#include <string>
#include <vector>

#include "estimator/core/count.h"
#include "estimator/core/units.h"

namespace dlcost {

// Matrix products that would run as one kernel, and what that saves by expected times: one kernel
// fills the device where several small ones leave it idle.
struct Merge {
  std::vector<std::string> nodes;  // in execution order
  // The tensor that all of them read, so that their weights stack into one product; "" where they
  // share none, but have one shape and none waits for another: a batch of products.
  std::string operand;
  Count batch = 1, m, n, k;  // of the product that they become
  Seconds apart, merged;     // expected, of all runs

  Seconds saved() const { return apart - merged; }
};

}  // namespace dlcost
