#include "estimator/calibrate/latency_table.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>

#include "estimator/core/error.h"
#include "estimator/profiles/csv.h"
#include "estimator/profiles/input.h"

namespace dlcost {
namespace {

struct Format {
  LatencyKind kind;
  std::vector<std::string> columns;  // that tell it from the others
};

const std::vector<Format>& Formats() {
  static const std::vector<Format> formats = {
      {LatencyKind::kAttention, {"q_len", "kv_len", "heads", "kv_heads", "head_dim"}},
      {LatencyKind::kConv, {"n", "c", "h", "w", "k", "r", "s", "stride_h", "pad_h"}},
      {LatencyKind::kRecurrent, {"cell", "hidden", "timesteps"}},
      {LatencyKind::kStream, {"op", "rows", "cols"}},
      {LatencyKind::kGemm, {"m", "n", "k"}},
  };
  return formats;
}

std::optional<LatencyKind> KindOf(const std::set<std::string>& columns) {
  for (const char* needed : {"device", "dtype", "latency_us"}) {
    if (!columns.count(needed)) return std::nullopt;
  }
  for (const Format& format : Formats()) {
    bool all = true;
    for (const std::string& column : format.columns) all = all && columns.count(column) > 0;
    if (all) return format.kind;
  }
  return std::nullopt;
}

}  // namespace

const std::string& LatencyRow::Text(const std::string& column) const {
  const auto it = fields.find(column);
  if (it == fields.end()) throw Error("no column '{}'", column);
  return it->second;
}

double LatencyRow::Number(const std::string& column) const {
  const std::string& text = Text(column);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    throw Error("{}: '{}' is not a number", column, Printable(text, 40));
  }
  return value;
}

double LatencyRow::SizeOrZero(const std::string& column) const {
  const double value = Number(column);
  // Products of sizes stay exact enough: no tensor has a side of 2^40 elements.
  if (value < 0 || value > 1e12 || value != std::floor(value)) {
    throw Error("{}: {} is not a size", column, Printable(Text(column), 40));
  }
  return value;
}

double LatencyRow::Size(const std::string& column) const {
  const double value = SizeOrZero(column);
  if (value < 1) throw Error("{}: 0 is not a size", column);
  return value;
}

std::string LatencyTable::Where(const LatencyRow& row) const {
  return fmt::format("{}:{}", path, row.line);
}

LatencyTable ReadLatencyTable(const std::string& path) {
  Input input = Input::OpenFile(path);
  CsvReader reader(input);
  LatencyTable table;
  table.path = path;
  table.name = std::filesystem::path(path).stem().string();
  CsvRow header;
  if (!reader.Next(header)) throw Error("{}: the file is empty", path);
  const std::optional<LatencyKind> kind =
      KindOf(std::set<std::string>(header.fields.begin(), header.fields.end()));
  if (!kind) {
    throw Error(
        "{}: not a table of measured latencies: the first line must name the columns device, "
        "dtype, latency_us and those of a matrix product (m, n, k), an attention (q_len, kv_len, "
        "...), a convolution (n, c, h, w, k, r, s, ...), an elementwise kernel (op, rows, cols) or "
        "a recurrent layer (cell, hidden, timesteps)",
        path);
  }
  table.kind = *kind;
  CsvRow row;
  while (reader.Next(row)) {
    reader.Expect(row, header.fields.size());
    LatencyRow out;
    out.line = row.line;
    for (std::size_t i = 0; i < header.fields.size(); ++i) {
      out.fields[header.fields[i]] = row.fields[i];
    }
    table.rows.push_back(std::move(out));
  }
  return table;
}

}  // namespace dlcost
