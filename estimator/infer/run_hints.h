#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/infer/infer.h"

namespace dlcost {

// One option that would resolve unknown nodes, found by trying it on a copy.
struct RunHint {
  std::string what;      // "the value of 'lengths'", "the iterations of 'loop'"
  std::string option;    // "--at 'lengths=[640]'", quoted for a shell
  std::size_t resolved;  // unknown nodes that it resolves, with the hints before it in effect
  RunBinding binding;    // for AssumeHints; its target is empty where the option is not --at
};

// From the values that unknown nodes wait for and what these were computed from: those that resolve
// most, one after the other. Empty where nothing is unknown.
std::vector<RunHint> FindRunHints(const InferredModel& model, const InferOptions& options);

// Infers the model again with the hints taken as assumptions.
void AssumeHints(InferredModel& model, const InferOptions& options,
                 const std::vector<RunHint>& hints);

// Whether a size of the model is left to the run, and known as an upper bound.
bool LeavesSizes(const InferredModel& model);

// What to do about unknown nodes and upper bounds, in a few sentences.
std::vector<std::string> NotesOf(const InferredModel& model, const InferOptions& options,
                                 const std::vector<RunHint>& hints);

}  // namespace dlcost
