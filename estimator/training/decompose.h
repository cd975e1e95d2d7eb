#pragma once

#include <vector>

#include "models/gradients/writer.h"

namespace dlcost {

// Puts the nodes that it consists of (models/decompositions) in the place of every node that
// something trained is behind and that has a decomposition. One whose form its decomposition does
// not know, or whose parts would write other sizes than it, stays as it is.
void Decompose(NodeWriter& writer, const std::vector<TensorId>& parameters);

}  // namespace dlcost
