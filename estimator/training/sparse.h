#pragma once

#include <string>
#include <vector>

#include "estimator/infer/step.h"
#include "models/gradients/writer.h"

namespace dlcost {

// The gradient of a table that one Gather alone takes rows from: the rows that the backward pass
// made, without the table of zeros that they would be added to.
struct SparseGradient {
  TensorId parameter, indices, rows;
};

// Takes those of `parameters` whose gradients are sparse, and these, out of the two lists, and the
// nodes that would add rows to a table out of the graph.
std::vector<SparseGradient> TakeSparse(Graph& graph, std::vector<TensorId>& parameters,
                                       std::vector<TensorId>& gradients);

// Writes their updates: "sgd", or Adam's for "adam" and "adamw" (PyTorch's SparseAdam); throws
// Error for another optimizer. "none" makes the rows outputs.
void WriteSparseUpdates(NodeWriter& writer, const std::string& optimizer,
                        const std::vector<SparseGradient>& gradients, StepFacts& facts);

}  // namespace dlcost
