#pragma once

#include <vector>

#include "estimator/compare/compare.h"
#include "estimator/report/html.h"

namespace dlcost {

// What was measured of each kernel of the report, in its order, for its page; empty where nothing
// was. `report` is the one that was compared.
std::vector<KernelMeasurement> KernelMeasurements(const Comparison& comparison,
                                                  const Report& report);

}  // namespace dlcost
