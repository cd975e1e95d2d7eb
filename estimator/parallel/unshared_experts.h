#pragma once

#include <string>

#include "estimator/infer/infer.h"

namespace dlcost {

// Why nothing of a model is shared out as whole experts, for people: which node stands in for them,
// and what would do.
std::string WhyNotShared(const InferredModel& model);

}  // namespace dlcost
