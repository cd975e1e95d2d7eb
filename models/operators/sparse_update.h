#pragma once

#include <span>

#include "models/operators/op_def.h"

namespace dlcost {

// The definitions of updates that touch some rows of a table.
std::span<const OpDef> SparseUpdateOps();

}  // namespace dlcost
