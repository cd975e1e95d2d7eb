#pragma once

#include <optional>

#include "estimator/hardware/roof.h"
#include "models/algorithms/execution.h"
#include "models/algorithms/library.h"
#include "models/operators/op_cost.h"

namespace dlcost {

// Chooses algorithms and tiles for a device, as the libraries written for it do.
struct Target {
  const Device* device = nullptr;
  MathMode math = MathMode::kDefault;
  std::optional<Algorithm> conv;  // forces an algorithm where it is valid
  bool flash = true;              // attention without materialized scores
};

struct Choice {
  Execution execution;
  std::string runner_up;  // "" when nothing else could run it
};

const Library& LibraryOf(const Device& device);

// The tile whose waves cost least: rounds over the device's units, times the tile's area, over the
// reuse that its extents give.
TileShape ChooseTile(const GemmNest& nest, std::span<const TileShape> tiles, const Device& device);
// Parts along k that fill units which the tiles leave idle.
Count ChooseSplit(const TileGrid& grid, const TileShape& tile, const Device& device);

Choice ChooseGemm(const GemmNest& nest, DType type, const Target& target);
Choice ChooseConv(const ConvNest& nest, DType type, const Target& target);
Choice ChooseAttention(const AttentionNest& nest, DType type, const Target& target);
Choice ChooseRecurrent(const RecurrentNest& nest, DType type, const Target& target);

// The least multiply-accumulates of any kernel with this algorithm for a convolution of `macs`.
// Kernels of one family differ in their tiles, and libraries do not tell which one runs: what
// counts is the largest usual tile, F(4, r) for Winograd, and three real products per frequency.
Count LeastConvMacs(const ConvNest& nest, Algorithm algorithm, Count macs);

// The pipe that a matrix product of this type runs on.
Pipe PipeFor(DType type, const Target& target);

}  // namespace dlcost
