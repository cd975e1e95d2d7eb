#include <set>
#include <string>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/profiles/columns.h"
#include "estimator/profiles/readers.h"
#include "estimator/profiles/text.h"

// nvprof prints a banner ("==1234== Profiling result:"), a header, for times a row of units, and
// the rows; then perhaps the next table, or the same of another process.
namespace dlcost {
namespace {

enum class Table { kNone, kSummary, kTrace, kMetrics, kMetricTrace };

Table TableOf(const Columns& columns) {
  if (columns.Has({"metric name"}) && columns.Has({"kernel"})) return Table::kMetrics;
  if (columns.Has({"event name"}) && columns.Has({"kernel"})) return Table::kMetrics;
  if (columns.Has({"kernel"}) && columns.Has({"correlation_id"})) return Table::kMetricTrace;
  if (columns.Has({"calls"}) && columns.Has({"avg"}) && columns.Has({"name"}))
    return Table::kSummary;
  if (columns.Has({"start"}) && columns.Has({"duration"}) && columns.Has({"name"})) {
    return Table::kTrace;
  }
  return Table::kNone;
}

bool IsUnitRow(const CsvRow& row) {
  bool any = false;
  for (const std::string& field : row.fields) {
    if (field.empty()) continue;
    if (!ParseUnit(field)) return false;
    any = true;
  }
  return any;
}

class NvprofReader {
 public:
  NvprofReader(Input& input, Measurement& measurement) : csv_(input), out_(measurement) {}

  void Read() {
    CsvRow row;
    while (csv_.Next(row)) {
      if (row.banner) {
        ReadBanner(row.fields[0]);
      } else if (!StartsTable(row)) {
        ReadRow(row);
      }
    }
    FinishKernel();
  }

 private:
  void ReadBanner(std::string_view line) {
    FinishKernel();
    table_ = Table::kNone;
    line.remove_prefix(2);
    if (const auto process = ParseInteger(TakeUntil(line, '='))) process_ = process;
  }

  bool StartsTable(const CsvRow& row) {
    Columns columns(row.fields);
    const Table table = TableOf(columns);
    if (table != Table::kNone) {
      FinishKernel();
      table_ = table;
      columns_ = std::move(columns);
      units_due_ = table == Table::kSummary || table == Table::kTrace;
      return true;
    }
    if (units_due_ && IsUnitRow(row)) {
      columns_.SetUnits(row.fields);
      units_due_ = false;
      return true;
    }
    units_due_ = false;
    return false;
  }

  void ReadRow(const CsvRow& row) {
    if (table_ == Table::kNone) return;  // what the program itself printed
    csv_.Expect(row, columns_.size());
    switch (table_) {
      case Table::kSummary:
        return ReadSummary(row);
      case Table::kTrace:
        return ReadTrace(row);
      case Table::kMetrics:
        return ReadMetric(row);
      case Table::kMetricTrace:
        return ReadMetricTrace(row);
      case Table::kNone:
        return;
    }
  }

  MeasuredKernel Kernel(const CsvRow& row, std::string_view name) {
    MeasuredKernel kernel;
    kernel.line = row.line;
    kernel.process = process_;
    kernel.device = columns_.Text(row, {"device"});
    kernel.stream = columns_.Text(row, {"stream"});
    name = Trim(name);
    if (name.ends_with(']') && Contains(name, " [")) {
      const std::size_t open = name.rfind(" [");
      if (const auto id = ParseInteger(name.substr(open + 2, name.size() - open - 3))) {
        kernel.correlation = id;
        name = name.substr(0, open);
      }
    }
    kernel.name = name;
    if (name.starts_with("[CUDA mem")) kernel.kind = MeasuredKind::kCopy;
    return kernel;
  }

  void ReadSummary(const CsvRow& row) {
    MeasuredKernel kernel = Kernel(row, columns_.Text(row, {"name"}));
    kernel.launches = Launches(row, "calls");
    kernel.duration = Seconds(RequiredNumber(csv_, columns_, row, {"avg"}));
    if (columns_.Text(row, {"type"}) == "API calls") kernel.kind = MeasuredKind::kApi;
    out_.Add(std::move(kernel));
  }

