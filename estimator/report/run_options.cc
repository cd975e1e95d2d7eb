#include "estimator/report/run_options.h"

namespace dlcost {
namespace {

// Reads a few rows of a table.
bool LooksUp(const Node& node) {
  return node.op == "Gather" || node.op == "EmbedLayerNormalization";
}

// What every run of the model reads alike: tables count in no run, whose rows differ. A step of
// training changes its weights.
Bytes WeightsOfEachRun(const InferredModel& model) {
  Bytes bytes;
  if (model.step != nullptr) return bytes;
  for (const CountedNode& counted : model.nodes) {
    if (!LooksUp(*counted.node)) bytes += counted.weight_bytes;
  }
  return bytes;
}

}  // namespace

RunOptions RunOptionsOf(const ReportOptions& options, const InferredModel& model) {
  RunOptions run = options.run;
  run.attention = options.plan.Form();
  run.weights = WeightsOfEachRun(model);
  return run;
}

}  // namespace dlcost
