#include <algorithm>
#include <array>
#include <string>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/core/spelling.h"
#include "estimator/profiles/columns.h"
#include "estimator/profiles/readers.h"
#include "estimator/profiles/summary_rows.h"
#include "estimator/profiles/text.h"

// Any other table: a header, a column with names and columns of metrics (docs/measuring.md).
namespace dlcost {
namespace {

using Names = std::initializer_list<std::string_view>;
const Names kName = {"name", "kernel", "kernel name", "layer", "node", "op", "operator", "label"};
const Names kOp = {"node", "layer", "op", "operator", "label"};

struct TimeColumn {
  std::string_view name;
  double scale;
};
// Median before mean, self-describing names before bare ones.
constexpr TimeColumn kTimes[] = {
    {"median_us", 1e-6},   {"median_ms", 1e-3},   {"mean_us", 1e-6},
    {"mean_ms", 1e-3},     {"latency_us", 1e-6},  {"latency_ms", 1e-3},
    {"time_s", 1},         {"time_ms", 1e-3},     {"time_us", 1e-6},
    {"time_ns", 1e-9},     {"dur_us", 1e-6},      {"dur_ns", 1e-9},
    {"duration_s", 1},     {"duration_ms", 1e-3}, {"duration_us", 1e-6},
    {"duration_ns", 1e-9}, {"duration", 1},       {"time", 1}};

std::optional<TimeColumn> FindTime(const Columns& columns) {
  for (const TimeColumn& time : kTimes) {
    if (columns.Has({time.name})) return time;
  }
  return std::nullopt;
}

// Whether a column is read elsewhere, or is no counter.
bool IsPlainFact(std::string_view column) {
  for (const TimeColumn& time : kTimes) {
    if (column == time.name) return true;
  }
  static constexpr std::array<std::string_view, 18> kFacts = {
      "name",     "kernel", "kernel name", "layer", "node",     "op",
      "operator", "label",  "idx",         "type",  "op_type",  "device",
      "launches", "calls",  "count",       "ts_us", "start_us", "index"};
  return std::find(kFacts.begin(), kFacts.end(), column) != kFacts.end();
}

std::string_view FirstLine(std::string_view head) {
  while (!head.empty()) {
    const std::string_view line = Trim(TakeUntil(head, '\n'));
    if (!line.empty() && !line.starts_with('#')) return line;
  }
  return {};
}

// CUPTI's range profiler stamps each kernel with the duration of the range that it replayed. Equal
// times to the digit of unequal kernels are such a stamp, no measurement.
void DropRangeStamps(Measurement& measurement) {
  const auto& kernels = measurement.kernels;
  if (kernels.size() < 3 || !kernels[0].duration || !kernels[0].start) return;
  for (const MeasuredKernel& kernel : kernels) {
    if (!kernel.duration || *kernel.duration != *kernels[0].duration || kernel.counters.empty())
      return;
  }
  measurement.notes.push_back(
      fmt::format("every row has the same duration, {:.6g} s: that of a profiling range, not of a "
                  "kernel; dropped",
                  kernels[0].duration->value()));
  for (MeasuredKernel& kernel : measurement.kernels) kernel.duration.reset();
}

}  // namespace

bool IsPlainCsv(std::string_view head) {
  const std::string_view line = FirstLine(head);
  const char delimiter = GuessDelimiter(line);
  if (!Contains(line, std::string_view(&delimiter, 1))) return false;
  Input input = Input::FromMemory("", line);
  CsvReader csv(input, delimiter);
  CsvRow row;
  return csv.Next(row) && Columns(row.fields).Has(kName);
}

void ReadPlainCsv(Input& input, Measurement& measurement) {
  CsvReader csv(input, GuessDelimiter(FirstLine(input.Head())));
  CsvRow row;
  Columns columns;
  std::optional<TimeColumn> time;
  std::int64_t summaries = 0;
  while (csv.Next(row)) {
    if (row.banner || (!row.fields.empty() && row.fields[0].starts_with('#'))) continue;
    if (columns.size() == 0) {
      columns = Columns(row.fields);
      if (!columns.Has(kName)) {
        throw Error("{}: the header has no column 'name' (or kernel, node, layer, op)",
                    csv.Where(row));
      }
      time = FindTime(columns);
      continue;
    }
    if (IsSureSummaryRow(row)) {
      ++summaries;
      continue;
    }
    csv.Expect(row, columns.size());
    MeasuredKernel kernel;
    kernel.line = row.line;
    kernel.name = columns.Text(row, kName);
    kernel.op = columns.Text(row, kOp);
    kernel.op_type = columns.Text(row, {"op_type", "type"});
    kernel.device = columns.Text(row, {"device"});
    if (columns.Has({"launches", "calls", "count"})) {
      const double launches = RequiredNumber(csv, columns, row, {"launches", "calls", "count"});
      if (launches < 1 || launches > 1e15)
        throw Error("{}: launches must be 1 or more", csv.Where(row));
      kernel.launches = Truncate(launches);
    }
    if (time)
      kernel.duration = Seconds(RequiredNumber(csv, columns, row, {time->name}) * time->scale);
    if (const auto start = columns.Number(row, {"ts_us", "start_us"}))
      kernel.start = Seconds(*start * 1e-6);
    CounterSet counters;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (row.fields[i].empty()) continue;
      if (!FindCounterRule(columns.written(i))) {
        if (!IsPlainFact(columns.name(i)) && ParseNumber(row.fields[i])) {
          measurement.AddUnknownCounter(columns.written(i));
        }
        continue;
      }
      counters.Add(columns.written(i), RequiredNumber(csv, columns, row, {columns.name(i)}));
    }
    kernel.counters = counters.Normalize();
    measurement.Add(std::move(kernel));
  }
  NoteSummaryRows(measurement, summaries);
  DropRangeStamps(measurement);
}

}  // namespace dlcost
