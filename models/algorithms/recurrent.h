#pragma once

#include <optional>

#include "models/algorithms/gemm.h"

namespace dlcost {

struct RecurrentOptions {
  Pipe pipe = Pipe::kVector;
  DType type = DType::kFloat32;
  TileShape tile;  // of the products, the steps' too unless step_tile says other
  std::optional<TileShape> step_tile;
  Count step_split = 1;  // thread blocks that share one tile of a step
};

// RNN, GRU and LSTM layers in three ways. All do the same products; they differ in launches and in
// how often the weights are read. The arithmetic of the gates outside the products is not included
// (the caller adds it with AddPointwise).

// One product per step, over input and hidden state joined: k = input + hidden.
Execution RecurrentSteps(const RecurrentNest& nest, const RecurrentOptions& options,
                         const Library& library);
// One product for the inputs of all steps, then one per step for the hidden state, which adds to
// it.
Execution RecurrentInputGemm(const RecurrentNest& nest, const RecurrentOptions& options,
                             const Library& library);
// The inputs in one product, the steps in one kernel that keeps the recurrent weights on the chip.
Execution RecurrentPersistent(const RecurrentNest& nest, const RecurrentOptions& options,
                              const Library& library);

// Elements of the recurrent matrices, all directions and gates.
Count RecurrentWeights(const RecurrentNest& nest);
Count InputWeights(const RecurrentNest& nest);

}  // namespace dlcost
