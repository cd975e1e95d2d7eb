#pragma once

#include "estimator/graph/graph.h"

namespace dlcost {

// Group normalization as exporters write it before opset 21 becomes the one operator that a
// framework trains (GroupNormInternal): groups of channels as those of an InstanceNormalization,
// whose scale and shift are ones and zeros then, back in the shape of the data, and a stored scale
// and shift per channel behind. The nodes are sorted.
// Source: PyTorch, torch/onnx/symbolic_opset9.py: group_norm; onnxscript, torch_lib/ops/core.py.
void JoinGroupNorms(Graph& graph);

}  // namespace dlcost
