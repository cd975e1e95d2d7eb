#include <string>

#include "estimator/core/error.h"
#include "estimator/profiles/columns.h"
#include "estimator/profiles/readers.h"
#include "estimator/profiles/summary_rows.h"
#include "estimator/profiles/text.h"

// VTune: `vtune -report hotspots|hw-events -format csv`. One row per function (or module, task,
// with -group-by package a processor with its uncore events, ...), sums over the whole run; the
// delimiter is the user's choice (-csv-delimiter).
namespace dlcost {
namespace {

// The header: a grouping in front, then times or event counts.
bool IsHeaderLine(std::string_view line) {
  const bool grouped = line.starts_with("Function") || line.starts_with("Source Function") ||
                       line.starts_with("Module") || line.starts_with("Task") ||
                       line.starts_with("Thread") || line.starts_with("\"Function") ||
                       line.starts_with("Computing Task") || line.starts_with("Package") ||
                       line.starts_with("\"Package");
  return grouped && (Contains(line, "CPU Time") || Contains(line, "Event Count:") ||
                     Contains(line, "Total Time"));
}

std::string_view HeaderLine(std::string_view head) {
  while (!head.empty()) {
    const std::string_view line = TakeUntil(head, '\n');
    if (IsHeaderLine(line)) return line;
  }
  return {};
}

}  // namespace

bool IsVTune(std::string_view head) { return !HeaderLine(head).empty(); }

void ReadVTune(Input& input, Measurement& measurement) {
  CsvReader csv(input, GuessDelimiter(HeaderLine(input.Head())));
  measurement.sampled = true;
  CsvRow row;
  Columns columns;
  std::int64_t summaries = 0;
  while (csv.Next(row)) {
    if (columns.size() == 0) {
      // "vtune: Executing actions ..." stands before the header.
      if (row.fields.size() > 1 && IsHeaderLine(row.fields[0] + ",CPU Time"))
        columns = Columns(row.fields);
      continue;
    }
    if (IsSureSummaryRow(row)) {
      ++summaries;
      continue;
    }
    csv.Expect(row, columns.size());
    MeasuredKernel kernel;
    kernel.line = row.line;
    kernel.name = row.fields[0];
    kernel.scope = {columns.Text(row, {"module"})};
    if (columns.Has({"cpu time", "cpu time:self", "total time"})) {
      kernel.duration =
          Seconds(RequiredNumber(csv, columns, row, {"cpu time", "cpu time:self", "total time"}));
    }
    CounterSet counters;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!Contains(columns.written(i), "Event Count:")) continue;
      if (const auto value = columns.NumberAt(row, i)) {
        AddCounter(counters, measurement, columns.written(i), *value);
      }
    }
    kernel.counters = counters.Normalize();
    measurement.Add(std::move(kernel));
  }
  NoteSummaryRows(measurement, summaries);
}

}  // namespace dlcost
