#pragma once

#include "models/gradients/writer.h"

namespace dlcost {

// Writes InstanceNormalization and GroupNormalization, in which channels or groups of each sample
// have statistics of their own, as a batch normalization of one sample with all of them, which is
// what PyTorch runs for the first: one call there and one back, without running statistics. false
// for any other node, and for one whose operands are not known to fit each other.
bool TrainPlaneNorm(NodeWriter& writer, const Node& node);

}  // namespace dlcost
