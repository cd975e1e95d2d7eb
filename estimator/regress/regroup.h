#pragma once

#include <string>
#include <unordered_map>

#include "estimator/report/report.h"

namespace dlcost {

// What rows of a report tell together, and its JSON therefore not: how doubtful kernels and groups
// are, and what groups wait for. `nodes` are indices by name.
void Regroup(Report& report, const std::unordered_map<std::string, std::size_t>& nodes);

// The certainty of totals that an older report does not tell, of its rows.
void AddCertainty(Report& report);

}  // namespace dlcost
