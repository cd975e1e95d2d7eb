#pragma once

#include <vector>

#include "estimator/infer/step.h"
#include "models/gradients/writer.h"

namespace dlcost {

// Muon (Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024): the
// momentum of a matrix, made orthogonal by five Newton-Schulz iterations in bfloat16. It is for the
// weights of hidden layers, which have rows and columns: matrices, and convolutions' as [out, in *
// kernel]; tables that rows are gathered from, the product that makes an output, vectors and stacks
// of matrices are AdamW's.

// Which parameters it updates, in their order.
std::vector<bool> MuonUpdates(const Graph& graph, const std::vector<TensorId>& parameters);

// Writes the update of `parameters` by `gradients` and returns what they become. Learning rate and
// momenta become inputs, what the momenta become outputs.
std::vector<TensorId> WriteMuon(NodeWriter& writer, const std::vector<TensorId>& parameters,
                                const std::vector<TensorId>& gradients, StepFacts& facts);

}  // namespace dlcost
