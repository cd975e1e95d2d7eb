#pragma once

#include <span>

#include "models/operators/op_def.h"

namespace dlcost {

// One function per file of operator definitions; registry.cc lists them all.
std::span<const OpDef> ConvolutionOps();

}  // namespace dlcost
