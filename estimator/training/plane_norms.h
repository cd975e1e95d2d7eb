#pragma once

#include "models/gradients/writer.h"

namespace dlcost {

// Writes InstanceNormalization, in which channels of each sample have statistics and a scale of
// their own, as a batch normalization of one sample with all of them, as PyTorch runs it: one call
// there and one back, without running statistics. GroupNormalization with a scale per group
// (version 18) alike. false for any other node, and for one whose operands are not known to fit
// each other.
bool TrainPlaneNorm(NodeWriter& writer, const Node& node);

}  // namespace dlcost
