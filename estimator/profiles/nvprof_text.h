#pragma once

#include <string>
#include <vector>

#include "estimator/profiles/csv.h"
#include "estimator/profiles/lines.h"

namespace dlcost {

// The tables that nvprof prints without --csv, as rows of the tables that it prints with it. Cells
// stand two or more blanks apart; what has no value is "-", so that no cell but the first is ever
// empty:
//             Type  Time(%)      Time     Calls       Avg       Min       Max  Name
//  GPU activities:  100.00%  1.7288ms         1  1.7288ms  1.7288ms  1.7288ms  scale(float*)
//       API calls:   96.87%  204.58ms         2  102.29ms  37.554us  204.54ms  cudaMalloc
//                     1.17%  2.4639ms       376  6.5520us     254ns  253.44us  cuDeviceGetAttribute
// Metrics and events name the device and the kernel in lines of their own above the values; here
// they are columns. Lines that belong to no table, the program's own output among them, are left
// out; an empty line ends a table.
class NvprofTextReader : public RowReader {
 public:
  explicit NvprofTextReader(Input& input) : lines_(input) {}
  bool Next(CsvRow& row) override;
  const std::string& name() const override { return lines_.name(); }

 private:
  bool StartsTable(const std::vector<std::string>& cells, CsvRow& row);
  bool ReadsContext(std::string_view line);
  bool ReadsRow(std::string_view line, CsvRow& row);

  LineReader lines_;
  std::string line_;
  std::vector<std::string> head_;  // of the table that is being read; empty between tables
  bool by_kernel_ = false;         // a table of metrics: values belong to device_ and kernel_
  std::string device_, kernel_, type_;
};

// Whether the first table in `head` is one of these.
bool HasNvprofTextTable(std::string_view head);

}  // namespace dlcost
