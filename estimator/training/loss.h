#pragma once

#include <string>
#include <vector>

#include "models/gradients/writer.h"

namespace dlcost {

// Where the backward pass begins: values and the gradients that they have from outside.
struct Seeds {
  std::vector<TensorId> values, gradients;
  std::string loss;            // what "auto" became
  TensorId scale = kNoTensor;  // what gradients are too large by
};

// An output that a loss would be of if its shape were known; null where the model has another, or
// none.
const Tensor* OpenOutput(const Graph& graph);

// Writes a loss behind the floating-point outputs of the graph and makes it an output. Class scores
// are [N, C, d...]; the labels of cross_entropy and the targets of mse are new inputs. Losses
// are taken in float32. `scaled`: times a further input, so that no gradient vanishes in a narrow
// type. `apart_by_default`: "auto" is nll of class scores. Throws Error where the model has no
// floating-point output, or scores have another shape.
Seeds WriteLoss(NodeWriter& writer, const std::string& loss, const std::vector<TensorId>& outputs,
                bool apart_by_default, bool scaled);

}  // namespace dlcost
