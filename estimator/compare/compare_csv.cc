#include <fmt/ranges.h>

#include <algorithm>

#include "estimator/compare/compare_table.h"
#include "estimator/compare/slice_table.h"
#include "estimator/report/csv_field.h"

namespace dlcost {
namespace {

std::string Real(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}
std::string Time(const std::optional<Seconds>& time) {
  return time ? fmt::format("{}", time->value()) : "";
}
std::string WholeText(const std::optional<double>& value) { return value ? CountText(value) : ""; }

// Counts, bytes and times have a column already.
bool IsOwnColumn(std::string_view key) {
  return key != "launches" && !key.starts_with("measured_");
}

// The fields of a view that the columns before do not have.
std::string SliceColumns(const SliceRow& slice) {
  std::string out = fmt::format(",{},{}", CsvField(slice.family), slice.operators);
  std::string at_least;  // fields that are lower bounds
  for (const SliceField& field : SliceFields()) {
    const PartSum sum = field.of(slice);
    if (sum.value && !sum.whole) at_least += (at_least.empty() ? "" : " ") + std::string(field.key);
    if (!IsOwnColumn(field.key)) continue;
    out += "," + Real(sum.value);
  }
  return out + "," + at_least;
}

// Of a view: key in the column that such keys have in other rows.
std::string SliceLine(const SliceView& view, const SliceRow& slice) {
  const bool op = view.name == "op";
  const std::string key = CsvField(slice.key);
  return fmt::format("{},{},{},,{},,,{},,,{},,,{},,{}", view.key, op ? "" : key, op ? key : "",
                     CountText(slice.launches), WholeText(slice.flops.value),
                     WholeText(slice.bytes.value), Real(slice.time.value), SliceColumns(slice));
}

}  // namespace

// Base units, in full; empty where nothing is known. A row per layer, then the rows that did not
// join, of the kinds "unmatched_kernel" and "unmatched_node", times of levels and
// runs and what is outside the device, then the views "by_op", "by_kernel" and "by_algorithm".
std::string RenderCompareCsv(const Comparison& comparison) {
  const std::string runtime = CsvField(comparison.runtime);
  std::string out =
      "kind,node,op,kernel,launches,algorithmic_flops,executed_flops,measured_flops,flops_ratio,"
      "predicted_bytes,measured_bytes,bound_s,expected_s,measured_s,confidence,why,family,"
      "operators";
  for (const SliceField& field : SliceFields()) {
    if (IsOwnColumn(field.key)) out += fmt::format(",{}", field.key);
  }
  out += ",at_least,runtime\n";
  const auto own = std::count_if(SliceFields().begin(), SliceFields().end(),
                                 [](const SliceField& field) { return IsOwnColumn(field.key); });
  const std::string none =
      std::string(static_cast<std::size_t>(own) + 3, ',') + "," + runtime + "\n";
  for (std::size_t r = 0; r < comparison.rows.size(); ++r) {
    const CompareRow& row = comparison.rows[r];
    out += fmt::format("row,{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", CsvField(row.node),
                       CsvField(row.op), row.kernel, CountText(row.measured.launches),
                       row.algorithmic.value(), row.executed.value(), WholeText(row.measured_flops),
                       Real(row.flops_ratio), row.predicted_bytes.value(),
                       WholeText(row.measured.dram_bytes), Time(row.bound), Time(row.expected),
                       Time(row.measured.time), row.measured.confidence, CsvField(row.why));
    out += SliceColumns(comparison.analyses.by_layer[r]) + "," + runtime + "\n";
  }
  for (const UnmatchedKernel& kernel : comparison.unmatched_kernels) {
    out += fmt::format("unmatched_kernel,{},,,{},,,{},,,{},,,{},,{}{}\n", CsvField(kernel.name),
                       CountText(kernel.launches), WholeText(kernel.vector_flops),
                       WholeText(kernel.dram_bytes), Time(kernel.time), CsvField(kernel.why), none);
  }
  for (const UnmatchedNode& node : comparison.unmatched_nodes) {
    out += fmt::format("unmatched_node,{},{},{},,{},,,,,,{},,,,{}{}\n", CsvField(node.node),
                       CsvField(node.op), node.kernel, node.algorithmic.value(), Time(node.bound),
                       CsvField(node.why), none);
  }
  const auto time = [&](std::string_view kind, const std::string& name, Seconds seconds) {
    out += fmt::format("{},{},,,,,,,,,,,,{},,{}\n", kind, CsvField(name), seconds.value(), none);
  };
  for (const LevelRow& level : comparison.levels)
    time("level", std::string(Name(level.level)), level.time);
  if (comparison.run) {
    time("run", comparison.run->from, comparison.run->wall);
    if (comparison.run->device) time("outside", "", comparison.run->wall - *comparison.run->device);
    for (const RangeTime& range : comparison.run->beside) time("beside", range.name, range.time);
  }
  if (comparison.copies) time("copies", "", *comparison.copies);
  for (const SliceView& view : ViewsOf(comparison.analyses)) {
    if (view.name == "layer") continue;  // the rows
    for (const SliceRow& slice : *view.rows) {
      out += SliceLine(view, slice) + "," + runtime + "\n";
    }
  }
  return out;
}

}  // namespace dlcost
