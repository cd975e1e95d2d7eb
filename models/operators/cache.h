#pragma once

#include "models/operators/op_context.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// A key-value cache that a call continues: `past` goes in, `present` comes out. It grows in place:
// both are one buffer, as every runtime that decodes keeps them, so a call reads the positions that
// are filled and writes those that are new. (The operators' own contract, two tensors, allows a
// copy; a bound that counted one would be beaten by whoever shares the buffer.)
struct GrowingCache {
  int past, present;     // input and output
  std::size_t axis = 2;  // of the positions
  Count filled;          // positions of the past that are read
  Count fresh;           // positions that are new
};

// Corrects the accesses of past and present in `cost`, which has them in full. Nothing changes
// where the node has no past: then the present is new as a whole.
void GrowCache(OpCost& cost, const OpContext& ctx, const GrowingCache& cache);

}  // namespace dlcost
