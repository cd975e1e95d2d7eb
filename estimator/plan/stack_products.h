#pragma once

#include <vector>

#include "estimator/plan/fuse.h"

namespace dlcost {

// Products that read one operand and stored weights of their own run as one, with what was fused
// into each, where the first of them ran: none of them waits for another. With
// FusionStep::kParallel all that fit, with kProjections those of one attention, otherwise none. Of
// a group that is stacked onto another nothing is left; `group_of` tells the group of each node.
void StackProducts(const ValueGraph& values, FusionSet fuses, std::vector<Group>& groups,
                   std::vector<std::size_t>& group_of);

}  // namespace dlcost
