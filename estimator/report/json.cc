#include "estimator/report/fields/report.h"
#include "estimator/report/json_fields.h"
#include "estimator/report/render.h"

namespace dlcost {

void WriteJson(const Report& report, const TextSink& sink) {
  JsonWriter json(sink);
  json.BeginObject();
  JsonFields fields(json, report);
  Fields(fields, report);
  json.EndObject();
  json.Finish();
}

std::string RenderJson(const Report& report) {
  std::string text;
  WriteJson(report, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace dlcost
