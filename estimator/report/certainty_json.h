#pragma once

#include "estimator/report/json_writer.h"
#include "estimator/report/report.h"

namespace dlcost {

// The object `certainty` of reports and comparisons.
void WriteCertainty(JsonWriter& json, const Certainty& certainty, const Sums& totals, bool timed);

}  // namespace dlcost
