#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/gradients/writer.h"

namespace dlcost {

// Values of a graph, with their gradients.
using Gradients = std::vector<std::pair<TensorId, TensorId>>;
// Whether a value of the graph wants a gradient.
using IsActive = std::function<bool(TensorId)>;

// Write the node that takes the gradients of the outputs of a node with graphs inside (`outputs`,
// kNoTensor where there is none) back, and give the node the further outputs that this one reads.
// Return the gradients of what the node reads or its graphs capture.
//
// The graphs have types (PrepareBodies). Throw Unresolved, before the node is changed, where they
// have none. `unknown` gets the nodes inside that stand for a derivative (Reversed::unknown).

// Loop and Scan: a Scan that goes through the steps backwards. Each step reads what its derivatives
// ask for, which the forward node now stacks, and hands on the gradients of the state and the sums
// of the gradients of what the body captures: one product per step and operand, as autograd has
// them for a loop in Python.
Gradients ReverseSteps(NodeWriter& writer, Node& node, const IsActive& is_active,
                       const std::vector<TensorId>& outputs,
                       std::map<std::string, std::string>& unknown);

// If: an If over the same condition, whose branch reads what the branch that ran wrote. Of what the
// other branch would have written there are tensors without elements.
Gradients ReverseBranches(NodeWriter& writer, Node& node, const IsActive& is_active,
                          const std::vector<TensorId>& outputs,
                          std::map<std::string, std::string>& unknown);

}  // namespace dlcost
