#include "estimator/report/measured_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/report/page_json.h"
#include "estimator/report/text_table.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

Json Value(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json Dots(const std::vector<MeasuredDot>& dots) {
  TextTable texts;
  Json rows = Json::array();
  for (const MeasuredDot& dot : dots) {
    // What was executed stands for the work that a model would count.
    rows.push_back({texts.Number(dot.label), texts.Number(dot.op), texts.Number(dot.scope),
                    texts.Number(dot.algorithm), texts.Number(dot.limiter), Value(dot.launches),
                    Value(dot.time), Value(dot.flops), Value(dot.flops), Value(dot.bytes),
                    Value(dot.bound), Value(dot.flop_rate), Value(dot.byte_rate),
                    Value(dot.occupancy)});
  }
  return {{"names", texts.texts()},
          {"columns",
           {"label", "ops", "scope", "algorithm", "limiter", "launches", "time", "flops", "least",
            "bytes", "bound", "flop_rate", "byte_rate", "occupancy"}},
          {"rows", rows}};
}

Json Tables(const std::vector<MeasuredTable>& tables) {
  Json json = Json::array();
  for (const MeasuredTable& table : tables) {
    const std::size_t shown = std::min(kMostPageRows, table.rows.size());
    json.push_back({{"key", table.key},
                    {"title", table.title},
                    {"head", table.head},
                    {"left", table.left},
                    {"rows", std::vector(table.rows.begin(),
                                         table.rows.begin() + static_cast<std::ptrdiff_t>(shown))},
                    {"left_out", table.left_out + table.rows.size() - shown}});
  }
  return json;
}

}  // namespace

Json MeasuredPageJson(const MeasuredPage& page) {
  Json lines = Json::array();
  for (const auto& [label, text] : page.lines) lines.push_back({label, text});
  const auto is_used = [&](const std::string& name) {
    return std::find(page.roofs.begin(), page.roofs.end(), name) != page.roofs.end();
  };
  return {{"title", page.title},
          {"profile", {{"lines", lines}, {"tables", Tables(page.tables)}}},
          {"roofs", DeviceRoofsJson(page.device, is_used)},
          {"device", DeviceFactsJson(page.device)},
          {"kernel_table", Dots(page.dots)}};
}

}  // namespace dlcost
