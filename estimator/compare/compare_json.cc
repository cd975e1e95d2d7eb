#include "estimator/compare/compare_fields.h"
#include "estimator/report/json_fields.h"

namespace dlcost {

std::string RenderCompareJson(const Comparison& comparison) {
  return RenderFields(comparison, true);
}

}  // namespace dlcost
