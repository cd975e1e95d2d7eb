#pragma once

#include "estimator/compare/join.h"
#include "estimator/compare/slots.h"
#include "estimator/compare/tally.h"

namespace dlcost {

// Joins a table that has no order: every row sums up all launches of a kernel over `runs` runs of
// the model. A row goes to the operators whose executed work it alone explains (as many as it has
// launches per run); what is left of a family shares what is left of its operators.
void JoinFolded(const Report& report, const std::vector<Slot>& slots,
                const std::vector<MeasuredKernel>& rows, const std::optional<Device>& device,
                std::int64_t runs, Tally& tally, Joined& joined);

}  // namespace dlcost
