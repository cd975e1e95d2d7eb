#pragma once

#include <string>

#include "estimator/report/json_writer.h"
#include "estimator/report/report.h"

namespace dlcost {

enum class GroupBy { kOp, kScope, kPhase, kStory, kLayer, kNode, kKernel };

// The rows of a grouping: by operator, module or phase.
inline const std::vector<GroupRow>& GroupsBy(const Report& report, GroupBy by) {
  return by == GroupBy::kOp      ? report.by_op
         : by == GroupBy::kScope ? report.by_scope
                                 : report.by_phase;
}

struct TextOptions {
  GroupBy by = GroupBy::kOp;
  std::size_t top = 0;                    // rows to show, 0: all
  std::size_t max_width = 0;              // columns, 0: unlimited
  std::vector<std::string> columns = {};  // Table::Keep; none: as many as there is room for
  bool colour = false;
  bool blocks = false;  // shares as small bars of block characters
};

// The terminal report: header, table, totals, coverage, notes.
std::string RenderText(const Report& report, const TextOptions& options);
// What is special about a training step: phases, backward against forward, what memory holds. ""
// for inference.
std::string RenderStep(const Report& report, std::size_t max_width);
// Its lines but for the phases: what is trained how, backward against forward, what memory holds.
std::vector<std::string> StepLines(const Report& report);
// Schema dlcost.report/1 (docs/report.md).
std::string RenderJson(const Report& report);
// The same piece by piece: the JSON of a large model takes as much memory as its rows.
void WriteJson(const Report& report, const TextSink& sink);
// For a pull request: one line, the rows folded (`top` of them, 0: all), what is unknown.
std::string RenderMarkdown(const Report& report, GroupBy by = GroupBy::kOp, std::size_t top = 0);
// One header line, one line per operator type, module, phase, story, layer, node or kernel; plain
// numbers in base units, and in the last column how certain they are; the `top` most expensive
// ones, 0: all.
std::string RenderCsv(const Report& report, GroupBy by, std::size_t top = 0);

}  // namespace dlcost
