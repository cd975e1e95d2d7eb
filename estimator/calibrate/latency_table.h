#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dlcost {

// What the rows of a table of measured latencies describe, told from its header.
enum class LatencyKind { kGemm, kAttention, kConv, kStream, kRecurrent };

// One measured operator, by column name. Numbers stay text until somebody asks for them.
struct LatencyRow {
  std::int64_t line = 0;  // of the file, from 1
  std::map<std::string, std::string> fields;

  // Errors name the column; LatencyTable::Where gives file and line.
  const std::string& Text(const std::string& column) const;
  double Number(const std::string& column) const;      // finite
  double Size(const std::string& column) const;        // a whole number from 1
  double SizeOrZero(const std::string& column) const;  // a whole number from 0
};

struct LatencyTable {
  std::string path;
  std::string name;  // the file's stem: "gemm"
  LatencyKind kind = LatencyKind::kGemm;
  std::vector<LatencyRow> rows;

  std::string Where(const LatencyRow& row) const;  // "gemm.csv:17"
};

// Reads a table in the format of docs/measuring.md: the first line names the columns; `device`,
// `dtype` and `latency_us` are in all of them, `timing` and `source` may be missing. Throws Error
// for a file that is no such table.
LatencyTable ReadLatencyTable(const std::string& path);

}  // namespace dlcost
