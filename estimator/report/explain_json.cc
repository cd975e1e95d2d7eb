#include <nlohmann/json.hpp>

#include "estimator/report/explain.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

// docs/schema/explain.schema.json
std::string ExplanationJson(const Explanation& explained) {
  Json terms = Json::array();
  for (const TimeTerm& term : explained.terms) {
    Json each = {{"level", term.level}, {"what", term.what}};
    if (term.text.empty()) {
      each["value"] = term.value;
      each["unit"] = term.unit;
    } else {
      each["text"] = term.text;
    }
    if (term.combine != Combine::kNone) each["combine"] = std::string(Name(term.combine));
    if (term.factor != 0) each["factor"] = term.factor;
    if (!term.reason.empty()) each["reason"] = term.reason;
    terms.push_back(std::move(each));
  }
  const Json json = {{"schema", kExplainSchema},
                     {"model", explained.model},
                     {"device", explained.device},
                     {"runtime", explained.runtime},
                     {"runtime_given", explained.runtime_given},
                     {"node", explained.node},
                     {"kernel", explained.kernel},
                     {"nodes", explained.nodes},
                     {"algorithm", explained.algorithm},
                     {"tile", explained.tile.empty() ? Json() : Json(explained.tile)},
                     {"launches", explained.launches.value()},
                     {"bytes", explained.bytes.value()},
                     {"executed_bytes", explained.executed_bytes.value()},
                     {"terms", terms},
                     {"expected_s", explained.time.expected},
                     {"expected_low_s", explained.time.low},
                     {"expected_high_s", explained.time.high},
                     {"limited_by", explained.limited_by},
                     {"bound_s", explained.bound.value()},
                     {"bound_limited_by", explained.bound_limited_by},
                     {"bound_holds", !explained.upper_bound && !explained.assumed},
                     {"measured_on", explained.measured_on},
                     {"timing_basis", std::string(Name(explained.basis))},
                     {"advice", explained.advice}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dlcost
