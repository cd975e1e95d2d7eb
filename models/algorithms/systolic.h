#pragma once

#include "estimator/hardware/systolic_machine.h"
#include "models/algorithms/execution.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// Products on systolic arrays (Kung and Leiserson 1979; Jouppi et al., ISCA 2017). An array of R x
// C multiply-accumulators holds one tile and lets the other operand stream past, one row per clock:
//
//   weights stationary   a tile of R x C of k x n is held, the m rows stream past
//   outputs stationary   a tile of R x C of m x n is held, the k columns stream past
//
// What only fills up a tile is executed all the same.

// How a product is laid over the arrays of a machine.
struct SystolicPlacement {
  Count rows, columns;  // of the array as it is shaped for this product
  Count arrays;         // of that shape
  Count tiles;          // that are held in the course of the product
  Count parts = 1;      // in which the stream of a tile is cut, so that fewer arrays idle
  Count passes;         // of the array that has most: ceil(tiles * parts / arrays)
  Count streamed;       // rows (weights stationary) or columns of k (outputs) in one pass
  // Of the array that has most: passes * max(streamed, switch) + rows + columns, which is how long
  // the first row takes to come in and the last result to come out.
  Count cycles;
};

SystolicPlacement PlaceProduct(const GemmNest& nest, const SystolicMachine& machine);

// One product. A convolution is its implicit product (AsGemm).
Execution SystolicGemm(const GemmNest& nest, DType type, const SystolicMachine& machine);

// A filter per channel leaves arrays empty: it runs on the vector units, a multiplication and an
// addition per tap.
Execution SystolicDepthwise(const ConvNest& nest, DType type);

// Scores and values are products, the softmax between them runs on the vector units. Queries that
// share a key-value head stream past it together. `materialized`: scores and probabilities go
// through memory.
Execution SystolicAttention(const AttentionNest& nest, DType type, const SystolicMachine& machine,
                            bool materialized);

// All inputs in one product, then one product per step over the hidden state, which waits for the
// step before. The weights stay on the chip.
Execution SystolicRecurrent(const RecurrentNest& nest, DType type, const SystolicMachine& machine);

}  // namespace dlcost
