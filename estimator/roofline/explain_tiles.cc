#include "estimator/roofline/explain_tiles.h"

#include <fmt/format.h>

#include <cmath>

namespace dlcost {

void ExplainTiles(double units, const TileGrid& grid, const WaveTimes& times, TermWriter terms,
                  std::vector<std::string>& advice) {
  const double tiles = grid.Blocks().AsDouble(), padding = grid.PaddingShare();
  terms.Text("tile", fmt::format("{} x {} x {}", grid.tile_m, grid.tile_n, grid.tile_k),
             fmt::format("of {} x {} x {}", grid.m, grid.n, grid.k));
  terms.Fact(
      "tiles", tiles, "",
      fmt::format(
          "{} x {} x {}{}", grid.batch, CeilDiv(grid.m, grid.tile_m), CeilDiv(grid.n, grid.tile_n),
          grid.split_k > Count(1) ? fmt::format(" x {} parts of k", grid.split_k) : std::string()));
  terms.Fact("waves", times.waves, "", fmt::format("over {:.0f} units", units));
  terms.Fact("padding", 100 * padding, "%", "of the executed multiply-adds");
  terms.Fact("efficiency", 100 * times.efficiency, "%", "of the peak in the main loop");
  if (times.busy < 1) {
    terms.Fact("units kept busy", 100 * times.busy, "%", "the tile is too small for one unit");
  }
  const double lost = 1 - tiles / units / times.waves;
  if (lost > 0.1) {
    advice.push_back(
        fmt::format("Up to {:.1f} % of the units' time is idle in the last wave: {:.0f} tiles on "
                    "{:.0f} units.",
                    100 * lost, tiles, units));
  }
  if (padding > 0.1) {
    advice.push_back(fmt::format(
        "{:.1f} % of the executed multiply-adds pad tiles: sizes that are multiples of the tile "
        "avoid it.",
        100 * padding));
  }
}

}  // namespace dlcost
