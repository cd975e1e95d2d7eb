#pragma once

#include "estimator/compare/join.h"
#include "estimator/compare/node_names.h"
#include "estimator/compare/slots.h"
#include "estimator/compare/tally.h"

namespace dlcost {

// Joins launches in their order: cut into runs, whole calls of the framework where the trace knows
// them, single kernels where not. `runs`: how often the model ran; found out without. Throws Error
// where the launches do not repeat so often.
void JoinOrdered(const Report& report, const std::vector<Slot>& slots, const NodeNames& names,
                 const std::vector<MeasuredKernel>& rows, const std::optional<Device>& device,
                 std::optional<std::int64_t> runs, Tally& tally, Joined& joined);

}  // namespace dlcost
