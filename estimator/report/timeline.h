#pragma once

#include <cstddef>
#include <vector>

#include "estimator/report/report.h"

namespace dlcost {

struct MemoryStep {
  std::size_t node;  // index into Report::nodes
  Bytes live;        // inputs, intermediate values and outputs that exist while the node runs
};

// Activation memory over the run, a step per node that is not known beforehand. Views share their
// input's memory; inputs of the model live until their last use, its outputs to the end. The
// highest step is the report's peak, except for models with control flow, whose bodies are left out
// of that.
std::vector<MemoryStep> MemoryTimeline(const Report& report);

}  // namespace dlcost
