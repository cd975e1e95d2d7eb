#pragma once

#include "estimator/report/report.h"

namespace dlcost {

// How the kernels of a report run: its options, with the form of attention that its plan has, and
// with the weights that one run leaves to the next.
RunOptions RunOptionsOf(const ReportOptions& options, const InferredModel& model);

}  // namespace dlcost
