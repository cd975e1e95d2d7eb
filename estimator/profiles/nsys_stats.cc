#include <fmt/ranges.h>

#include <map>
#include <string>

#include "estimator/core/error.h"
#include "estimator/profiles/columns.h"
#include "estimator/profiles/readers.h"
#include "estimator/profiles/summary_rows.h"
#include "estimator/profiles/text.h"

// `nsys stats --format csv`: reports of kernels, copies, API calls and NVTX ranges. 2020 named the
// columns "Average" and "Time(%)" and the reports gpukernsum and cudaapisum; since 2022 they are
// "Avg (ns)", "Time (%)", cuda_gpu_kern_sum. --timeunit changes the unit in the names. Several
// reports may follow each other in a file, each behind a line with its name.
namespace dlcost {
namespace {

bool IsStatisticsHeader(const Columns& columns) {
  const bool named = columns.Has({"name", "range", "operation", "kernel name", "kernel"});
  // Tables of sizes (cuda_gpu_mem_size_sum) have sums of bytes under the same names.
  if (const auto total = columns.Find({"total"})) {
    const auto unit = ParseUnit(columns.unit(*total));
    if (!unit || unit->dimension != CounterDimension::kSeconds) return false;
  }
  return named && (columns.Has({"total time", "duration", "dur", "total"}) ||
                   columns.Has({"kernel dur", "kduration"}));
}

MeasuredKind KindOf(const Columns& columns, const std::string& name) {
  if (columns.Has({"operation"}) || name.starts_with("[CUDA mem")) return MeasuredKind::kCopy;
  if (columns.Has({"range", "style"})) {
    return columns.Has({"kernel name"}) ? MeasuredKind::kKernel : MeasuredKind::kOp;
  }
  if (columns.Has({"num calls"})) return MeasuredKind::kApi;
  return MeasuredKind::kKernel;
}

MeasuredKernel ReadRow(const CsvReader& csv, const Columns& columns, const CsvRow& row) {
  MeasuredKernel kernel;
  kernel.line = row.line;
  kernel.name = columns.Text(row, {"kernel name", "name", "range", "operation", "kernel"});
  kernel.kind = KindOf(columns, kernel.name);
  kernel.device = columns.Text(row, {"device", "device id"});
  kernel.stream = columns.Text(row, {"strm", "stream"});
  // Kernel tables with a range beside the kernel (nvtx_kern_sum) say what launched it.
  if (columns.Has({"kernel name"})) kernel.op = columns.Text(row, {"nvtx range", "range"});
  while (kernel.op.starts_with(':')) kernel.op.erase(0, 1);
  if (columns.Has({"instances", "num calls", "kern inst", "count", "calls"})) {
    const auto launches =
        ParseInteger(columns.Text(row, {"kern inst", "instances", "num calls", "count", "calls"}));
    if (!launches || *launches <= 0) {
      throw Error("{}: the number of launches is not a positive number", csv.Where(row));
    }
    kernel.launches = *launches;
    kernel.duration = Seconds(RequiredNumber(csv, columns, row, {"total time", "total"}) /
                              static_cast<double>(*launches));
    return kernel;
  }
  kernel.duration =
      Seconds(RequiredNumber(csv, columns, row, {"duration", "kernel dur", "kduration", "dur"}));
  if (const auto start = columns.Number(row, {"start", "kernel start", "kstart"})) {
    kernel.start = Seconds(*start);
  }
  kernel.correlation = ParseInteger(columns.Text(row, {"corrid", "correlation id"}));
  const auto size = [&](std::string_view column) {
    return ParseInteger(columns.Text(row, {column}));
  };
  if (const auto x = size("grdx"))
    kernel.grid = {*x, size("grdy").value_or(1), size("grdz").value_or(1)};
  if (const auto x = size("blkx"))
    kernel.block = {*x, size("blky").value_or(1), size("blkz").value_or(1)};
  return kernel;
}

// Old versions wrote all times in nanoseconds without saying so.
void AssumeNanoseconds(Columns& columns) {
  std::vector<std::string> units;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string& name = columns.name(i);
    const bool time =
        name == "total time" || name == "duration" || name == "start" || name == "average";
    units.push_back(time && columns.unit(i).empty() ? "ns" : columns.unit(i));
  }
  columns.SetUnits(units);
}

}  // namespace

bool IsNsysStats(std::string_view head) {
  while (!head.empty()) {
    const std::string_view line = TakeUntil(head, '\n');
    const bool time = Contains(line, "Time(%)") || Contains(line, "Time (%)");
    if (time &&
        (Contains(line, "Name") || Contains(line, "Range") || Contains(line, "Operation"))) {
      return true;
    }
    if (Contains(line, "CorrId") && Contains(line, "Name")) return true;
    if (Contains(line, "NVTX Range") && Contains(line, "Kernel Name")) return true;
    if (Contains(line, "Start") && Contains(line, "Duration") && Contains(line, "Level"))
      return true;
  }
  return false;
}

void ReadNsysStats(Input& input, Measurement& measurement) {
  CsvReader csv(input);
  CsvRow row;
  Columns columns;
  std::string table;  // its header
  // Reports of one file tell the same kernels again (a trace, its sums, sums by range): of each
  // kind of rows, the table that tells it first counts. Several processes have tables of one
  // header.
  std::map<MeasuredKind, std::string> first;
  std::int64_t summaries = 0, repeated = 0;
  while (csv.Next(row)) {
    if (row.banner) continue;
    Columns header(row.fields);
    if (IsStatisticsHeader(header)) {
      columns = std::move(header);
      AssumeNanoseconds(columns);
      table = fmt::format("{}", fmt::join(row.fields, ","));
    } else if (columns.size() > 0) {
      // A report's name, or a message such as "SKIPPED: ... does not contain ...", or the header of
      // a table that is not read, ends the table.
      if (row.fields.size() == 1 || header.Has({"name", "operation"})) {
        columns = Columns();
        continue;
      }
      if (IsSummaryRow(row)) {
        ++summaries;
        continue;
      }
      csv.Expect(row, columns.size());
      MeasuredKernel kernel = ReadRow(csv, columns, row);
      if (first.emplace(kernel.kind, table).first->second == table) {
        measurement.Add(std::move(kernel));
      } else {
        ++repeated;
      }
    }
  }
  NoteSummaryRows(measurement, summaries);
  if (repeated > 0) {
    measurement.notes.push_back(fmt::format("{} row{} of further reports on the same left out",
                                            repeated, repeated == 1 ? "" : "s"));
  }
}

}  // namespace dlcost
