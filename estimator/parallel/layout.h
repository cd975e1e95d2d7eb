#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "estimator/core/units.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/device_configuration.h"
#include "models/sharding/sharding.h"

namespace dlcost {

// The axes of every tensor of a graph, by the sharding rules of its operators.
struct GraphAxes {
  Factors factors;
  std::vector<Axes> tensors;                       // by TensorId; none of unknown shape
  std::vector<std::optional<NodeSharding>> nodes;  // by node; none: nothing of it is split
  // Known before the run and no weights: a device makes the part that it needs.
  std::vector<bool> free;

  // Whether one of the factors is of this axis, or of an axis of this tensor.
  bool Splits(const Axis& axis, const std::set<FactorId>& factors_of) const {
    return factors.PartOf(axis, factors_of, 1).splits > 0;
  }
  bool Splits(const Axes& of, const std::set<FactorId>& factors_of) const;
};

// `graph` has shapes, and its nodes are in an order in which they can run.
GraphAxes AxesOf(Graph& graph);

// Which axes are split among devices.
struct Split {
  std::set<FactorId> factors;
  // Products whose operands nothing splits: every device computes them whole.
  std::vector<std::string> notes;
};

// The axes that divide the most multiply-accumulates for the least communication, none of which
// stands beside another one in a tensor: of a transformer the heads and the inner axis of every
// layer, and the vocabulary (Shoeybi et al., Megatron-LM, 2019). `macs`: of every node. Throws
// Error where such an axis does not divide among the devices; one of a table or of the results
// stays whole then, with a note.
Split ChooseSplit(const Graph& graph, const GraphAxes& axes, const std::vector<Macs>& macs,
                  int devices);

// The axes that annotations of a file split, and all that belong to them. Throws Error for
// annotations that contradict each other or what an operator needs whole.
Split SplitAsAnnotated(const Graph& graph, const GraphAxes& axes,
                       const DeviceConfiguration& annotations, int devices);

}  // namespace dlcost
