#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/compare/compare_table.h"
#include "estimator/compare/slice_table.h"
#include "estimator/core/error.h"
#include "estimator/report/page_json.h"
#include "estimator/report/text_table.h"

// The page of a profile, with a dot for each layer and the views of a joined run as its tables:
// page/profile.js draws them.
namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostDots = 5000;  // that a browser draws without a pause
constexpr std::size_t kMostRows = 1000;  // of a table

Json Value(const std::optional<double>& value) { return value ? Json(*value) : Json(); }
// A lower bound has no place on a roofline.
Json Whole(const PartSum& sum) { return sum.whole ? Value(sum.value) : Json(); }

Json Layers(const Comparison& comparison) {
  TextTable texts;
  Json rows = Json::array();
  const std::size_t shown = std::min(kMostDots, comparison.rows.size());
  for (std::size_t r = 0; r < shown; ++r) {
    const CompareRow& row = comparison.rows[r];
    const SliceRow& layer = comparison.analyses.by_layer[r];
    const Json flops = Whole(layer.flops);
    rows.push_back({texts.Number(Printable(row.node, 300)), texts.Number(Printable(row.op, 60)),
                    texts.Number(""), texts.Number(""), texts.Number("unknown"), layer.launches,
                    Whole(layer.time), flops, flops, Whole(layer.bytes),
                    row.bound ? Json(row.bound->value()) : Json(), Value(layer.flop_rate()),
                    Value(layer.byte_rate()), Value(layer.occupancy)});
  }
  return {{"names", texts.texts()},
          {"columns",
           {"label", "ops", "scope", "algorithm", "limiter", "launches", "time", "flops", "least",
            "bytes", "bound", "flop_rate", "byte_rate", "occupancy"}},
          {"rows", rows}};
}

Json TableJson(std::string_view key, CompareCells cells) {
  if (cells.rows.size() > kMostRows) {
    cells.left_out += cells.rows.size() - kMostRows;
    cells.rows.resize(kMostRows);
  }
  return {{"key", key},         {"title", cells.title}, {"head", cells.head},
          {"left", cells.left}, {"rows", cells.rows},   {"left_out", cells.left_out}};
}

Json Tables(const Comparison& comparison) {
  Json tables = Json::array();
  tables.push_back(TableJson("rows", CellsOf(comparison)));
  for (const SliceView& view : ViewsOf(comparison.analyses))
    tables.push_back(TableJson(view.key, CellsOf(view, kMostRows)));
  const CompareCells kernels = UnmatchedKernelCells(comparison);
  if (!kernels.rows.empty()) tables.push_back(TableJson("unmatched_kernels", kernels));
  const CompareCells nodes = UnmatchedNodeCells(comparison);
  if (!nodes.rows.empty()) tables.push_back(TableJson("unmatched_nodes", nodes));
  return tables;
}

}  // namespace

std::string RenderCompareHtml(const Comparison& comparison, const Device* device,
                              const std::string& title) {
  Json lines = Json::array();
  const auto line = [&](const std::string& label, const std::string& text) {
    lines.push_back(Json::array({label, text}));
  };
  line("model", Printable(comparison.model, 300));
  if (!comparison.device.empty()) line("device", comparison.device);
  for (const std::string& file : comparison.files) line("measured", Printable(file));
  for (const auto& [label, text] : SummaryLines(comparison)) line(label, text);
  if (comparison.rows.size() > kMostDots) {
    line("note", fmt::format("the roofline shows the first {} layers of {}", kMostDots,
                             comparison.rows.size()));
  }
  const auto is_used = [&](const std::string& name) {
    return std::find(comparison.roofs.begin(), comparison.roofs.end(), name) !=
           comparison.roofs.end();
  };
  const Json page = {{"title", title},
                     {"profile", {{"lines", lines}, {"tables", Tables(comparison)}}},
                     {"roofs", DeviceRoofsJson(device, is_used)},
                     {"device", DeviceFactsJson(device)},
                     {"kernel_table", Layers(comparison)}};
  return RenderPage(title, {{"title", title}, {"reports", Json::array({page})}});
}

}  // namespace dlcost
