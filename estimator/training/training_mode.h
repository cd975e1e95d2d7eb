#pragma once

#include <string>
#include <vector>

#include "models/gradients/writer.h"

namespace dlcost {

// Makes the nodes of a forward pass what they are in training: BatchNormalization takes the
// statistics of the batch and keeps them, normalizations of planes become one of a batch of one,
// Dropout drops, RMSNormalization keeps its deviation.
// Returns notes for the report.
std::vector<std::string> EnterTraining(NodeWriter& writer);

}  // namespace dlcost
