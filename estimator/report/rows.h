#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "estimator/report/render.h"
#include "estimator/report/report.h"

namespace dlcost {

// One row of a table of a report: a group, a node or a kernel.
struct ReportRow {
  std::string name, detail, limiter;
  const Sums* sums = nullptr;
  Flops kernel_flops;
  Doubt doubt;
  std::size_t index = 0;  // among the report's groups, stories, layers, nodes or kernels
  std::shared_ptr<const GroupRow> own = nullptr;  // holds `sums` of a row that the report has not
};

// Which rows a table of `top` rows (0: all) shows, and what becomes of the others.
struct ShownRows {
  std::vector<ReportRow> rows;
  std::size_t unknown = 0;  // of `rows`, the first: with nodes that no total has; never hidden
  std::size_t hidden = 0;   // rows that cost something and are not shown
  Sums hidden_sums;
  Doubt hidden_doubt;
  Flops hidden_kernel_flops;
  std::int64_t free_nodes = 0;  // of groups that cost nothing: views, shapes, constants
};

// Seconds: what is expected, or the bound where nothing is.
inline double TimeOf(const KernelRow& kernel) {
  return kernel.sums.expected.value_or(kernel.sums.bound).value();
}

// Rows that say what they are in a second column of text, not in a number of nodes.
inline bool IsDetail(GroupBy by) {
  return by == GroupBy::kStory || by == GroupBy::kLayer || by == GroupBy::kNode ||
         by == GroupBy::kKernel;
}

// What the rows of a grouping are: "operator", "module", "phase", "story", "layer"
// or "node".
const char* HeadOfNames(GroupBy by);

// Every row in the report's order; kernels that launch nothing have none.
std::vector<ReportRow> RowsOf(const Report& report, GroupBy by);

// The rows of RowsOf with the most expensive `top` first where there are more; 0 keeps all, in the
// report's order. Ties keep the report's order.
std::vector<ReportRow> TopRows(const Report& report, GroupBy by, std::size_t top);

// What a table for people shows: groups that cost nothing are one line.
ShownRows RowsShown(const Report& report, GroupBy by, std::size_t top);

}  // namespace dlcost
