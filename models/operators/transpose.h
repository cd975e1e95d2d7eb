#pragma once

#include <cstdint>
#include <vector>

#include "models/operators/op_context.h"

namespace dlcost {

// Which input axis each output axis of a Transpose is: perm, by default all axes reversed. Throws
// Error where that is no permutation of the input's axes.
std::vector<std::int64_t> PermutationOf(const OpContext& ctx);

}  // namespace dlcost
