#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "estimator/infer/step.h"
#include "models/gradients/writer.h"

namespace dlcost {

struct Update {
  std::string optimizer;
  TensorId loss_scale = kNoTensor;  // what gradients are too large by
  bool masters = false;             // changes copies of the parameters in float32
  bool clips = false;               // gradients by the norm of all
};

// Writes the update of `parameters` by `gradients`, one node per data type over all of its tensors,
// and makes what it yields outputs of the graph. Learning rate, number of the step and the states
// of the optimizer become inputs. "none" makes the gradients outputs. Gradients of a scaled loss
// are divided by the scale and searched for infinities first. Tells the bytes of states and copies.
void WriteOptimizer(NodeWriter& writer, const Update& update,
                    const std::vector<TensorId>& parameters, std::vector<TensorId> gradients,
                    StepFacts& facts);

// The operands of a node that WriteOptimizer wrote, tensor by tensor. Empty for other nodes.
struct OptimizerOperands {
  std::vector<TensorId> parameters, gradients, states;
};
OptimizerOperands OperandsOf(const Node& node);

// Gradients as the backward pass left them, by what the update made of them before it used them
// (unscaled, clipped, in another type): what devices exchange.
std::unordered_map<TensorId, TensorId> GradientsBehindUpdate(const Graph& graph);

}  // namespace dlcost
