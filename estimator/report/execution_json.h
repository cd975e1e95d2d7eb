#pragma once

#include "estimator/report/json_writer.h"
#include "estimator/report/report.h"

namespace dlcost {

// Writes what is known of a kernel's execution: label, runner_up, math, gemm (extents, tiles,
// waves, padding), executed (terms), extra bytes and workspace; members of the object that is open.
void WriteExecution(JsonWriter& json, const KernelRow& kernel, Count units);

}  // namespace dlcost
