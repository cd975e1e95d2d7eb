#pragma once

#include "estimator/roofline/terms.h"
#include "models/algorithms/execution.h"

namespace dlcost {

// The waves of a tiled kernel, as a time model took them.
struct WaveTimes {
  double waves = 0, tile_seconds = 0;
  double efficiency = 0;  // of the peak, in the main loop
  double busy = 1;        // how much of a unit one tile keeps busy
};

// Facts: tile, tiles, waves, efficiency; and what is lost to padding and idle units, as advice.
void ExplainTiles(double units, const TileGrid& grid, const WaveTimes& times, TermWriter terms,
                  std::vector<std::string>& advice);

}  // namespace dlcost
