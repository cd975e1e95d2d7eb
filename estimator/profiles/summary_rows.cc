#include "estimator/profiles/summary_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

constexpr std::array<std::string_view, 6> kSure = {"total",    "totals",  "grand total",
                                                   "subtotal", "average", "averages"};
constexpr std::array<std::string_view, 11> kMaybe = {
    "sum", "mean", "avg", "min", "max", "minimum", "maximum", "median", "std", "stddev", "geomean"};

std::string Label(std::string_view text) {
  text = Trim(text);
  if (text.ends_with(':')) text.remove_suffix(1);
  return Lower(Trim(text));
}

bool IsSure(std::string_view text) {
  return std::find(kSure.begin(), kSure.end(), Label(text)) != kSure.end();
}
bool IsMaybe(std::string_view text) {
  return std::find(kMaybe.begin(), kMaybe.end(), Label(text)) != kMaybe.end();
}

std::string_view FirstField(const CsvRow& row) {
  for (const std::string& field : row.fields) {
    if (!Trim(field).empty()) return field;
  }
  return {};
}

// What a row tells of itself: its time, or else its first counter.
std::optional<double> ValueOf(const MeasuredKernel& row) {
  if (row.duration) return row.duration->value();
  if (!row.counters.empty()) return row.counters.front().value;
  return std::nullopt;
}

// Whether a row's value is the sum or the mean of the first `above` rows, as far as tables round.
// Fewer than three rows add up to a third by chance.
bool Summarizes(const MeasuredKernel& row, const std::vector<MeasuredKernel>& rows,
                std::size_t above) {
  const auto value = ValueOf(row);
  if (!value || above < 3) return false;
  double total = 0, sum = 0;  // over launches, over rows
  std::int64_t launches = 0;
  for (std::size_t r = 0; r < above; ++r) {
    const auto part = ValueOf(rows[r]);
    if (!part || rows[r].kind != row.kind) return false;
    total += *part * static_cast<double>(rows[r].launches);
    launches += rows[r].launches;
    sum += *part;
  }
  const double whole = *value * static_cast<double>(row.launches);
  const auto close = [](double a, double b) { return std::abs(a - b) <= 1e-3 * std::abs(b); };
  return close(whole, total) || close(*value, total) || close(*value, sum) ||
         close(*value, total / static_cast<double>(launches)) ||
         close(*value, sum / static_cast<double>(above));
}

}  // namespace

bool IsSummaryRow(const CsvRow& row) { return IsSure(FirstField(row)) || IsMaybe(FirstField(row)); }

bool IsSureSummaryRow(const CsvRow& row) { return IsSure(FirstField(row)); }

void DropSummaryRows(Measurement& measurement) {
  auto& rows = measurement.kernels;
  std::size_t first = rows.size();
  while (first > 0 && (IsSure(rows[first - 1].name) || IsMaybe(rows[first - 1].name))) --first;
  // What stands below a row that is a summary is one too.
  for (; first < rows.size(); ++first) {
    if (IsSure(rows[first].name) || Summarizes(rows[first], rows, first)) break;
  }
  NoteSummaryRows(measurement, static_cast<std::int64_t>(rows.size() - first));
  rows.resize(first);
}

void NoteSummaryRows(Measurement& measurement, std::int64_t rows) {
  if (rows == 0) return;
  measurement.notes.push_back(
      fmt::format("{} summary row{} under the table left out", rows, rows == 1 ? "" : "s"));
}

}  // namespace dlcost
