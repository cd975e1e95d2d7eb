#pragma once

#include "estimator/graph/graph.h"

namespace dlcost {

// Activations that exporters write in several nodes become the one operator that a framework
// trains, which keeps its input alone: x (erf(x / c) + 1) / 2 (Gelu), the same with a tanh
// (FastGelu), x sigmoid(x) (QuickGelu with alpha 1) and x tanh(log(1 + e^x)) (Mish), where nobody
// else reads what is between. The nodes are sorted.
void JoinActivations(Graph& graph);

}  // namespace dlcost
