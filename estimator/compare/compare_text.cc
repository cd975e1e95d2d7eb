#include <algorithm>

#include "estimator/compare/compare_table.h"
#include "estimator/compare/slice_table.h"
#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/report/format.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

constexpr const char* kRemedy = "--format csv has them";

std::string Label(const std::string& label, const std::string& text) {
  return fmt::format("{:<11} {}\n", label, text);
}

std::string ByOperator(const Comparison& comparison, std::size_t max_width) {
  Table table({"operator", "rows", "predicted", "measured", "ratio", "FLOP/s"});
  for (const OpTotals& op : comparison.by_op) {
    if (!op.measured) continue;
    const bool ratio = op.predicted && op.predicted->value() > 0;
    const bool rate = op.algorithmic > Flops(0) && op.measured->value() > 0;
    table.Add(
        {Printable(op.op, 32), std::to_string(op.rows), TimeText(op.predicted),
         TimeText(op.measured), ratio ? fmt::format("{:.2f}", *op.measured / *op.predicted) : "-",
         rate ? ReadableRate(op.algorithmic.AsDouble() / op.measured->value(), "FLOP") : "-"});
  }
  table.MayDrop({"FLOP/s", "rows"});
  return table.Fit(max_width, kRemedy);
}

// A table of which the first rows are shown; "" without rows.
std::string TableText(CompareCells cells, std::size_t top, std::size_t max_width) {
  if (cells.rows.empty()) return "";
  Table table(cells.head, cells.left);
  const std::size_t shown = top == 0 ? cells.rows.size() : std::min(top, cells.rows.size());
  for (std::size_t r = 0; r < shown; ++r) table.Add(std::move(cells.rows[r]));
  table.MayStandBelow("why");
  table.MayDrop(cells.may_drop);
  table.MayDrop({"launches", "operators", "memory"});
  std::string out = "\n" + table.Fit(max_width, kRemedy);
  const std::size_t left_out = cells.left_out + cells.rows.size() - shown;
  if (left_out > 0) out += fmt::format("... and {} more rows\n", left_out);
  return out;
}

// Rows whose algorithm ran as several kernels, stage by stage.
std::string Stages(const Comparison& comparison, std::size_t top, std::size_t max_width) {
  Table table({"stages of", "stage", "launches", "executed", "measured", "ratio", "time"},
              {true, true});
  std::size_t rows = 0;
  for (const CompareRow& row : comparison.rows) {
    for (std::size_t i = 0; i < row.stages.size(); ++i) {
      const StageRow& stage = row.stages[i];
      if (top > 0 && rows == top) break;
      ++rows;
      table.Add({i == 0 ? Printable(row.node, 48) : "", stage.stage, CountText(stage.launches),
                 stage.executed ? CountText(stage.executed->AsDouble()) : "-",
                 CountText(stage.measured_flops), RatioText(stage.ratio), TimeText(stage.time)});
    }
  }
  table.MayDrop({"launches", "time"});
  return rows == 0 ? "" : "\n" + table.Fit(max_width, kRemedy);
}

}  // namespace

std::string RenderCompareText(const Comparison& comparison, const CompareTextOptions& options) {
  const std::size_t top = options.top, width = options.max_width;
  std::string out = Label("model", Printable(comparison.model));
  if (!comparison.device.empty()) out += Label("device", comparison.device);
  out += Label("runtime", comparison.runtime_text);
  for (const std::string& file : comparison.files) out += Label("measured", Printable(file));
  out += TableText(CellsOf(comparison, top), top, width);
  const bool timed = std::any_of(comparison.by_op.begin(), comparison.by_op.end(),
                                 [](const OpTotals& op) { return op.measured.has_value(); });
  out += Stages(comparison, top, width);
  if (timed) out += "\n" + ByOperator(comparison, width);
  for (const SliceView& view : ViewsOf(comparison.analyses)) {
    const bool shown = std::count(options.by.begin(), options.by.end(), view.name) > 0;
    if (shown) out += fmt::format("\n{}\n", view.title) + TableText(CellsOf(view, 0), top, width);
  }
  out += TableText(UnmatchedKernelCells(comparison), top, width);
  out += TableText(UnmatchedNodeCells(comparison), top, width);
  out += "\n";
  for (const auto& [label, text] : SummaryLines(comparison)) out += Label(label, text);
  return out;
}

}  // namespace dlcost
