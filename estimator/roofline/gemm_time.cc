#include "estimator/roofline/gemm_time.h"

#include <algorithm>
#include <cmath>

namespace dlcost {
namespace {

using C = Constant;

constexpr double kWarpColumns = 8;  // columns of a vector kernel's tile that one warp computes

// Sums that a thread of a vector kernel holds: 64, half of that where its tile has an extent below
// 64. A unit computes at tanh(threads / 150) of its rate: recorded times of products with few
// blocks (64 x 64 tiles on a V100: one block takes 0.38 of it, two 0.5, three 0.7, four 0.95;
// 64 x 128 on a P100: one 0.7, two 0.93; 128 x 128 on an A100: one all of it).
constexpr double kSumsPerThread = 64;
constexpr double kBusyThreads = 150;

// Of an H100's kernels, whose loads add to their arithmetic (Library::vector_loads): one block of
// 32 x 32 or 64 x 64 computes at 0.62 of the rate of many, two or three at 0.9.
constexpr double kLoadsLeastThreads = 64;
constexpr double kLoadsBusyThreads = 90;

double VectorBusy(const Library& library, double blocks, const TileGrid& grid) {
  const double rows = grid.tile_m.AsDouble(), columns = grid.tile_n.AsDouble();
  if (library.vector_loads > 0) {
    const double threads = std::max(kLoadsLeastThreads, rows * columns / kSumsPerThread);
    return std::tanh(blocks * threads / kLoadsBusyThreads);
  }
  const double sums =
      std::min(rows, columns) < kSumsPerThread ? kSumsPerThread / 2 : kSumsPerThread;
  return std::tanh(blocks * rows * columns * grid.slices.AsDouble() / sums / kBusyThreads);
}

// Blocks of one unit that walk the matrices together on matrix units.
constexpr double kTogether = 4;

// Rounds of tiles over the units. Where two tiles share a matrix unit they come in pairs, once
// there are more than units: 60 products of an A100 that would fill 2.04 to 2.93 of 128 x 128 each
// take a fifth longer than three rounds, as long as two of 128 x 256.
double Waves(const TimingDevice& d, const GemmProblem& p, const TileGrid& grid, double tiles) {
  const double waves = std::ceil(tiles / d.units);
  return p.tensor && grid.resident == 2 && waves > 1 ? RoundUp(waves, 2) : waves;
}

// Tiles with so short a sum are mostly loads and results: 3328 x 10240 takes an A100 as long with k
// 128 as 3584 x 10240 with k 256 (103 and 105 us).
constexpr double kShortSum = 128;

// Most tokens whose experts run in such kernels: with more, each expert has rows of its own, and
// grouped kernels take the weights as matrix units do.
constexpr double kFewTokens = 16;

bool Widens(const TimingDevice& d, const GemmProblem& p) {
  return p.tensor && p.narrow_weight > 0 && !d.library->widening.tiles.empty() &&
         (p.batch <= 1 || p.m <= kFewTokens);
}

// The constants of one kind of unit.
struct UnitConstants {
  double efficiency, shape, fill, drain, overlap;  // fill: 0 where loads are never the limit
};

// What kernels of small products cost large ones: LongSums.
double RateOfLongSums(const TimingDevice& d, const GemmProblem& p) {
  const LongSums& sums = d.library->long_sums;
  const bool applies = p.linear && p.input_bytes >= 4 && sums.from > 0 && p.k >= sums.from;
  return applies ? sums.rate : 1;
}

// Recorded rates fall where two extents are ragged, whichever: one alone, m or n or k, costs
// nothing (T4, 128x128 tiles, aligned in m, n, k: all 4.0 TFLOP/s, m and k 4.0, m and n 3.8; k
// alone 3.5, m or n alone 3.2, none 3.2).
double VectorShape(const TimingDevice& d, const GemmProblem& p) {
  if (p.batch > 1) return d[Constant::kVectorBatched];
  int ragged = 0;
  for (const double extent : {p.m, p.n, p.k}) ragged += std::fmod(extent, 64) != 0;
  return ragged < 2 ? 1 : d[Constant::kVectorRagged];
}

// Rate of a tile on vector units, over that of 128 x 128, whose loads vector.efficiency has in it.
double LoadsRate(const TimingDevice& d, const GemmProblem& p, double rows, double columns) {
  if (p.tensor || d.library->vector_loads <= 0) return 1;
  const auto loads = [&](double sides) {
    return LoadsOverArithmetic(d, p.peak / d.units, p.input_bytes, sides);
  };
  return (1 + loads(1.0 / 64)) / (1 + loads(1 / rows + 1 / columns));
}

UnitConstants Constants(const TimingDevice& d, const GemmProblem& p) {
  if (!p.tensor) {
    return {d[C::kVectorEfficiency] * RateOfLongSums(d, p), VectorShape(d, p), 0,
            d[C::kVectorDrain], d[C::kVectorOverlap]};
  }
  // What 8-bit inputs sustain was fitted to floats. Integers, which cost less energy than floats of
  // their width, sustain what 16 bits do: with the rate of floats products of integers on an RTX
  // 4090 came out 20 % too slow.
  const bool narrow_floats = p.input_bytes <= 1 && p.energy_width >= p.input_bytes;
  const double share = p.blocks != nullptr ? p.blocks->share
                       : Widens(d, p)      ? d.library->widening.rate
                       : narrow_floats     ? d[C::kTensorEfficiency8]
                                           : d[C::kTensorEfficiency];
  const double rate = p.rows != nullptr ? p.rows->rate : 1;
  return {std::min(1.0, share * p.spare), RateOfLongSums(d, p) * rate, d[C::kTensorFill] * p.fill,
          d[C::kTensorDrain], d[C::kTensorOverlap]};
}

}  // namespace

double LoadsOverArithmetic(const TimingDevice& d, double rate, double element_bytes, double sides) {
  return rate / d.clock * element_bytes / (2 * d.library->vector_loads) * sides;
}

// What stays the same for all tiles: computed once.
struct GemmTimer::Shared {
  UnitConstants c;
  double a, w, out;       // bytes of activations, weights, result
  double miss_a, miss_w;  // shares that come from device memory
  double first_bytes;     // operands from device memory, nothing read twice
  double other_bytes;     // the result and other operands, to and from device memory
  double sustained;       // byte/s of device memory
  double cache_rate;      // byte/s
  double weight_width;    // bytes of one weight as tiles load it
  double widening;        // seconds of one unit to widen a weight; 0: none widens
  double keep_a, keep_w;  // share of one matrix that the cache cannot keep for a second panel
};

GemmTimer::GemmTimer(const TimingDevice& d, const GemmProblem& p, const Conditions& conditions)
    : device_(d), problem_(p), conditions_(conditions) {
  Shared s;
  s.c = Constants(d, p);
  s.a = p.activation_bytes.value_or(p.batch * p.m * p.k * p.input_bytes);
  s.w = p.weight_bytes.value_or(p.batch * p.n * p.k * p.input_bytes);
  s.out = p.batch * p.m * p.n * p.output_bytes;
  s.miss_a = MissShare(d, conditions, s.a + s.w + s.out + p.extra_bytes);
  s.miss_w = WeightMissShare(d, conditions, s.a + conditions.weight_copies * s.w + s.out);
  s.first_bytes = s.a * s.miss_a + s.w * s.miss_w;
  s.other_bytes = (s.out + p.extra_bytes) * s.miss_a;
  s.weight_width = Widens(d, p) ? p.narrow_weight : p.input_bytes;
  s.widening = Widens(d, p) ? 1 / (d.library->widening.weights_per_clock * d.clock) : 0;
  s.sustained = d.memory_rate * d[Constant::kMemorySustained];
  s.cache_rate = CacheRate(d);
  const auto too_large = [&](double bytes) {
    return d.cache <= 0 ? 1.0 : std::clamp((bytes / d.cache - 0.3) / 0.7, 0.0, 1.0);
  };
  s.keep_a = too_large(s.a / p.batch);
  s.keep_w = too_large(s.w / p.batch);
  shared_ = std::make_shared<const Shared>(s);
}

namespace {

double StreamSeconds(const TimingDevice& d, double sustained, double bytes) {
  const double stream = bytes / sustained;
  return stream + std::min(d[Constant::kMemoryLatency], stream);
}

// How often the operands pass where no cache keeps them: the matrix of the columns (weights) and
// that of the rows (activations).
struct Passes {
  double columns = 1, rows = 1;
};

// Blocks that run together cover `across` columns of tiles and `down` rows of tiles, close to a
// square; each group reads the panels of the other matrix again.
Passes InSquares(const TimingDevice& d, const GemmProblem& p, const TileGrid& grid) {
  const double tiles_m = std::ceil(p.m / grid.tile_m.AsDouble());
  const double tiles_n = std::ceil(p.n / grid.tile_n.AsDouble());
  const double together = std::max(1.0, std::min(tiles_m * tiles_n, d.units * kTogether));
  const double square = std::max(std::ceil(std::sqrt(together)), together / tiles_m);
  const double across = std::min(tiles_n, square);
  const double down = std::min(tiles_m, std::max(1.0, together / across));
  return {std::max(tiles_m / down, 1.0), std::max(tiles_n / across, 1.0)};
}

// Share of the rated bandwidth that loads along rows of k elements reach.
double StridedRate(const StridedLoads& loads, double k) {
  return loads.sustained * (1 + loads.short_rows / k);
}

// What blocks that drift apart no longer share: half after so many steps.
double Lost(double steps, double half) {
  const double drift = steps / half, steep = drift * std::sqrt(drift);
  return steep / (1 + steep);
}

// Blocks start in the order of their numbers, one row of tiles after the other (recorded grids have
// the columns of the result in x), and share what they read while they walk side by side.
Passes RowByRow(const TimingDevice& d, const GemmProblem& p, const TileGrid& grid,
                const StridedLoads* strided) {
  const double rows = grid.tile_m.AsDouble(), columns = grid.tile_n.AsDouble();
  const double split = grid.split_k.AsDouble();
  const double tiles_m = std::ceil(p.m / rows), tiles_n = std::ceil(p.n / columns);
  const double resident = std::max(1.0, static_cast<double>(kSumsPerUnit) / (rows * columns));
  const double places = std::max(1.0, d.units * resident / split);
  const double across = std::min(tiles_n, places);
  const double down = std::clamp(places / tiles_n, 1.0, tiles_m);
  Passes passes{tiles_m / down, tiles_n / across};
  if (strided == nullptr || strided->columns_drift <= 0) return passes;
  const double steps = p.k / split;
  const double reach = std::min(rows, columns) < kSumsPerThread ? strided->narrow : 1;
  const double rounds = std::pow(tiles_m * tiles_n / places, strided->rounds_power);
  passes.columns +=
      Lost(steps * rounds, strided->columns_drift * reach) * (tiles_m - passes.columns);
  passes.rows += Lost(steps * std::sqrt(std::sqrt(rounds)), strided->rows_drift * reach) *
                 (tiles_n - passes.rows);
  return passes;
}

// The 8-norm of two times that overlap almost completely.
double AlmostLonger(double a, double b) {
  const double longer = std::max(a, b);
  double power = std::min(a, b) / longer;
  for (int i = 0; i < 3; ++i) power *= power;
  return longer * std::sqrt(std::sqrt(std::sqrt(1 + power)));
}

// Seconds of all waves on matrix units, `tile` one of them and `results` until all results have
// left. Nothing computes in a unit that one block fills while they leave; of blocks that share it
// others do, in part.
double TensorWaves(const TileGrid& grid, double depth, double waves, double tile, double results) {
  if (grid.resident <= 1 || depth <= kShortSum) return waves * tile + results;
  const double each = results / waves;
  return tile + each + (waves - 1) * std::hypot(tile, each);
}

}  // namespace

GemmTime GemmTimer::Tiled(const TileGrid& grid, double best) const {
  const TimingDevice& d = device_;
  const GemmProblem& p = problem_;
  const Shared& s = *shared_;
  GemmTime t;
  const double rows = grid.tile_m.AsDouble(), columns = grid.tile_n.AsDouble();
  const double split = grid.split_k.AsDouble();
  const double depth = grid.padded_k().AsDouble() / split;
  t.tiles = grid.Blocks().AsDouble();
  const double threads = rows * columns * grid.slices.AsDouble();
  if (s.widening > 0) {
    // One block a unit, whose warps share k, walks its part of the steps along k of all tiles.
    const double steps = depth / grid.tile_k.AsDouble();
    t.waves = std::ceil(t.tiles * steps / d.units) / steps;
    t.busy = 1;
  } else {
    t.waves = Waves(d, p, grid, t.tiles);
    t.busy = p.tensor ? std::min(1.0, t.waves * threads / d[Constant::kTileBusyArea])
                      : VectorBusy(*d.library, t.waves, grid);
  }
  t.padding = grid.PaddingShare();
  // What ragged extents cost was seen on whole products, not on parts of k.
  const double shape = split > 1 && !p.tensor ? std::max(1.0, s.c.shape) : s.c.shape;
  t.efficiency = std::min(1.0, s.c.efficiency * shape * LoadsRate(d, p, rows, columns));

  // Warps whose columns lie beyond the matrix compute nothing. Strided-batched kernels do all of
  // their tiles: recorded times do not fall with columns below the tile's.
  const double tiles_n = std::ceil(p.n / columns);
  const double used =
      p.tensor || p.batch > 1 ? columns : std::min(columns, RoundUp(p.n, kWarpColumns) / tiles_n);
  const double arithmetic = 2 * rows * used * depth / (p.peak / d.units * t.efficiency);
  const double loads = (rows * p.input_bytes + columns * s.weight_width) * depth;
  const double fill = s.c.fill > 0 ? loads / (s.c.fill * d.clock) : 0;
  const Library& library = *d.library;
  const double start = library.tile_start + (p.input_bytes < 1 ? library.tile_start_4bit : 0);
  const double overhead = d[Constant::kTileOverhead] + (p.tensor ? start : 0);
  const double part_bytes = split > 1 ? 4 : p.output_bytes;
  const double drain_rate = s.c.drain * d.clock;
  const double widening = columns * depth * s.widening;
  t.widening_seconds = t.waves * widening;
  const double compute = AlmostLonger(arithmetic + widening, fill) / t.busy;
  if (p.tensor) {
    // What limits the results is the cache that takes them, not the unit, so that padding and idle
    // units cost nothing.
    t.tile_seconds = compute + overhead;
    t.start_seconds = p.start;
    const double drain = p.batch * p.m * p.n * split * part_bytes / (d.units * drain_rate);
    t.units_seconds = p.start + TensorWaves(grid, depth, t.waves, t.tile_seconds, drain);
  } else {
    // While one block drains its tile another one computes; the last drain stands alone.
    const double drain = rows * columns * part_bytes / drain_rate;
    t.tile_seconds = AlmostLonger(compute, drain) + overhead;
    t.units_seconds = t.waves * t.tile_seconds + std::min(compute, drain);
  }
  const double cool = t.units_seconds;
  t.units_seconds = UnderPower(d, {.tensor = p.tensor,
                                   .energy_width = p.energy_width,
                                   .flops = 2 * p.batch * p.m * p.n * p.k,
                                   .rate = p.peak * s.c.efficiency,
                                   .seconds = t.units_seconds,
                                   .steady = !conditions_.rested && !p.tensor});
  t.hot_seconds = t.units_seconds - cool;

  const StridedLoads* strided = p.linear && !p.tensor ? &d.library->strided : nullptr;
  if (strided != nullptr && strided->sustained <= 0) strided = nullptr;
  const bool rows_first = !p.tensor && d.library->row_by_row;
  const Passes passes = rows_first ? RowByRow(d, p, grid, strided) : InSquares(d, p, grid);
  t.reread_bytes = s.w * s.keep_w * (passes.columns - 1) + s.a * s.keep_a * (passes.rows - 1);
  t.memory_bytes = s.first_bytes + t.reread_bytes + s.other_bytes;
  const double operands = s.first_bytes + t.reread_bytes;
  const double slower =
      strided != nullptr && !grid.wide
          ? std::max(1.0, d[Constant::kMemorySustained] / StridedRate(*strided, p.k))
          : 1;
  t.memory_seconds = StreamSeconds(d, s.sustained, operands * slower + s.other_bytes);
  const double longer = depth * (rows > columns ? rows * p.input_bytes : columns * s.weight_width);
  const double shared = p.tensor ? longer * (1 - 1.0 / d.library->shared_loads) : 0;
  t.cache_bytes = t.tiles * (loads - shared);
  t.cache_seconds = t.cache_bytes / s.cache_rate;
  if (split > 1) {
    // Every part writes 4-byte sums; a last pass reads them and writes the result. On matrix units
    // it is a kernel of its own.
    t.split_seconds = d[p.tensor ? Constant::kLaunchGraph : Constant::kTileSplit] +
                      p.batch * p.m * p.n * 4 * split * 1.5 / s.cache_rate;
  }
  // Between neighbours. Experts have tiles enough to leave them whole.
  if (s.widening > 0 && p.batch <= 1) t.split_seconds += d[Constant::kTileSplit];
  t.seconds = std::max({t.units_seconds, t.memory_seconds, t.cache_seconds}) + t.split_seconds;
  if (t.seconds < best) {  // else the norm, which is no less, need not be worked out
    t.seconds =
        Overlap(s.c.overlap, t.units_seconds, t.memory_seconds, t.cache_seconds) + t.split_seconds;
  }
  AddLaunch(t);
  return t;
}

GemmTime GemmTimer::Vector() const {
  const TimingDevice& d = device_;
  const GemmProblem& p = problem_;
  const Shared& s = *shared_;
  GemmTime t;
  t.tiles = d.units;
  t.waves = 1;
  t.efficiency = s.c.efficiency;
  t.units_seconds = 2 * p.batch * p.m * p.n * p.k / (p.peak * s.c.efficiency);
  if (p.few != nullptr) {
    const double clocks = p.m * p.n * (p.few->result + p.few->element * p.k) / d.units;
    t.start_seconds = std::ceil(p.k / p.few->walk) * p.few->wait;
    t.units_seconds = std::max(t.units_seconds, clocks / d.clock) + t.start_seconds;
  }
  t.tile_seconds = t.units_seconds;
  t.memory_bytes = s.first_bytes + s.other_bytes;
  t.memory_seconds = StreamSeconds(d, s.sustained, t.memory_bytes);
  t.cache_bytes = s.a + s.w + s.out;
  t.cache_seconds = t.cache_bytes / s.cache_rate;
  t.seconds = std::max({t.units_seconds, t.memory_seconds, t.cache_seconds});
  AddLaunch(t);
  return t;
}

std::span<const TileShape> GemmTimer::Tiles() const {
  const Library& library = *device_.library;
  if (Widens(device_, problem_)) return library.widening.tiles;
  if (problem_.blocks != nullptr) return problem_.blocks->tiles;
  if (problem_.rows != nullptr) return problem_.rows->tiles;
  return problem_.tensor ? library.gemm_tensor : library.gemm_vector;
}

bool GemmTimer::Splits() const {
  const bool whole = problem_.biased && !problem_.tensor && device_.library->biased_whole;
  return !whole && (problem_.rows == nullptr || problem_.rows->splits);
}

void GemmTimer::AddLaunch(GemmTime& t) const {
  t.launch_seconds = device_[Constant::kLaunchGraph];
  t.seconds += t.launch_seconds;
}

}  // namespace dlcost
