#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/request/count_options.h"

namespace dlcost {

// What --batch max and --fit ask for: the largest batch whose weights and live activations fit the
// device, and the cheapest recomputation (by expected time) with which a step fits. Both are looked
// for by bisection, over exact peaks of memory. Puts what was found into `model` and returns what
// it says about it: what fits, and what would not any more. Nothing for a model that asks for
// neither. Throws Error where nothing fits, and without a device whose memory is known.
std::vector<std::string> ResolveFit(ModelOptions& model, const std::optional<Device>& device,
                                    const ReportOptions& report);

}  // namespace dlcost
