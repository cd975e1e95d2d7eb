#pragma once

#include <string>

#include "estimator/regress/diff.h"

namespace dlcost {

struct DiffTextOptions {
  std::size_t top = 0;        // changes to show, 0: all
  std::size_t max_width = 0;  // columns, 0: unlimited
};

// For a terminal: totals, then the changes in words, then the operators.
std::string RenderDiffText(const ReportDiff& diff, const DiffTextOptions& options);
// For a pull request: a sentence, the totals, the changes; details folded.
std::string RenderDiffMarkdown(const ReportDiff& diff, const DiffTextOptions& options);
// Schema dlcost.diff/1 (docs/report.md).
std::string RenderDiffJson(const ReportDiff& diff);

// "no difference", or "3 changes".
std::string Headline(const ReportDiff& diff);
// "resnet50.onnx": the model's file without folders.
std::string FileTitle(const Report& report);
// "resnet50.onnx on a100-sxm4-80gb"
std::string Title(const Report& report);

// A metric on both sides; the shared row of every rendering.
struct TotalRow {
  const TotalMetric* metric;
  std::optional<double> before, after;
  Standing before_standing = Standing::kExact, after_standing = Standing::kExact;
  // Sums of times in another order differ in the last digits, which is no difference.
  bool Differs() const;
};
std::vector<TotalRow> TotalRows(const ReportDiff& diff);

}  // namespace dlcost
