#include "estimator/request/known_output.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/infer/run_hints.h"
#include "estimator/training/loss.h"

namespace dlcost {
namespace {

// What the report without --train says of unknown nodes: what to bind, or why the first is one.
std::string Reason(const InferredModel& model, const InferOptions& options) {
  const std::vector<RunHint> hints = FindRunHints(model, options);
  if (!hints.empty()) {
    return fmt::format("; it follows from {}: bind it with {}", hints.front().what,
                       hints.front().option);
  }
  const auto unknown =
      std::find_if(model.nodes.begin(), model.nodes.end(),
                   [](const CountedNode& node) { return node.status == NodeStatus::kUnknown; });
  if (unknown == model.nodes.end()) return "";
  return fmt::format("; node '{}' ({}): {}", Printable(unknown->name), Printable(unknown->node->op),
                     unknown->why);
}

}  // namespace

void RequireKnownOutput(const InferredModel& model, const InferOptions& options) {
  const Tensor* open = OpenOutput(model.model->graph);
  if (open == nullptr) return;
  throw Error("--train: the shape of output '{}' is not known{}", Printable(open->name),
              Reason(model, options));
}

}  // namespace dlcost
