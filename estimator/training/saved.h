#pragma once

#include <vector>

#include "estimator/infer/infer.h"

namespace dlcost {

// What the forward pass and the loss of a step make, or read of its inputs, and the backward pass
// reads, each once: views count as what they are views of.
std::vector<TensorId> SavedValues(const InferredModel& step);
Bytes SavedBytes(const InferredModel& step);

}  // namespace dlcost
