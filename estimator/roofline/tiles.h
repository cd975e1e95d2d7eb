#pragma once

#include <span>

namespace dlcost {

// What one thread block computes: rows (of m) x columns (of n) of the result.
struct Tile {
  int rows, columns;
};

// The least multiple of `multiple` that is no less than `value`: how far a tile or an instruction
// pads it.
double RoundUp(double value, double multiple);

// The tiles that matrix libraries ship kernels for; the model takes the fastest, as their
// heuristics try to. Names of kernels carry them: maxwell_sgemm_128x64, ampere_bf16_s16816gemm_
// bf16_256x128, cutlass_80_wmma_tensorop_16x128.
std::span<const Tile> TensorTiles();
std::span<const Tile> VectorTiles();
// Strided-batched fp32 products ship fewer: long along m (row-major), never long along n.
std::span<const Tile> VectorBatchedTiles();
// Convolutions, implicit GEMM: rows are output positions, columns are filters.
std::span<const Tile> ConvTiles();

// Parts into which k is split so that a small result still fills the device.
std::span<const int> KSplits();

}  // namespace dlcost
