#pragma once

#include <span>

#include "models/operators/op_def.h"

namespace dlcost {

// The definitions of the gradients of sampling feature maps.
std::span<const OpDef> SamplingGradientOps();

}  // namespace dlcost
