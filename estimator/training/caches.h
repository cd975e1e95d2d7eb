#pragma once

#include "models/gradients/writer.h"

namespace dlcost {

// A training step keeps no cache of keys and values: those that attention hands out for the next
// token leave the outputs of the graph, where others stay. Grouped attention of ONNX Runtime
// becomes what it does, a rotation of queries and keys and ONNX's Attention, which have
// derivatives; it stays where it does more than that.
void LeaveCaches(NodeWriter& writer);

}  // namespace dlcost
