#pragma once

#include <string>
#include <utility>
#include <vector>

#include "estimator/graph/graph.h"

namespace dlcost {

// The attributes of a node by name, as text for people and for comparison: lists as "3,3", tensors
// as "f32 64x3". Subgraphs and type protos are left out.
std::vector<std::pair<std::string, std::string>> AttributeTexts(const Node& node);

}  // namespace dlcost
