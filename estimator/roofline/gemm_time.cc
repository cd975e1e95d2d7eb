#include "estimator/roofline/gemm_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dlcost {
namespace {

constexpr double kWarpColumns = 8;  // columns of a vector kernel's tile that one warp computes

// The constants of one kind of unit.
struct UnitConstants {
  double efficiency, shape, tile_penalty, fill, drain, overhead, busy_area, split, overlap,
      resident;
  bool squares;  // blocks that run together cover squares of the result
};

// Vector loads of 16 bytes need rows that start at multiples of 16 bytes.
bool Aligned(const GemmProblem& p) {
  const double elements = std::max(1.0, 16 / p.input_bytes);
  return std::fmod(p.k, elements) == 0 && std::fmod(p.n, elements) == 0;
}

double VectorShape(const TimingDevice& d, const GemmProblem& p) {
  if (p.batch > 1) return d[Constant::kVectorBatched];
  return std::fmod(p.m, 64) == 0 ? 1 : d[Constant::kVectorRagged];
}

UnitConstants Constants(const TimingDevice& d, const GemmProblem& p) {
  using C = Constant;
  if (!p.tensor) {
    return {d[C::kVectorEfficiency], VectorShape(d, p),          d[C::kVectorTilePenalty],
            d[C::kVectorFill],       d[C::kVectorDrain],         d[C::kTileOverhead],
            d[C::kTileBusyArea],     d[C::kTileSplit],           d[C::kVectorOverlap],
            d[C::kVectorResident],   d[C::kVectorSquares] >= 0.5};
  }
  return {p.input_bytes <= 1 ? d[C::kTensorEfficiency8] : d[C::kTensorEfficiency],
          Aligned(p) ? 1 : d[C::kTensorUnaligned],
          d[C::kTensorTilePenalty],
          d[C::kTensorFill],
          d[C::kTensorDrain],
          d[C::kTileOverhead],
          d[C::kTileBusyArea],
          d[C::kTileSplit],
          d[C::kTensorOverlap],
          d[C::kTensorResident],
          true};
}

// What stays the same for all tiles: computed once.
struct Shared {
  UnitConstants c;
  double a, w, out;       // bytes of activations, weights, result
  double miss_a, miss_w;  // shares that come from device memory
  double first_bytes;     // from device memory, nothing read twice
  double sustained;       // byte/s of device memory
  double cache_rate;      // byte/s
  double keep_a, keep_w;  // share of one matrix that the cache cannot keep for a second panel
};

Shared Prepare(const TimingDevice& d, const GemmProblem& p, const Conditions& conditions) {
  Shared s;
  s.c = Constants(d, p);
  s.a = p.activation_bytes.value_or(p.batch * p.m * p.k * p.input_bytes);
  s.w = p.weight_bytes.value_or(p.batch * p.n * p.k * p.input_bytes);
  s.out = p.batch * p.m * p.n * p.output_bytes;
  s.miss_a = MissShare(d, conditions, s.a + s.w + s.out + p.extra_bytes);
  s.miss_w = WeightMissShare(d, conditions, s.a + conditions.weight_copies * s.w + s.out);
  s.first_bytes = s.a * s.miss_a + s.w * s.miss_w + (s.out + p.extra_bytes) * s.miss_a;
  s.sustained = d.memory_rate * d[Constant::kMemorySustained];
  s.cache_rate = CacheRate(d);
  const auto too_large = [&](double bytes) {
    return d.cache <= 0 ? 1.0 : std::clamp((bytes / d.cache - 0.3) / 0.7, 0.0, 1.0);
  };
  s.keep_a = too_large(s.a / p.batch);
  s.keep_w = too_large(s.w / p.batch);
  return s;
}

double StreamSeconds(const TimingDevice& d, const Shared& s, double bytes) {
  const double stream = bytes / s.sustained;
  return stream + std::min(d[Constant::kMemoryLatency], stream);
}

// The 8-norm of two times that overlap almost completely.
double AlmostLonger(double a, double b) {
  const double longer = std::max(a, b);
  double power = std::min(a, b) / longer;
  for (int i = 0; i < 3; ++i) power *= power;
  return longer * std::sqrt(std::sqrt(std::sqrt(1 + power)));
}

// Gives up, with an infinite time, as soon as it is clear that the tile is no faster than `best`.
GemmTime WithTile(const TimingDevice& d, const GemmProblem& p, const Shared& s, Tile tile,
                  int split, double best = std::numeric_limits<double>::infinity()) {
  GemmTime t;
  t.tile = tile;
  t.split = split;
  const double rows = tile.rows, columns = tile.columns;
  const double tiles_m = std::ceil(p.m / rows), tiles_n = std::ceil(p.n / columns);
  // The main loop advances by 64 bytes of each row.
  const double step = 64 / p.input_bytes;
  const double depth = RoundUp(p.k / split, step);
  t.tiles = p.batch * tiles_m * tiles_n * split;
  t.waves = std::ceil(t.tiles / d.units);
  t.busy = std::min(1.0, t.waves * rows * columns / s.c.busy_area);
  t.padding = 1 - p.batch * p.m * p.n * p.k / (t.tiles * rows * columns * depth);
  t.efficiency =
      std::min(1.0, s.c.efficiency * s.c.shape / (1 + s.c.tile_penalty * (1 / rows + 1 / columns)));

  // Warps whose columns lie beyond the matrix compute nothing.
  const double used = p.tensor ? columns : std::min(columns, RoundUp(p.n, kWarpColumns) / tiles_n);
  const double arithmetic = 2 * rows * used * depth / (p.peak / d.units * t.efficiency);
  const double fill = (rows + columns) * depth * p.input_bytes / (s.c.fill * d.clock);
  const double part_bytes = split > 1 ? 4 : p.output_bytes;
  const double drain = rows * columns * part_bytes / (s.c.drain * d.clock);
  const double compute = AlmostLonger(arithmetic, fill) / t.busy;
  if (p.tensor) {
    // One block fills a unit: nothing computes while its tile drains.
    t.tile_seconds = compute + drain + s.c.overhead;
    t.units_seconds = t.waves * t.tile_seconds;
  } else {
    // While one block drains its tile another one computes; the last drain stands alone.
    t.tile_seconds = AlmostLonger(compute, drain) + s.c.overhead;
    t.units_seconds = t.waves * t.tile_seconds + std::min(compute, drain);
  }
  t.units_seconds = UnderPower(d, {.tensor = p.tensor,
                                   .bytes = p.input_bytes,
                                   .flops = 2 * p.batch * p.m * p.n * p.k,
                                   .rate = p.peak * s.c.efficiency,
                                   .seconds = t.units_seconds});

  // Blocks that run together cover `across` columns of tiles and `down` rows of tiles, close to a
  // square or along n first; each group reads the panels of the other matrix again.
  const double together =
      std::max(1.0, std::min(t.tiles / split / p.batch, d.units * s.c.resident));
  const double square = std::max(std::ceil(std::sqrt(together)), together / tiles_m);
  const double across = std::min(tiles_n, s.c.squares ? square : together);
  const double down = std::min(tiles_m, std::max(1.0, together / across));
  t.reread_bytes = s.w * s.keep_w * (std::max(tiles_m / down, 1.0) - 1) +
                   s.a * s.keep_a * (std::max(tiles_n / across, 1.0) - 1);
  t.memory_bytes = s.first_bytes + t.reread_bytes;
  t.memory_seconds =
      StreamSeconds(d, s, s.first_bytes + t.reread_bytes / d[Constant::kMemoryReread]);
  // Blocks of a cluster load the operand that they share once.
  const double shared =
      p.tensor ? std::max(rows, columns) * (1 - 1 / d[Constant::kTensorCluster]) : 0;
  t.cache_bytes = t.tiles * (rows + columns - shared) * depth * p.input_bytes;
  t.cache_seconds = t.cache_bytes / s.cache_rate;
  if (split > 1) {
    // Every part writes 4-byte sums; a last pass reads them and writes the result.
    t.split_seconds = s.c.split + p.batch * p.m * p.n * 4 * split * 1.5 / s.cache_rate;
  }
  if (std::max({t.units_seconds, t.memory_seconds, t.cache_seconds}) + t.split_seconds >= best) {
    t.seconds = std::numeric_limits<double>::infinity();
    return t;
  }
  t.seconds =
      Overlap(s.c.overlap, t.units_seconds, t.memory_seconds, t.cache_seconds) + t.split_seconds;
  return t;
}

// A product with a vector on vector units is no tiled kernel: every unit streams its share of the
// matrix and multiplies as it comes.
GemmTime WithVector(const TimingDevice& d, const GemmProblem& p, const Shared& s) {
  GemmTime t;
  t.tiles = d.units;
  t.waves = 1;
  t.efficiency = s.c.efficiency;
  t.units_seconds = 2 * p.batch * p.m * p.n * p.k / (p.peak * s.c.efficiency);
  t.tile_seconds = t.units_seconds;
  t.memory_bytes = s.first_bytes;
  t.memory_seconds = StreamSeconds(d, s, t.memory_bytes);
  t.cache_bytes = s.a + s.w + s.out;
  t.cache_seconds = t.cache_bytes / s.cache_rate;
  t.seconds = std::max({t.units_seconds, t.memory_seconds, t.cache_seconds});
  return t;
}

void AddSurroundings(const TimingDevice& d, const GemmProblem& p, const Conditions& conditions,
                     const Shared& s, GemmTime* t) {
  t->launch_seconds = d[conditions.eager ? Constant::kLaunchEager : Constant::kLaunchGraph];
  if (p.bias) {
    // The bias is spread over the result by a kernel of its own; the product then adds to it.
    t->launch_seconds += d[conditions.eager ? Constant::kLaunchNext : Constant::kLaunchGraph];
    t->prepare_seconds += s.out / s.sustained;
  }
  if (p.quantize) {
    // One pass finds the largest value, one converts: 16-bit activations twice in, 8-bit out.
    t->launch_seconds += d[Constant::kLaunchQuantize];
    const double bytes = p.batch * p.m * p.k * (2 + 2 + p.input_bytes);
    t->prepare_seconds += bytes * s.miss_a / s.sustained + bytes * (1 - s.miss_a) / s.cache_rate;
  }
  t->seconds += t->launch_seconds + t->prepare_seconds;
}

}  // namespace

