#include <algorithm>
#include <cmath>
#include <limits>

#include "estimator/core/integer.h"
#include "estimator/roofline/choose.h"
#include "estimator/roofline/gemm_time.h"

namespace dlcost {
namespace {

// A tile of m x n reuses every operand element it loads mn / (m + n) times on average; it computes
// at x / (x + kReuseHalf) of the peak. At 16, tiles of 32, 64 and 128 reach 1/2, 2/3 and 4/5.
constexpr double kReuseHalf = 16;
// A part of a split that walks less of k than this does not pay for adding it up.
constexpr int kLeastSplitK = 512;
// The least of k that a part walks where a library ranks its tiles: a tenth of the recorded ones
// walk less.
constexpr int kLeastPart = 128;
// Parts of k that are tried for a time, and the least of k that one of them walks.
constexpr int kSplits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
constexpr int kLeastTimedSplit = 64;

Count Units(const Device& device) { return std::max(1, device.units.value_or(1)); }

// A tile's area over its reuse.
double CostOf(const TileShape& tile) {
  const double m = tile.m, n = tile.n;
  const double reuse = m * n / (m + n);
  return m * n * (reuse + kReuseHalf) / reuse;
}

// The one for which `times` of them cost least.
template <typename Times>
TileShape Cheapest(std::span<const TileShape> tiles, const Times& times) {
  const TileShape* best = &tiles.front();
  double least = times(*best) * CostOf(*best);
  for (const TileShape& tile : tiles.subspan(1)) {
    const double cost = times(tile) * CostOf(tile);
    if (cost >= least) continue;
    best = &tile;
    least = cost;
  }
  return *best;
}

// The split of a tile whose `resident` is a term of the library's ranking: parts while there are
// fewer blocks than a unit's registers hold, and eight blocks at most.
Count SplitOfRegisters(const GemmNest& nest, const TileShape& tile, const Device& device) {
  const Count places = Units(device) * std::clamp(kSumsPerUnit / (tile.m * tile.n), 1, 8);
  const Count blocks = std::max(Count(1), GridOf(nest, tile).Blocks());
  return std::max(Count(1), std::min(places / blocks, nest.k / kLeastPart));
}

// Whether kernels that load runs of a row take the product.
bool IsWhole(const GemmNest& nest) {
  const auto divides = [](int n, Count extent) { return extent % n == Count(0); };
  return divides(64, nest.m) && ((divides(2, nest.n) && divides(16, nest.k)) ||
                                 (divides(64, nest.n) && divides(2, nest.k)));
}

}  // namespace

const Library& LibraryOf(const Device& device) {
  if (device.kind == DeviceKind::kCpu) return LibraryFor("cpu");
  return LibraryFor(device.architecture + " " + device.compute_capability.value_or(""));
}

RuledTile ByOccupancy(const GemmNest& nest, const OccupancyRule& rule, const Device& device) {
  if (rule.longer != nullptr && nest.k >= Count(rule.from)) {
    return ByOccupancy(nest, *rule.longer, device);
  }
  constexpr int kLeastShared = 260;  // the least of k of a split product
  const double units = Units(device).AsDouble();
  const auto blocks_per_unit = [&](const TileShape& tile) {
    return GridOf(nest, tile).Blocks().AsDouble() / units;
  };
  const double outputs = (nest.batch * nest.m * nest.n).AsDouble();
  RuledTile chosen;
  bool whole = false;
  double most = -std::numeric_limits<double>::infinity();
  for (const OccupancyRule::Tile& each : rule.tiles) {
    const double x = blocks_per_unit(each.shape), places = each.shape.resident;
    const double full_waves = x / places / std::ceil(x / places);
    const double full_tiles = outputs / (x * units * each.shape.m * each.shape.n);
    const double value = each.value * full_tiles * (1 - rule.idle / places * (1 - full_waves));
    if (value <= most) continue;
    most = value;
    chosen.tile = each.shape;
    whole = each.whole;
  }
  if (rule.many > 0 && blocks_per_unit(rule.large) >= rule.many && IsWhole(nest)) {
    return {rule.large, 1};
  }
  if (rule.few > 0 && blocks_per_unit(rule.small) <= rule.few) chosen.tile = rule.small;
  if (!rule.splits) {
    if (nest.batch > Count(1) || whole) return chosen;
    chosen.split_k = SplitOfRegisters(nest, chosen.tile, device);
    if (rule.part > 0) {
      const Count parts = std::min(nest.k / rule.part, Count(rule.most_parts));
      chosen.split_k = std::max(chosen.split_k, parts);
    }
    return chosen;
  }
  const double x = blocks_per_unit(chosen.tile);
  if (x >= chosen.tile.resident || nest.k < Count(kLeastShared)) return chosen;
  auto parts = Truncate(std::ceil(chosen.tile.resident / x));
  while (parts > 1 && nest.k < Count(parts) * kLeastPart) parts /= 2;
  chosen.split_k = parts;
  return chosen;
}

TileShape ChooseTile(const GemmNest& nest, std::span<const TileShape> tiles, const Device& device) {
  return Cheapest(tiles, [&](const TileShape& tile) {
    return CeilDiv(GridOf(nest, tile).Blocks(), Units(device)).AsDouble();
  });
}

TileShape ChooseConvTile(const GemmNest& nest, std::span<const TileShape> tiles) {
  return Cheapest(tiles,
                  [&](const TileShape& tile) { return GridOf(nest, tile).Blocks().AsDouble(); });
}

Count ChooseSplit(const TileGrid& grid, const TileShape& tile, const Device& device) {
  const Count places = Units(device) * tile.resident;
  const Count blocks = std::max(Count(1), grid.Blocks());
  return std::max(Count(1), std::min(places / blocks, grid.k / kLeastSplitK));
}

TileShape ForBytes(TileShape tile, double bytes) {
  tile.k = std::max(1, Truncate<int>(tile.k * 2 / bytes));
  return tile;
}

TimedTile FastestTile(const GemmNest& nest, std::span<const TileShape> tiles, double bytes,
                      bool split, const std::function<double(const TileGrid&, double)>& seconds) {
  TimedTile best{.tile = ForBytes(tiles.front(), bytes),
                 .seconds = std::numeric_limits<double>::infinity()};
  for (const TileShape& listed : tiles) {
    const TileShape tile = ForBytes(listed, bytes);
    for (const int parts : kSplits) {
      if (parts > 1 && (!split || nest.k < Count(parts) * kLeastTimedSplit)) break;
      const double time = seconds(GridOf(nest, tile, parts), best.seconds);
      if (time < best.seconds) best = {tile, parts, time};
    }
  }
  return best;
}

}  // namespace dlcost
