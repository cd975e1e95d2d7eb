#include <fmt/ranges.h>

#include "estimator/compare/compare_table.h"
#include "estimator/report/csv_field.h"

namespace dlcost {
namespace {

std::string Real(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}
std::string Time(const std::optional<Seconds>& time) {
  return time ? fmt::format("{}", time->value()) : "";
}
std::string Whole(const std::optional<double>& value) { return value ? CountText(value) : ""; }

}  // namespace

// Base units, in full; empty where nothing is known. Rows that did not join stand at the end with
// the kind "unmatched_kernel" or "unmatched_node".
std::string RenderCompareCsv(const Comparison& comparison) {
  const std::string runtime = CsvField(comparison.runtime);
  std::string out =
      "kind,node,op,kernel,launches,algorithmic_flops,executed_flops,measured_flops,flops_ratio,"
      "predicted_bytes,measured_bytes,bound_s,expected_s,measured_s,confidence,why,runtime\n";
  for (const CompareRow& row : comparison.rows) {
    out +=
        fmt::format("row,{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", CsvField(row.node),
                    CsvField(row.op), row.kernel, CountText(row.measured.launches),
                    row.algorithmic.value(), row.executed.value(), Whole(row.measured_flops),
                    Real(row.flops_ratio), row.predicted_bytes.value(),
                    Whole(row.measured.dram_bytes), Time(row.bound), Time(row.expected),
                    Time(row.measured.time), row.measured.confidence, CsvField(row.why), runtime);
  }
  for (const UnmatchedKernel& kernel : comparison.unmatched_kernels) {
    out += fmt::format("unmatched_kernel,{},,,{},,,{},,,{},,,{},,{},{}\n", CsvField(kernel.name),
                       CountText(kernel.launches), Whole(kernel.vector_flops),
                       Whole(kernel.dram_bytes), Time(kernel.time), CsvField(kernel.why), runtime);
  }
  for (const UnmatchedNode& node : comparison.unmatched_nodes) {
    out += fmt::format("unmatched_node,{},{},{},,{},,,,,,{},,,,{},{}\n", CsvField(node.node),
                       CsvField(node.op), node.kernel, node.algorithmic.value(), Time(node.bound),
                       CsvField(node.why), runtime);
  }
  return out;
}

}  // namespace dlcost
