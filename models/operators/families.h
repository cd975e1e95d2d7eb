#pragma once

#include <span>

#include "models/operators/op_def.h"

namespace dlcost {

// One function per file of operator definitions; registry.cc lists them all.
// Neural networks.
std::span<const OpDef> ConvolutionOps();
std::span<const OpDef> MatMulOps();
std::span<const OpDef> PoolingOps();
std::span<const OpDef> NormalizationOps();
std::span<const OpDef> LayerNormOps();
std::span<const OpDef> SoftmaxOps();
std::span<const OpDef> RecurrentOps();

}  // namespace dlcost
