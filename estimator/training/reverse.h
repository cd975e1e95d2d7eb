#pragma once

#include <map>
#include <string>
#include <vector>

#include "estimator/training/loss.h"
#include "models/gradients/writer.h"

namespace dlcost {

struct Reversed {
  std::vector<TensorId> gradients;  // per tensor of the graph; kNoTensor where there is none
  std::map<std::string, std::string> unknown;  // node that stands for a derivative, and why
  // Nodes of the graph whose first input wants no gradient while another one does.
  std::vector<std::string> without_data_gradient;
};

// Marks in `active`, one per tensor of the graph, what depends on what is marked by a way along
// which a derivative may flow. The nodes are in an order in which they can run, with types.
void SpreadActivity(const Graph& graph, std::vector<bool>& active);

// Reverse mode: writes the nodes that take the seeds back to `parameters`. The nodes of the graph
// are in an order in which they can run, with types. Values used several times add their gradients
// up; nothing is written for what no parameter is behind. An operator whose derivative is not
// written becomes a node "Gradient" (ai.onnx.preview.training), whose work is not counted.
Reversed Reverse(NodeWriter& writer, const std::vector<TensorId>& parameters, const Seeds& seeds);

}  // namespace dlcost
