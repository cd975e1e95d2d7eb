#include <string>
#include <tuple>

#include "estimator/core/error.h"
#include "estimator/profiles/columns.h"
#include "estimator/profiles/readers.h"
#include "estimator/profiles/summary_rows.h"
#include "estimator/profiles/text.h"

// Nsight Compute --csv. The details page and the long format have one row per metric ("Metric
// Name", "Metric Unit", "Metric Value"); the raw page one row per kernel, a column per metric and a
// row of units. The program's own output stands before, between and after.
namespace dlcost {
namespace {

// "(256, 1, 1)"
std::optional<std::array<std::int64_t, 3>> ParseLaunchTriple(std::string_view text) {
  text = Trim(text);
  if (!text.starts_with('(') || !text.ends_with(')')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::array<std::int64_t, 3> triple{};
  for (std::int64_t& value : triple) {
    const auto number = ParseInteger(TakeUntil(text, ','));
    if (!number) return std::nullopt;
    value = *number;
  }
  return triple;
}

// Whether a column of the raw page holds a counter: their names have two underscores. Those of the
// device and of the launch were no counters, but known before the kernel ran.
bool IsCounter(std::string_view column) {
  if (FindCounterRule(column)) return true;
  for (const std::string_view fact :
       {"device__attribute_", "launch__", "numa__", "profiler__", "nvlink__", "c2clink__"}) {
    if (column.starts_with(fact)) return false;
  }
  return Contains(column, "__");
}

class NcuReader {
 public:
  NcuReader(Input& input, Measurement& measurement) : csv_(input), out_(measurement) {}

  void Read() {
    CsvRow row;
    while (csv_.Next(row)) {
      if (row.banner) continue;
      if (IsHeader(row)) {
        columns_ = Columns(row.fields);
        units_due_ = !Long();
      } else if (columns_.size() > 0) {
        ReadRow(row);
      }
    }
    Finish();
    NoteSummaryRows(out_, summaries_);
  }

 private:
  static bool IsHeader(const CsvRow& row) {
    const Columns columns(row.fields);
    return columns.Has({"id"}) && columns.Has({"kernel name"});
  }
  bool Long() const { return columns_.Has({"metric name"}); }

  void ReadRow(const CsvRow& row) {
    const bool id = !row.fields[0].empty() && ParseInteger(row.fields[0]).has_value();
    if (units_due_ && !id && row.fields.size() == columns_.size()) {
      columns_.SetUnits(row.fields);
      units_due_ = false;
      return;
    }
    if (!id) {
      if (IsSummaryRow(row)) {
        ++summaries_;
        return;
      }
      // Text without an ID in front is the program's own output.
      if (row.fields.size() == columns_.size()) {
        throw Error("{}: '{}' is not a kernel's ID", csv_.Where(row), Printable(row.fields[0], 40));
      }
      return;
    }
    csv_.Expect(row, columns_.size());
    Start(row);
    if (Long()) {
      ReadMetric(row);
    } else {
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (!IsCounter(columns_.written(i))) continue;
        if (const auto value = columns_.NumberAt(row, i))
          AddCounter(counters_, out_, columns_.written(i), *value);
      }
    }
  }

  void Start(const CsvRow& row) {
    auto key = std::tuple(columns_.Text(row, {"process id"}), columns_.Text(row, {"device"}),
                          columns_.Text(row, {"id"}));
    if (open_ && key == key_) return;
    Finish();
    open_ = true;
    key_ = std::move(key);
    kernel_ = MeasuredKernel();
    kernel_.line = row.line;
    kernel_.name = columns_.Text(row, {"kernel name"});
    kernel_.device = columns_.Text(row, {"device"});
    kernel_.stream = columns_.Text(row, {"stream"});
    kernel_.process = ParseInteger(columns_.Text(row, {"process id"}));
    kernel_.grid = ParseLaunchTriple(columns_.Text(row, {"grid size"}));
    kernel_.block = ParseLaunchTriple(columns_.Text(row, {"block size"}));
    // "--print-nvtx-rename kernel" and the NVTX columns carry the range that launched the kernel.
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_.name(i).starts_with("thread domain:push/pop_range") && !row.fields[i].empty()) {
        // "DOMAIN:NAME:payload type:..."
        std::string_view range = row.fields[i];
        TakeUntil(range, ':');
        kernel_.op = Trim(TakeUntil(range, ':'));
      }
    }
  }

  void ReadMetric(const CsvRow& row) {
    std::string metric = columns_.Text(row, {"metric name"});
    const std::string& unit = columns_.Text(row, {"metric unit"});
    const auto scale = ParseUnit(unit);
    // Two metrics of the details page share this name: a share of peak and a rate.
    if (metric == "Memory Throughput" && scale) {
      metric += scale->dimension == CounterDimension::kFraction ? " [%]" : " [byte/s]";
    }
    const auto number = ParseNumber(columns_.Text(row, {"metric value"}));
    if (!FindCounterRule(metric)) {
      // Rules of the details page have no metric at all.
      if (number && columns_.Text(row, {"section name"}) != "Launch Statistics")
        out_.AddUnknownCounter(metric);
      return;
    }
    if (!number) {
      // "n/a" is how Nsight Compute says that a GPU has no such counter.
      if (columns_.Text(row, {"metric value"}) == "n/a") return;
      RequiredNumber(csv_, columns_, row, {"metric value"});
    }
    if (!scale) {
      throw Error("{}: unknown unit '{}' of {}", csv_.Where(row), Printable(unit, 40), metric);
    }
    counters_.Add(metric, number->value * scale->scale);
  }

  void Finish() {
    if (!open_) return;
    open_ = false;
    kernel_.counters = counters_.Normalize();
    if (const Counter* duration = kernel_.Find(Metric::kDuration)) {
      kernel_.duration = Seconds(duration->value);
    }
    counters_ = CounterSet();
    out_.Add(std::move(kernel_));
  }

  CsvReader csv_;
  Measurement& out_;
  Columns columns_;
  bool units_due_ = false, open_ = false;
  std::int64_t summaries_ = 0;
  std::tuple<std::string, std::string, std::string> key_;
  MeasuredKernel kernel_;
  CounterSet counters_;
};

}  // namespace

bool IsNcu(std::string_view head) { return HasLineWith(head, {"ID", "Kernel Name", "Process ID"}); }

void ReadNcu(Input& input, Measurement& measurement) { NcuReader(input, measurement).Read(); }

}  // namespace dlcost
