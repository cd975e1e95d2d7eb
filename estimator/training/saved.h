#pragma once

#include <vector>

#include "estimator/infer/infer.h"

namespace dlcost {

// What each tensor of the main graph is a view of, itself where it is none: slices and
// transpositions are views too where strides describe them (find_strided.h), and a tensor that was
// expanded is one of what it was before, as autograd keeps it.
std::vector<TensorId> ViewedRoots(const InferredModel& step);

// What the forward pass and the loss of a step make, or read of its inputs, and the backward pass
// reads, each once: views count as what they are views of.
std::vector<TensorId> SavedValues(const InferredModel& step);
Bytes SavedBytes(const InferredModel& step);

}  // namespace dlcost