  void ReadTrace(const CsvRow& row) {
    MeasuredKernel kernel = Kernel(row, columns_.Text(row, {"name"}));
    kernel.start = Seconds(RequiredNumber(csv_, columns_, row, {"start"}));
    kernel.duration = Seconds(RequiredNumber(csv_, columns_, row, {"duration"}));
    if (!columns_.Has({"device"})) kernel.kind = MeasuredKind::kApi;
    if (const auto x = columns_.Number(row, {"grid x"})) {
      kernel.grid = Triple(row, *x, "grid y", "grid z");
      kernel.block =
          Triple(row, columns_.Number(row, {"block x"}).value_or(1), "block y", "block z");
    }
    out_.Add(std::move(kernel));
  }

  std::array<std::int64_t, 3> Triple(const CsvRow& row, double x, std::string_view y,
                                     std::string_view z) {
    const auto whole = [](double value) { return value >= 0 ? TryTruncate(value).value_or(0) : 0; };
    return {whole(x), whole(columns_.Number(row, {y}).value_or(1)),
            whole(columns_.Number(row, {z}).value_or(1))};
  }

  std::int64_t Launches(const CsvRow& row, std::string_view column) {
    const auto count = ParseInteger(columns_.Text(row, {column}));
    if (!count || *count <= 0) {
      throw Error("{}: '{}' in column '{}' is not a number of launches", csv_.Where(row),
                  Printable(columns_.Text(row, {column}), 40), column);
    }
    return *count;
  }

  // One row per metric; the rows of a kernel follow each other.
  void ReadMetric(const CsvRow& row) {
    const std::string& metric = columns_.Text(row, {"metric name", "event name"});
    MeasuredKernel kernel = Kernel(row, columns_.Text(row, {"kernel"}));
    kernel.launches = Launches(row, "invocations");
    const bool same = open_ && kernel.name == kernel_.name && kernel.device == kernel_.device &&
                      kernel.launches == kernel_.launches && !seen_.contains(metric);
    if (!same) {
      FinishKernel();
      kernel_ = std::move(kernel);
      open_ = true;
    }
    seen_.insert(metric);
    if (const auto value = columns_.Number(row, {"avg"}, /*binary_units=*/true)) {
      counters_.Add(metric, *value);
    } else if (FindCounterRule(metric)) {
      RequiredNumber(csv_, columns_, row, {"avg"});  // throws with the place
    }
  }

  void FinishKernel() {
    if (open_) {
      kernel_.counters = counters_.Normalize();
      out_.Add(std::move(kernel_));
    }
    open_ = false;
    counters_ = CounterSet();
    seen_.clear();
  }

  // One row per launch, one column per metric.
  void ReadMetricTrace(const CsvRow& row) {
    MeasuredKernel kernel = Kernel(row, columns_.Text(row, {"kernel"}));
    if (const auto id = ParseInteger(columns_.Text(row, {"correlation_id"})))
      kernel.correlation = id;
    CounterSet counters;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (const auto value = columns_.NumberAt(row, i, true))
        counters.Add(columns_.written(i), *value);
    }
    kernel.counters = counters.Normalize();
    out_.Add(std::move(kernel));
  }

  CsvReader csv_;
  Measurement& out_;
  Table table_ = Table::kNone;
  Columns columns_;
  bool units_due_ = false;
  std::optional<std::int64_t> process_;
  MeasuredKernel kernel_;  // whose metrics are being collected
  bool open_ = false;
  CounterSet counters_;
  std::set<std::string> seen_;
};

}  // namespace

bool IsNvprof(std::string_view head) {
  return HasLineWith(head, {"==", "NVPROF"}) ||
         HasLineWith(head, {"Kernel", "Metric Name", "Metric Description"}) ||
         HasLineWith(head, {"Kernel", "Invocations", "Event Name"}) ||
         HasLineWith(head, {"Start", "Duration", "Grid X", "Name"}) ||
         HasLineWith(head, {"Time(%)", "Calls", "Avg", "Name"});
}

void ReadNvprof(Input& input, Measurement& measurement) { NvprofReader(input, measurement).Read(); }

}  // namespace dlcost
