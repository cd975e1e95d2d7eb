#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/compare/compare_table.h"
#include "estimator/compare/slice_table.h"
#include "estimator/core/error.h"
#include "estimator/report/measured_page.h"
#include "estimator/report/page_json.h"

// The page of a profile, with a dot for each layer and the views of a joined run as its tables.
namespace dlcost {
namespace {

std::optional<double> WholeSum(const PartSum& sum) { return sum.whole ? sum.value : std::nullopt; }

std::vector<MeasuredDot> Layers(const Comparison& comparison) {
  std::vector<MeasuredDot> dots;
  const std::size_t shown = std::min(kMostDots, comparison.rows.size());
  for (std::size_t r = 0; r < shown; ++r) {
    const CompareRow& row = comparison.rows[r];
    const SliceRow& layer = comparison.analyses.by_layer[r];
    MeasuredDot dot;
    dot.label = Printable(row.node, 300);
    dot.op = Printable(row.op, 60);
    dot.launches = layer.launches;
    dot.time = WholeSum(layer.time);
    dot.flops = WholeSum(layer.flops);
    dot.bytes = WholeSum(layer.bytes);
    if (row.bound) dot.bound = row.bound->value();
    dot.flop_rate = layer.flop_rate();
    dot.byte_rate = layer.byte_rate();
    dot.occupancy = layer.occupancy;
    dots.push_back(std::move(dot));
  }
  return dots;
}

MeasuredTable TableOf(std::string_view key, CompareCells cells) {
  return {std::string(key),      std::move(cells.title), std::move(cells.head),
          std::move(cells.left), std::move(cells.rows),  cells.left_out};
}

std::vector<MeasuredTable> Tables(const Comparison& comparison) {
  std::vector<MeasuredTable> tables = {TableOf("rows", CellsOf(comparison))};
  for (const SliceView& view : ViewsOf(comparison.analyses)) {
    tables.push_back(TableOf(view.key, CellsOf(view, kMostPageRows)));
  }
  CompareCells kernels = UnmatchedKernelCells(comparison);
  if (!kernels.rows.empty()) tables.push_back(TableOf("unmatched_kernels", std::move(kernels)));
  CompareCells nodes = UnmatchedNodeCells(comparison);
  if (!nodes.rows.empty()) tables.push_back(TableOf("unmatched_nodes", std::move(nodes)));
  return tables;
}

}  // namespace

std::string RenderCompareHtml(const Comparison& comparison, const Device* device,
                              const std::string& title) {
  MeasuredPage page;
  page.title = title;
  if (title.empty()) {
    const std::string& path = comparison.model;
    page.title = "dlcost: " + Printable(path.substr(path.rfind('/') + 1), 80) + ", measured";
  }
  page.lines.emplace_back("model", Printable(comparison.model, 300));
  if (!comparison.device.empty()) page.lines.emplace_back("device", comparison.device);
  for (const std::string& file : comparison.files) {
    page.lines.emplace_back("measured", Printable(file));
  }
  for (const auto& [label, text] : SummaryLines(comparison)) page.lines.emplace_back(label, text);
  const auto& layers = comparison.analyses.by_layer;
  const bool dots = std::any_of(layers.begin(), layers.end(), [](const SliceRow& layer) {
    return layer.flops.value && layer.bytes.value && layer.time.value;
  });
  if (!dots) {
    page.lines.emplace_back(
        "note",
        "the roofline has no dots: no layer has measured FLOPs, bytes and a time; give counters of "
        "DRAM with --measured and a run without counters with --trace");
  }
  if (comparison.rows.size() > kMostDots) {
    page.lines.emplace_back("note", fmt::format("the roofline shows the first {} layers of {}",
                                                kMostDots, comparison.rows.size()));
  }
  page.dots = Layers(comparison);
  page.tables = Tables(comparison);
  page.device = device;
  page.roofs = comparison.roofs;
  using Json = nlohmann::ordered_json;
  return RenderPage(page.title,
                    {{"title", page.title}, {"reports", Json::array({MeasuredPageJson(page)})}});
}

}  // namespace dlcost
