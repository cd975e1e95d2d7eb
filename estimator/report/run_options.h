#pragma once

#include "estimator/report/report.h"

namespace dlcost {

// How the kernels of a report run: its options, with the form of attention that its plan has.
inline RunOptions RunOptionsOf(const ReportOptions& options) {
  RunOptions run = options.run;
  run.attention = options.plan.Form();
  return run;
}

}  // namespace dlcost
