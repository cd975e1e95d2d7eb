#include "estimator/compare/compare_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/report/format.h"
#include "estimator/report/merges.h"

namespace dlcost {
namespace {

std::string BytesText(std::optional<double> bytes) {
  return bytes ? ReadableBytes(Bytes(RoundToInteger(*bytes))) : "-";
}

std::string PercentText(std::optional<double> fraction) {
  return fraction ? Percent(*fraction) : "-";
}

struct Column {
  std::string head;
  std::function<std::string(const CompareRow&)> text;
  bool left = false;
};

bool Any(const Comparison& comparison, const std::function<bool(const CompareRow&)>& has) {
  return std::any_of(comparison.rows.begin(), comparison.rows.end(), has);
}

std::vector<Column> ColumnsOf(const Comparison& comparison) {
  const bool flops =
      Any(comparison, [](const CompareRow& r) { return r.measured_flops.has_value(); });
  const bool bytes =
      Any(comparison, [](const CompareRow& r) { return r.measured.dram_bytes.has_value(); });
  const bool times =
      Any(comparison, [](const CompareRow& r) { return r.measured.time.has_value(); });
  const bool bound = Any(comparison, [](const CompareRow& r) { return r.bound.has_value(); });
  const bool expected = Any(comparison, [](const CompareRow& r) { return r.expected.has_value(); });
  std::vector<Column> columns = {
      {"node", [](const CompareRow& r) { return Printable(r.node, 48); }, true},
      {"operator", [](const CompareRow& r) { return Printable(r.op, 24); }, true},
      {"launches", [](const CompareRow& r) { return CountText(r.measured.launches); }}};
  if (flops) {
    columns.push_back(
        {"FLOPs", [](const CompareRow& r) { return CountText(r.algorithmic.AsDouble()); }});
    columns.push_back(
        {"executed", [](const CompareRow& r) { return CountText(r.executed.AsDouble()); }});
    columns.push_back(
        {"measured", [](const CompareRow& r) { return CountText(r.measured_flops); }});
    columns.push_back({"ratio", [](const CompareRow& r) { return RatioText(r.flops_ratio); }});
  }
  if (bytes) {
    columns.push_back(
        {"bytes", [](const CompareRow& r) { return BytesText(r.predicted_bytes.AsDouble()); }});
    columns.push_back(
        {"measured", [](const CompareRow& r) { return BytesText(r.measured.dram_bytes); }});
    columns.push_back({"ratio", [](const CompareRow& r) { return RatioText(r.bytes_ratio); }});
  }
  if (times) {
    if (bound) columns.push_back({"bound", [](const CompareRow& r) { return TimeText(r.bound); }});
    if (expected)
      columns.push_back({"expected", [](const CompareRow& r) { return TimeText(r.expected); }});
    columns.push_back({"measured", [](const CompareRow& r) { return TimeText(r.measured.time); }});
    if (bound) {
      columns.push_back({"ratio", [](const CompareRow& r) {
                           return r.time_ratio ? fmt::format("{:.2f}", *r.time_ratio) : "-";
                         }});
      columns.push_back(
          {"compute", [](const CompareRow& r) { return PercentText(r.compute_fraction); }});
      columns.push_back(
          {"memory", [](const CompareRow& r) { return PercentText(r.memory_fraction); }});
    }
  }
  columns.push_back({"why", [](const CompareRow& r) { return r.why.empty() ? "-" : r.why; }, true});
  return columns;
}

using Lines = std::vector<std::pair<std::string, std::string>>;

// The name of a level that is no kernels' says what its time is of.
void AddLevels(const Comparison& comparison, Lines& lines) {
  if (comparison.levels.size() < 2) return;
  for (const LevelRow& level : comparison.levels) {
    std::string text =
        fmt::format("{} {} ({})", Name(level.level), TimeText(level.time), Printable(level.file));
    for (const LevelRow::Deeper& deeper : level.deeper) {
      const double added = deeper.overhead / (deeper.time - deeper.overhead);
      text += fmt::format("; {} down to the {} level, {}: {:+.1f} %", TimeText(deeper.time),
                          Name(deeper.finest), Printable(deeper.file), 100 * added);
    }
    lines.emplace_back("level", text);
  }
}

void AddRun(const Comparison& comparison, Lines& lines) {
  if (const auto& run = comparison.run) {
    std::string text =
        fmt::format("{} by the clock on the wall ({})", TimeText(run->wall), run->from);
    if (comparison.totals.expected_run)
      text += fmt::format(", {} expected with the host", TimeText(comparison.totals.expected_run));
    if (run->device && run->wall.value() > 0) {
      text +=
          fmt::format(": {} on the device, {} ({}) outside", TimeText(run->device),
                      TimeText(run->wall - *run->device), Percent(1 - *run->device / run->wall));
    }
    lines.emplace_back("run", text);
    for (const RangeTime& range : run->beside) {
      std::string beside =
          fmt::format("'{}': {} for each run", Printable(range.name, 60), TimeText(range.time));
      if (range.device) beside += fmt::format(", {} of it on the device", TimeText(range.device));
      lines.emplace_back("beside", beside);
    }
  }
  if (comparison.copies)
    lines.emplace_back("copies", fmt::format("{} in the whole file", TimeText(comparison.copies)));
  if (const auto& throughput = comparison.throughput) {
    const std::string most = throughput->at_most ? "at most " : "";
    std::string text = most + ReadableRate(throughput->runs_per_s, "runs");
    if (throughput->batch && *throughput->batch > 0) {
      text += fmt::format(
          ", {} at batch {}",
          ReadableRate(throughput->runs_per_s * static_cast<double>(*throughput->batch), "samples"),
          *throughput->batch);
    }
    if (throughput->at_most) text += ": by what was measured alone, without what is between";
    lines.emplace_back("throughput", text);
  }
}

std::string StatisticsText(const RatioStatistics& s) {
  std::string text =
      fmt::format("median {:.4g}, 90th percentile {:.4g}, {} rows", s.median, s.p90, s.rows);
  if (s.correlation) text += fmt::format(", correlation {:.4f}", *s.correlation);
  return text;
}

}  // namespace

std::string TimeText(std::optional<Seconds> time) { return time ? ReadableTime(*time) : "-"; }

std::string RatioText(std::optional<double> ratio) {
  if (!ratio) return "-";
  std::string text = fmt::format("{:.6f}", *ratio);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string CountText(std::optional<double> value) {
  if (!value) return "-";
  if (*value == std::floor(*value)) return fmt::format("{:.0f}", *value);
  return fmt::format("{:.3f}", *value);
}

CompareCells CellsOf(const Comparison& comparison, std::size_t top) {
  CompareCells cells{.title = "Predicted and measured", .head = {}, .left = {}, .rows = {}};
  const std::vector<Column> columns = ColumnsOf(comparison);
  for (const Column& column : columns) {
    cells.head.push_back(column.head);
    cells.left.push_back(column.left);
  }
  // Times tell most, then FLOPs; of columns with one head the first goes first.
  cells.may_drop = {"launches", "compute", "memory", "bound", "operator", "executed", "bytes"};
  const auto found = [&](const char* head) {
    return std::find(cells.head.begin(), cells.head.end(), head) != cells.head.end();
  };
  if (found("expected")) cells.may_drop.insert(cells.may_drop.end(), {"FLOPs", "measured"});
  std::vector<std::size_t> order;
  if (top > 0 && top < comparison.rows.size()) order = comparison.worst;
  std::vector<bool> shown(comparison.rows.size(), false);
  for (const std::size_t r : order) shown[r] = true;
  for (std::size_t r = 0; r < comparison.rows.size(); ++r) {
    if (!shown[r]) order.push_back(r);
  }
  for (const std::size_t r : order) {
    std::vector<std::string> texts;
    for (const Column& column : columns) texts.push_back(column.text(comparison.rows[r]));
    cells.rows.push_back(std::move(texts));
  }
  return cells;
}

CompareCells UnmatchedKernelCells(const Comparison& comparison) {
  CompareCells cells{.title = "Measured, without an operator",
                     .head = {"measured, without an operator", "launches", "time", "why"},
                     .left = {true, false, false, true},
                     .rows = {}};
  for (const UnmatchedKernel& kernel : comparison.unmatched_kernels) {
    cells.rows.push_back({Printable(kernel.name, 60), CountText(kernel.launches),
                          TimeText(kernel.time), kernel.why});
  }
  return cells;
}

CompareCells UnmatchedNodeCells(const Comparison& comparison) {
  CompareCells cells{.title = "Predicted, not measured",
                     .head = {"predicted, not measured", "operator", "bound", "why"},
                     .left = {true, true, false, true},
                     .rows = {}};
  for (const UnmatchedNode& node : comparison.unmatched_nodes) {
    cells.rows.push_back(
        {Printable(node.node, 60), Printable(node.op, 24), TimeText(node.bound), node.why});
  }
  return cells;
}

std::vector<std::pair<std::string, std::string>> SummaryLines(const Comparison& comparison) {
  std::vector<std::pair<std::string, std::string>> lines;
  const CompareTotals& totals = comparison.totals;
  if (totals.runs > 1) {
    lines.emplace_back("runs", fmt::format("{}: {}; everything above is of one run", totals.runs,
                                           totals.runs_from));
  }
  if (totals.measured_flops) {
    std::string text = fmt::format(
        "{} of {} predicted joined, {} measured (ratio {})",
        CountText(totals.joined_algorithmic.AsDouble()), CountText(totals.algorithmic.AsDouble()),
        CountText(totals.measured_flops),
        RatioText(*totals.measured_flops / std::max(1.0, totals.joined_algorithmic.AsDouble())));
    if (totals.unmatched_flops)
      text += fmt::format(", {} measured without an operator", CountText(totals.unmatched_flops));
    lines.emplace_back("FLOPs", text);
  }
  if (totals.measured_bytes) {
    lines.emplace_back("bytes", fmt::format("{} predicted, {} measured",
                                            BytesText(totals.predicted_bytes.AsDouble()),
                                            BytesText(totals.measured_bytes)));
  }
  if (totals.measured) {
    std::string text = TimeText(totals.measured) + " measured";
    if (totals.bound) text += ", bound " + TimeText(totals.bound);
    if (totals.expected) text += ", expected " + TimeText(totals.expected);
    if (totals.unmatched)
      text += fmt::format("; {} without an operator", TimeText(totals.unmatched));
    if (totals.idle && totals.idle->value() > 0)
      text += fmt::format("; {} idle between kernels", TimeText(totals.idle));
    lines.emplace_back("time", text);
  }
  AddLevels(comparison, lines);
  AddRun(comparison, lines);
  if (comparison.flops) lines.emplace_back("FLOP ratio", StatisticsText(*comparison.flops));
  if (comparison.bytes) lines.emplace_back("byte ratio", StatisticsText(*comparison.bytes));
  if (comparison.time) lines.emplace_back("time ratio", StatisticsText(*comparison.time));
  for (std::size_t i = 0; i < comparison.worst.size() && i < Comparison::kWorstTold; ++i) {
    const CompareRow& row = comparison.rows[comparison.worst[i]];
    lines.emplace_back("far off",
                       fmt::format("{}: ratio {}{}{}", Printable(row.node, 48),
                                   RatioText(row.time_ratio ? row.time_ratio : row.flops_ratio),
                                   row.why.empty() ? "" : "; ", row.why));
  }
  for (const std::string& merge : MergeTexts(comparison.merges)) lines.emplace_back("merge", merge);
  for (const std::string& note : comparison.notes) lines.emplace_back("note", note);
  return lines;
}

}  // namespace dlcost
