#pragma once

#include "models/algorithms/execution.h"
#include "models/algorithms/library.h"
#include "models/operators/op_cost.h"

namespace dlcost {

struct GemmOptions {
  Pipe pipe = Pipe::kVector;
  DType type = DType::kFloat32;
  TileShape tile;
  Count split_k = 1;        // thread blocks that share one tile of the output
  bool accumulate = false;  // C += A B instead of C = A B
};

// The grid that covers the product with a tile.
TileGrid GridOf(const GemmNest& nest, const TileShape& tile, Count split_k = 1);

// Terms of a tiled product: multiply-adds at m, n, k, and at what they pad to; additions across
// slices and split-k parts. `per_output` is issued for every output of every tile.
std::vector<Term> ProductTerms(const TileGrid& grid, const GemmOptions& options,
                               const Instructions& per_output);

// Traffic of the parts of k beyond the first, which add their sums to the outputs in memory.
void AddSplitTraffic(Stage& stage, Count outputs, DType type);

// Tiled product. Split-k parts beyond the first add their sums to C in memory: that is the extra
// traffic, in `type`'s size but at least 4 bytes (partial sums stay fp32).
Execution TiledGemm(const GemmNest& nest, const GemmOptions& options, const Library& library);

// Matrix times vector (m or n is 1, or few columns one after the other): each row's k elements are
// summed by the threads of a group, which then add up among themselves.
Execution MatrixVector(const GemmNest& nest, DType type, const Library& library);

// Whether each product has a single result: a reduction, which fills no tile and no array.
bool IsDot(const GemmNest& nest);
// Such products on the vector units of any machine: a multiply-add for each element.
Execution DotProducts(const GemmNest& nest, DType type);

}  // namespace dlcost
