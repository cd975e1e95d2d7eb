#pragma once

#include <string>

#include "estimator/report/report.h"

namespace dlcost {

// "tensorrt", "generic by default", "not told" (reports of older versions).
std::string RuntimeName(const ReportOptions& options);

// The same with what holds for this report, whatever an option changed:
// "tensorrt: fuses bias, product, attention flash, launch graph, math tf32".
std::string RuntimeText(const ReportOptions& options);

}  // namespace dlcost
