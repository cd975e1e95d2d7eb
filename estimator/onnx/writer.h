#pragma once

#include <string>
#include <vector>

#include "estimator/graph/graph.h"

namespace dlcost {

// The model as the bytes of an ONNX file. What the reader dropped, the payload of large stored
// tensors and of Constant nodes, is not there: those tensors become inputs of the graph, and so do
// those in `as_inputs`. Types and shapes of inputs and outputs are written where they are known.
// Throws Error for nodes of different versions of one domain, which a file cannot have, and for
// another tensor attribute without payload.
std::string WriteModel(const Model& model, const std::vector<TensorId>& as_inputs = {});

}  // namespace dlcost
