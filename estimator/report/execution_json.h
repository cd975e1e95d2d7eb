#pragma once

#include <nlohmann/json.hpp>

#include "estimator/report/report.h"

namespace dlcost {

// Adds what is known of a kernel's execution: label, runner_up, math, gemm (extents, tiles, waves,
// padding), executed (terms), extra bytes and workspace. Only for rendering to JSON.
void AddExecution(nlohmann::ordered_json& json, const KernelRow& kernel, Count units);

}  // namespace dlcost
