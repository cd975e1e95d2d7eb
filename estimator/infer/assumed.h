#pragma once

#include <set>
#include <string>

#include "estimator/infer/infer.h"

namespace dlcost {

// Marks every node that reads, directly or not, what one of `sources` makes, and the sources.
void MarkAssumed(InferredModel& model, const std::set<std::string>& sources);

}  // namespace dlcost
