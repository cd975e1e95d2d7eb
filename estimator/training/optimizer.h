#pragma once

#include <string>
#include <vector>

#include "models/gradients/writer.h"

namespace dlcost {

// Writes the update of `parameters` by `gradients`, one node per data type over all of its tensors,
// and makes what it yields outputs of the graph. Learning rate, number of the step and the states
// of the optimizer become inputs. "none" makes the gradients outputs. Returns the bytes of the
// states.
Bytes WriteOptimizer(NodeWriter& writer, const std::string& optimizer,
                     const std::vector<TensorId>& parameters, std::vector<TensorId> gradients);

// The operands of a node that WriteOptimizer wrote, tensor by tensor. Empty for other nodes.
struct OptimizerOperands {
  std::vector<TensorId> parameters, gradients, states;
};
OptimizerOperands OperandsOf(const Node& node);

}  // namespace dlcost