GemmTime GemmWithTile(const TimingDevice& device, const GemmProblem& problem,
                      const Conditions& conditions, Tile tile, int split) {
  const Shared shared = Prepare(device, problem, conditions);
  GemmTime time = WithTile(device, problem, shared, tile, split);
  AddSurroundings(device, problem, conditions, shared, &time);
  return time;
}

GemmTime ExpectedGemm(const TimingDevice& device, const GemmProblem& problem,
                      const Conditions& conditions) {
  const Shared shared = Prepare(device, problem, conditions);
  const bool batched = problem.batch > 1;
  const std::span<const Tile> tiles = problem.tensor ? TensorTiles()
                                      : batched      ? VectorBatchedTiles()
                                                     : VectorTiles();
  GemmTime best;
  if (!problem.tensor && std::min(problem.m, problem.n) == 1) {
    best = WithVector(device, problem, shared);
  }
  for (const Tile tile : tiles) {
    if (!problem.tensor && batched && tile.rows < device[Constant::kVectorBatchedRows]) continue;
    for (const int split : KSplits()) {
      if (split > 1 && (batched || split > problem.k / 64)) break;
      const GemmTime time =
          WithTile(device, problem, shared, tile, split,
                   best.tiles == 0 ? std::numeric_limits<double>::infinity() : best.seconds);
      if (best.tiles == 0 || time.seconds < best.seconds) best = time;
    }
  }
  AddSurroundings(device, problem, conditions, shared, &best);
  return best;
}

}  // namespace dlcost
