#pragma once

#include <span>

#include "models/operators/op_def.h"

namespace dlcost {

// What an LSTM cell does besides matrix products, for `units` hidden units of one direction:
// activations by attribute `activations`, biases (input 3), peepholes (input 7), clip,
// input_forget.
Work LstmCellWork(const OpContext& ctx, std::int64_t direction, Count units);

// The definitions of the gradients of recurrent layers.
std::span<const OpDef> RecurrentGradientOps();

}  // namespace dlcost
