#include "estimator/report/runtime_text.h"

#include <fmt/ranges.h>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

// "fusion none", "fuses bias, pointwise".
std::string FusionText(const PlanOptions& plan) {
  if (plan.fusion != Fusion::kDefault || plan.fuses == FusionSet::Compilers()) {
    return fmt::format("fusion {}", Name(plan.fusion));
  }
  std::vector<std::string_view> steps;
  for (const FusionStep step : FusionSteps()) {
    if (plan.fuses.Has(step)) steps.push_back(Name(step));
  }
  return fmt::format("fuses {}",
                     steps.empty() ? "nothing" : fmt::format("{}", fmt::join(steps, ", ")));
}

}  // namespace

std::string RuntimeName(const ReportOptions& options) {
  if (options.runtime.empty()) return "not told";
  return Printable(options.runtime) + (options.runtime_given ? "" : " by default");
}

std::string RuntimeText(const ReportOptions& options) {
  return fmt::format("{}: {}; attention {}, launch {}, math {}", RuntimeName(options),
                     FusionText(options.plan), Name(options.plan.Form()), Name(options.run.launch),
                     Name(options.run.math));
}

}  // namespace dlcost
