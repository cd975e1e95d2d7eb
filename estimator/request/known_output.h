#pragma once

#include "estimator/infer/infer.h"

namespace dlcost {

// Throws Error where a model cannot train because the shapes of its floating-point outputs are not
// known; says what would tell them, as the report of the model does.
void RequireKnownOutput(const InferredModel& model, const InferOptions& options);

}  // namespace dlcost
