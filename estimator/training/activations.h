#pragma once

#include "estimator/graph/graph.h"

namespace dlcost {

// Activations that exporters write in several nodes become the one operator that a framework
// trains, which keeps its input alone: x (erf(x / c) + 1) / 2 (Gelu) and x sigmoid(x) (QuickGelu
// with alpha 1), where nobody else reads what is between. The nodes are sorted.
void JoinActivations(Graph& graph);

}  // namespace dlcost
