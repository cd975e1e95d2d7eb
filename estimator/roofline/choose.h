#pragma once

#include <functional>
#include <span>

#include "estimator/hardware/device.h"
#include "models/algorithms/gemm.h"
#include "models/algorithms/library.h"

namespace dlcost {

const Library& LibraryOf(const Device& device);

// Which tile a rule takes, and into how many parts it shares k.
struct RuledTile {
  TileShape tile;
  Count split_k = 1;
};
RuledTile ByOccupancy(const GemmNest& nest, const OccupancyRule& rule, const Device& device);

// Which tile a library takes for a product on vector units: rounds over the device's units, times
// the tile's area, over the reuse that its extents give.
TileShape ChooseTile(const GemmNest& nest, std::span<const TileShape> tiles, const Device& device);
// Which tile it takes for a convolution: the same without rounds, so that padding decides. Of 976
// recorded ones on P4, P100, V100 and T4 77 % follow, where rounds count 65.
TileShape ChooseConvTile(const GemmNest& nest, std::span<const TileShape> tiles);
// Parts along k that fill units which the tiles leave idle.
Count ChooseSplit(const TileGrid& grid, const TileShape& tile, const Device& device);

// A tile with the parts of k, and the time it was chosen for.
struct TimedTile {
  TileShape tile;
  Count split_k = 1;
  double seconds = 0;
};
// The tile for operands of `bytes` each: libraries list steps along k for two bytes, and a step
// takes as many bytes of a row whatever the type is.
TileShape ForBytes(TileShape tile, double bytes);

// The fastest of the tiles, each whole and with k in parts where `split` allows it. `seconds` gets
// a grid and the best time so far.
TimedTile FastestTile(const GemmNest& nest, std::span<const TileShape> tiles, double bytes,
                      bool split, const std::function<double(const TileGrid&, double)>& seconds);

}  // namespace dlcost
