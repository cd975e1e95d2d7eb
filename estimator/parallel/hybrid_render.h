#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/parallel/hybrid.h"

namespace dlcost {

// Steps by several plans, the best first; `memory`: of a device, none where it is not public.
struct PlanReport {
  std::string model, system, device;
  std::vector<HybridStep> steps;
  std::optional<Bytes> memory;
  std::string left_out;  // why operators are not split among some numbers of devices; "" they are
  StepProfile profile;   // of the best one, for the names of its stages
  int too_large = 0;     // see FoundPlans
};

// The plans that fit, `top` of them, then why the fastest others lose; a single plan with its
// stages.
std::string PlanText(const PlanReport& report, std::size_t top, std::size_t max_width = 0);
std::string PlanJson(const PlanReport& report, std::size_t top);

}  // namespace dlcost
