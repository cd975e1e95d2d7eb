#include <algorithm>
#include <array>
#include <string>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/profiles/columns.h"
#include "estimator/profiles/nvprof_metrics.h"
#include "estimator/profiles/nvprof_text.h"
#include "estimator/profiles/readers.h"
#include "estimator/profiles/summary_rows.h"
#include "estimator/profiles/text.h"

// nvprof prints a banner ("==1234== Profiling result:"), a header, for times a row of units, and
// the rows; then perhaps the next table, or the same of another process. Without --csv the same
// tables are aligned with blanks (nvprof_text.h).
namespace dlcost {
namespace {

enum class Table { kNone, kSummary, kTrace, kMetrics, kMetricTrace, kMigration };

Table TableOf(const Columns& columns) {
  if (columns.Has({"metric name"}) && columns.Has({"kernel"})) return Table::kMetrics;
  if (columns.Has({"event name"}) && columns.Has({"kernel"})) return Table::kMetrics;
  if (columns.Has({"kernel"}) && columns.Has({"correlation_id", "stream"})) {
    return Table::kMetricTrace;
  }
  if (columns.Has({"count"}) && columns.Has({"total size"}) && columns.Has({"name"})) {
    return Table::kMigration;
  }
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
  NvprofReader(RowReader& rows, Measurement& measurement)
      : csv_(rows), out_(measurement), metrics_(measurement) {}

  void Read() {
    CsvRow row;
    while (csv_.Next(row)) {
      if (row.banner) {
        ReadBanner(row.fields[0]);
      } else if (!StartsTable(row)) {
        ReadRow(row);
      }
    }
    metrics_.Finish();
    NoteSummaryRows(out_, summaries_);
    if (untimed_ > 0) {
      out_.notes.push_back(fmt::format("{} row{} of unified memory without a duration in the file",
                                       untimed_, untimed_ == 1 ? "" : "s"));
    }
  }

 private:
  void ReadBanner(std::string_view line) {
    metrics_.Finish();
    table_ = Table::kNone;
    api_ = line.ends_with("API calls:");  // before CUDA 9 a table of its own
    line.remove_prefix(2);
    if (const auto process = ParseInteger(TakeUntil(line, '='))) process_ = process;
  }

  bool StartsTable(const CsvRow& row) {
    Columns columns(row.fields);
    const Table table = TableOf(columns);
    if (table != Table::kNone) {
      metrics_.Finish();
      table_ = table;
      metrics_.SetEvents(columns.Has({"event name"}));
      columns_ = std::move(columns);
      units_due_ = table == Table::kSummary || table == Table::kTrace || table == Table::kMigration;
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
    if (IsSummaryRow(row)) {
      ++summaries_;
      return;
    }
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
      case Table::kMigration:
        return ReadMigration(row);
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
    for (std::string* const text : {&kernel.device, &kernel.stream}) {
      if (*text == "-") text->clear();  // how the text log says that there is none
    }
    name = Trim(name);
    if (name.ends_with(']') && Contains(name, " [")) {
      const std::size_t open = name.rfind(" [");
      if (const auto id = ParseInteger(name.substr(open + 2, name.size() - open - 3))) {
        kernel.correlation = id;
        name = name.substr(0, open);
      }
    }
    kernel.name = name;
    if (name.starts_with("[CUDA mem") || name.starts_with("[Unified Memory")) {
      kernel.kind = MeasuredKind::kCopy;
    }
    return kernel;
  }

  void ReadSummary(const CsvRow& row) {
    MeasuredKernel kernel = Kernel(row, columns_.Text(row, {"name"}));
    kernel.launches = Launches(row, "calls");
    kernel.duration = Seconds(RequiredNumber(csv_, columns_, row, {"avg"}));
    // "API calls", "OpenACC (excl)"; before CUDA 9 there was no type.
    const std::string& type = columns_.Text(row, {"type"});
    if (api_ || (!type.empty() && type != "GPU activities")) kernel.kind = MeasuredKind::kApi;
    out_.Add(std::move(kernel));
  }

  // Pages that moved, one row per direction and kind of fault.
  void ReadMigration(const CsvRow& row) {
    if (traced_migration_) return;  // sums of what the trace has row by row
    MeasuredKernel kernel =
        Kernel(row, fmt::format("[Unified Memory {}]", Trim(columns_.Text(row, {"name"}))));
    kernel.launches = Launches(row, "count");
    if (const auto time = columns_.Number(row, {"total time"})) {
      kernel.duration = Seconds(*time / static_cast<double>(kernel.launches));
    }
    out_.Add(std::move(kernel));
  }

  void ReadTrace(const CsvRow& row) {
    MeasuredKernel kernel = Kernel(row, columns_.Text(row, {"name"}));
    kernel.start = Seconds(RequiredNumber(csv_, columns_, row, {"start"}));
    // Page faults on the host have no duration.
    const std::string_view duration = Trim(columns_.Text(row, {"duration"}));
    traced_migration_ = traced_migration_ || kernel.name.starts_with("[Unified Memory");
    if (kernel.kind == MeasuredKind::kCopy && (duration.empty() || duration == "-")) {
      ++untimed_;
    } else {
      kernel.duration = Seconds(RequiredNumber(csv_, columns_, row, {"duration"}));
    }
    if (!columns_.Has({"device"})) kernel.kind = MeasuredKind::kApi;
    if (const auto id = ParseInteger(columns_.Text(row, {"correlation_id"}))) {
      kernel.correlation = id;
    }
    if (columns_.Has({"grid size"})) {
      kernel.grid = TextTriple(columns_.Text(row, {"grid size"}));
      kernel.block = TextTriple(columns_.Text(row, {"block size"}));
    } else if (const auto x = columns_.Number(row, {"grid x"})) {
      kernel.grid = Triple(row, *x, "grid y", "grid z");
      kernel.block =
          Triple(row, columns_.Number(row, {"block x"}).value_or(1), "block y", "block z");
    }
    out_.Add(std::move(kernel));
  }

  // "(20 10 1)"; nothing for "-".
  static std::optional<std::array<std::int64_t, 3>> TextTriple(std::string_view text) {
    text = Trim(text);
    if (!text.starts_with('(') || !text.ends_with(')')) return std::nullopt;
    text = text.substr(1, text.size() - 2);
    std::array<std::int64_t, 3> triple{};
    for (std::int64_t& value : triple) {
      const auto number = ParseInteger(TakeUntil(text, ' '));
      if (!number || *number < 0) return std::nullopt;
      value = *number;
    }
    return triple;
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
    CounterSet& counters = metrics_.Of(std::move(kernel), metric);
    if (const auto value = columns_.Number(row, {"avg"}, /*binary_units=*/true)) {
      AddCounter(counters, out_, metric, *value);
    } else if (FindCounterRule(metric)) {
      RequiredNumber(csv_, columns_, row, {"avg"});  // throws with the place
    }
  }

  // One row per launch, one column per metric.
  void ReadMetricTrace(const CsvRow& row) {
    MeasuredKernel kernel = Kernel(row, columns_.Text(row, {"kernel"}));
    if (const auto id = ParseInteger(columns_.Text(row, {"correlation_id"})))
      kernel.correlation = id;
    CounterSet counters;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      static constexpr std::array<std::string_view, 6> kFacts = {
          "device", "context", "stream", "kernel", "correlation_id", "invocations"};
      if (std::find(kFacts.begin(), kFacts.end(), columns_.name(i)) != kFacts.end()) continue;
      if (const auto value = columns_.NumberAt(row, i, true))
        AddCounter(counters, out_, columns_.written(i), *value);
    }
    kernel.counters = counters.Normalize();
    out_.Add(std::move(kernel));
  }

  RowReader& csv_;
  Measurement& out_;
  Table table_ = Table::kNone;
  Columns columns_;
  bool units_due_ = false, api_ = false, traced_migration_ = false;
  std::int64_t untimed_ = 0, summaries_ = 0;
  std::optional<std::int64_t> process_;
  NvprofMetrics metrics_;
};

}  // namespace

bool IsNvprofText(std::string_view head) {
  return HasLineWith(head, {"==", "==", "Profil"}) && HasNvprofTextTable(head);
}

void ReadNvprofText(Input& input, Measurement& measurement) {
  NvprofTextReader rows(input);
  NvprofReader(rows, measurement).Read();
}

bool IsNvprof(std::string_view head) {
  return HasLineWith(head, {"==", "NVPROF"}) ||
         HasLineWith(head, {"Kernel", "Metric Name", "Metric Description"}) ||
         HasLineWith(head, {"Kernel", "Invocations", "Event Name"}) ||
         HasLineWith(head, {"Start", "Duration", "Grid X", "Name"}) ||
         HasLineWith(head, {"Time(%)", "Calls", "Avg", "Name"});
}

void ReadNvprof(Input& input, Measurement& measurement) {
  CsvReader rows(input);
  NvprofReader(rows, measurement).Read();
}

}  // namespace dlcost
