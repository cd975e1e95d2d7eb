#include "estimator/profiles/nvprof_text.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/profiles/number.h"
#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

// Cells that stand two or more blanks apart, at most `most`: the last one takes the rest, since it
// is a name, which may hold anything.
std::vector<std::string> Cells(std::string_view line, std::size_t most) {
  std::vector<std::string> cells;
  line = Trim(line);
  while (!line.empty()) {
    const std::size_t end = cells.size() + 1 < most ? line.find("  ") : std::string_view::npos;
    cells.emplace_back(Trim(line.substr(0, end)));
    if (end == std::string_view::npos) break;
    line = Trim(line.substr(end));
  }
  return cells;
}

constexpr std::size_t kMostCells = 4096;  // of a header: one per metric

bool Has(const std::vector<std::string>& cells, std::string_view name) {
  return std::find(cells.begin(), cells.end(), name) != cells.end();
}

bool IsNvprofHeader(const std::vector<std::string>& cells) {
  if (cells.size() < 3) return false;
  const std::string& first = cells.front();
  const bool named = cells.back() == "Name";
  return ((first == "Type" || first == "Time(%)") && named && Has(cells, "Calls")) ||
         (first == "Start" && named && Has(cells, "Duration")) ||
         (first == "Count" && named && Has(cells, "Total Time")) ||
         (first == "Invocations" && (Has(cells, "Metric Name") || Has(cells, "Event Name"))) ||
         (first == "Device" && Has(cells, "Kernel") && Has(cells, "Stream"));
}

// A row of a table begins with a number, with or without a unit, or with "-".
bool BeginsRow(std::string_view cell) { return cell == "-" || ParseNumber(cell).has_value(); }

}  // namespace

bool HasNvprofTextTable(std::string_view head) {
  while (!head.empty()) {
    const std::string_view line = TakeUntil(head, '\n');
    if (Contains(line, "\",\"") || line.starts_with("Time(%),")) return false;
    if (IsNvprofHeader(Cells(line.substr(0, 1 << 16), kMostCells))) return true;
  }
  return false;
}

// A header, handed over as that of the CSV table.
bool NvprofTextReader::StartsTable(const std::vector<std::string>& cells, CsvRow& row) {
  if (!IsNvprofHeader(cells)) return false;
  head_ = cells;
  type_.clear();
  by_kernel_ = head_.front() == "Invocations" || head_.front() == "Count";
  row.fields = head_;
  if (by_kernel_) row.fields.insert(row.fields.begin(), {"Device", "Kernel"});
  return true;
}

// `Device "Tesla P4 (0)"` and `    Kernel: void gemm(float*)` above the values of metrics.
bool NvprofTextReader::ReadsContext(std::string_view line) {
  line = Trim(line);
  if (line.starts_with("Device ")) {
    line = Trim(line.substr(7));
    if (line.size() > 1 && line.starts_with('"') && line.ends_with('"')) {
      line = line.substr(1, line.size() - 2);
    }
    device_ = line;
    kernel_.clear();
    return true;
  }
  if (!line.starts_with("Kernel: ")) return false;
  kernel_ = Trim(line.substr(8));
  return true;
}

bool NvprofTextReader::ReadsRow(std::string_view line, CsvRow& row) {
  const bool typed = head_.front() == "Type";
  const std::string_view text = Trim(line);
  std::size_t columns = head_.size();
  std::string_view values = text;
  if (typed) {
    // The type stands in the first row of its group only.
    for (const std::string_view type : {"GPU activities:", "API calls:", "OpenACC (excl):"}) {
      if (!text.starts_with(type)) continue;
      type_ = type.substr(0, type.size() - 1);
      values = Trim(text.substr(type.size()));
    }
    --columns;
  }
  std::vector<std::string> cells = Cells(values, columns);
  if (cells.empty() || (!BeginsRow(cells.front()) && head_.front() != "Device")) return false;
  if (cells.size() != columns) {
    // The program's own output may begin with a number too; a row that was cut off has most cells.
    if (cells.size() * 2 < columns) return false;
    throw Error("{}:{}: the row has {} columns, its header {}; the file looks cut off", name(),
                lines_.number(), cells.size(), columns);
  }
  if (typed) cells.insert(cells.begin(), type_);
  if (by_kernel_) cells.insert(cells.begin(), {device_, kernel_});
  row.fields = std::move(cells);
  return true;
}

bool NvprofTextReader::Next(CsvRow& row) {
  while (lines_.Next(line_)) {
    row = CsvRow{.fields = {}, .line = lines_.number(), .banner = false};
    const std::string_view line = Trim(line_);
    if (line.starts_with("==")) {
      head_.clear();
      device_.clear();
      kernel_.clear();
      row.fields = {std::string(line)};
      row.banner = true;
      return true;
    }
    if (line.empty()) {
      head_.clear();
      continue;
    }
    if (StartsTable(Cells(line, kMostCells), row)) return true;
    // The device stands above or below the header.
    if ((head_.empty() || by_kernel_) && ReadsContext(line)) continue;
    if (head_.empty()) continue;
    if (ReadsRow(line, row)) return true;
  }
  return false;
}

}  // namespace dlcost
