#include <algorithm>

#include "estimator/compare/compare_table.h"
#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/report/format.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

std::string TimeText(const std::optional<Seconds>& time) {
  return time ? ReadableTime(*time) : "-";
}

std::string Label(const std::string& label, const std::string& text) {
  return fmt::format("{:<11} {}\n", label, text);
}

std::string ByOperator(const Comparison& comparison) {
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
  return table.Render();
}

// Names are cut: a C++ kernel name runs to thousands of characters.
std::string Unmatched(const Comparison& comparison, std::size_t top) {
  std::string out;
  if (!comparison.unmatched_kernels.empty()) {
    Table table({"measured, without an operator", "launches", "time", "why"},
                {false, false, false, true});
    const std::size_t shown = top == 0 ? comparison.unmatched_kernels.size() : top;
    for (std::size_t i = 0; i < comparison.unmatched_kernels.size(); ++i) {
      const UnmatchedKernel& kernel = comparison.unmatched_kernels[i];
      if (i == shown) {
        table.Add(
            {fmt::format("... and {} more", comparison.unmatched_kernels.size() - i), "", "", ""});
        break;
      }
      table.Add({Printable(kernel.name, 60), CountText(kernel.launches), TimeText(kernel.time),
                 kernel.why});
    }
    out += "\n" + table.Render();
  }
  if (!comparison.unmatched_nodes.empty()) {
    Table table({"predicted, not measured", "operator", "bound", "why"},
                {false, true, false, true});
    const std::size_t shown = top == 0 ? comparison.unmatched_nodes.size() : top;
    for (std::size_t i = 0; i < comparison.unmatched_nodes.size(); ++i) {
      const UnmatchedNode& node = comparison.unmatched_nodes[i];
      if (i == shown) {
        table.Add(
            {fmt::format("... and {} more", comparison.unmatched_nodes.size() - i), "", "", ""});
        break;
      }
      table.Add({Printable(node.node, 60), Printable(node.op, 24), TimeText(node.bound), node.why});
    }
    out += "\n" + table.Render();
  }
  return out;
}

// Rows whose algorithm ran as several kernels, stage by stage.
std::string Stages(const Comparison& comparison, std::size_t top) {
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
  return rows == 0 ? "" : "\n" + table.Render();
}

std::string Slices(const std::vector<SliceRow>& slices, const std::string& by, std::size_t top) {
  Table table({by, "family", "operators", "launches", "FLOPs", "bytes", "FLOP/B", "time"},
              {true, true});
  for (std::size_t i = 0; i < slices.size() && (top == 0 || i < top); ++i) {
    const SliceRow& slice = slices[i];
    const auto bytes = slice.bytes
                           ? std::optional(ReadableBytes(Bytes(RoundToInteger(*slice.bytes))))
                           : std::nullopt;
    const auto intensity = slice.intensity();
    table.Add({Printable(slice.key, 60), slice.family, std::to_string(slice.operators),
               CountText(slice.launches), CountText(slice.flops), bytes.value_or("-"),
               intensity ? fmt::format("{:.1f}", *intensity) : "-", TimeText(slice.time)});
  }
  return "\n" + table.Render();
}

}  // namespace

std::string RenderCompareText(const Comparison& comparison, std::size_t top,
                              const std::string& by) {
  std::string out = Label("model", Printable(comparison.model));
  if (!comparison.device.empty()) out += Label("device", comparison.device);
  out += Label("runtime", comparison.runtime_text);
  for (const std::string& file : comparison.files) out += Label("measured", Printable(file));
  CompareCells cells = CellsOf(comparison);
  Table table(cells.head, cells.left);
  const std::size_t shown = top == 0 ? cells.rows.size() : std::min(top, cells.rows.size());
  for (std::size_t r = 0; r < shown; ++r) table.Add(std::move(cells.rows[r]));
  out += "\n" + table.Render();
  if (shown < comparison.rows.size())
    out += fmt::format("... and {} more rows\n", comparison.rows.size() - shown);
  const bool timed = std::any_of(comparison.by_op.begin(), comparison.by_op.end(),
                                 [](const OpTotals& op) { return op.measured.has_value(); });
  out += Stages(comparison, top);
  if (timed) out += "\n" + ByOperator(comparison);
  if (by == "kernel") out += Slices(comparison.by_kernel, by, top);
  if (by == "algorithm") out += Slices(comparison.by_algorithm, by, top);
  out += Unmatched(comparison, top);
  out += "\n";
  for (const auto& [label, text] : SummaryLines(comparison)) out += Label(label, text);
  return out;
}

}  // namespace dlcost
