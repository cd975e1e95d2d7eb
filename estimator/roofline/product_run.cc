#include <algorithm>
#include <cmath>

#include "estimator/roofline/choose.h"
#include "estimator/roofline/explain_tiles.h"
#include "estimator/roofline/gemm_time.h"
#include "estimator/roofline/part.h"
#include "estimator/roofline/terms.h"

namespace dlcost {
namespace {

// What the library has for rows of 16-bit operands or results as they lie, on matrix units that are
// not cut; null: its usual kernels. A single row is a matrix-vector product.
const UnalignedRows* RowsOf(const Target& target, DType type, const GemmNest& nest) {
  if (!target.options.odd_rows || Bits(type) != 16 || nest.m <= Count(1) || nest.n <= Count(1)) {
    return nullptr;
  }
  if (target.timing != nullptr && (*target.timing)[Constant::kTensorCut] < 1) return nullptr;
  const Count row = nest.a_transposed ? nest.m : nest.k;
  const auto divides = [&](std::int64_t by) {
    return nest.n % by == Count(0) && row % by == Count(0);
  };
  constexpr std::int64_t kPiece = 8;  // elements in 16 bytes
  if (!divides(2)) return &target.library.odd_rows;
  return divides(kPiece) ? nullptr : &target.library.even_rows;
}

GemmProblem GemmProblemOf(const Part& part, const GemmNest& nest, const ComputeUnit& unit) {
  GemmProblem p{.batch = nest.batch.AsDouble(),
                .m = nest.m.AsDouble(),
                .n = nest.n.AsDouble(),
                .k = nest.k.AsDouble(),
                .input_bytes = unit.bytes,
                .energy_width = unit.energy_width,
                .output_bytes = unit.bytes,
                .tensor = unit.tensor,
                .linear = nest.batch == Count(1) && nest.b_is_weight,
                .peak = unit.peak,
                .spare = unit.spare};
  const double results = p.batch * p.m * p.n;
  p.biased = part.kernel.biased;
  p.output_bytes = std::clamp(part.written / results, 1.0, 8.0);
  const double first = p.batch * p.m * p.k * p.input_bytes;
  const double rest = part.read - first;
  if (part.stored > 0) {
    p.weight_bytes = part.stored;
    p.extra_bytes = rest - part.stored;
    p.narrow_weight = part.stored_bits < 8 * p.input_bytes ? part.stored_bits / 8.0 : 0;
  } else {
    const double weights = p.batch * p.n * p.k * p.input_bytes;
    if (rest > 0 && rest < weights) p.weight_bytes = rest;  // stored in fewer bits, or broadcast
    if (p.weight_bytes && p.linear) p.narrow_weight = rest / (p.n * p.k);
    p.extra_bytes = std::max(0.0, rest - weights);
  }
  return p;
}

// The library's kernels on vector units for few rows of 8-bit floats; null: others run.
const FewRows8Bit* FewRowsOf(const Target& target, DType type, const GemmNest& nest) {
  const FewRows8Bit& few = target.library.few_rows_8bit;
  const bool takes = IsFloat(type) && Bits(type) == 8 && nest.batch <= Count(1) &&
                     nest.b_is_weight && nest.m <= Count(few.rows);
  return takes ? &few : nullptr;
}

// What may round to TF32 need not: one row is a matrix-vector product of floats. Single results
// are reductions in any type. Batches with odd rows: UnalignedRows.
std::optional<ComputeUnit> UnitOf(const Target& target, DType type, const GemmNest& nest) {
  std::optional<ComputeUnit> unit = FindUnit(target, type);
  if (!unit || !unit->tensor) return unit;
  const bool one = nest.m <= Count(1) || nest.n <= Count(1);
  if (type == DType::kFloat32) return one ? FindVectorUnit(target, type) : unit;
  const UnalignedRows* rows = nest.batch > Count(1) ? RowsOf(target, type, nest) : nullptr;
  const bool row = one && target.library.row_on_vectors && IsFloat(type) && Bits(type) == 16;
  const bool in_float = (rows != nullptr && rows->batched_in_float) ||
                        FewRowsOf(target, type, nest) != nullptr || row || IsDot(nest);
  const std::optional<ComputeUnit> floats = in_float ? InFloat(target, type) : std::nullopt;
  return floats ? floats : unit;
}

// Where weights are multiplied in blocks (RunOptions::int8_blocks).
std::optional<ComputeUnit> BlockUnitOf(const Target& target, const Kernel& kernel,
                                       const GemmProblem& usual) {
  const bool blocks = target.options.int8_blocks && usual.tensor && StoresNarrow(kernel) &&
                      usual.m > GgmlBlocks().streamed_rows;
  const std::optional<ComputeUnit> unit = blocks ? FindUnit(target, DType::kInt8) : std::nullopt;
  return unit && unit->tensor ? unit : std::nullopt;
}

// What the library chooses a tile for: Library::tuned_batch.
Count ChosenBatch(const Library& library, const GemmNest& nest, const ComputeUnit& unit) {
  const bool tuned = unit.tensor && library.tuned_batch > 0 && nest.batch > Count(1);
  return tuned ? Count(library.tuned_batch) : nest.batch;
}

GemmProblem WithBatch(GemmProblem p, double batch) {
  const double share = batch / p.batch;
  p.batch = batch;
  if (p.weight_bytes) *p.weight_bytes *= share;
  p.extra_bytes *= share;
  return p;
}

Execution Choose(const Target& target, const Part& part, const GemmNest& nest,
                 const ComputeUnit& unit, const GemmTimer* timer) {
  const bool few = nest.m <= Count(target.library.vector_rows) || nest.n <= Count(1) ||
                   FewRowsOf(target, part.type, nest) != nullptr;
  if (!unit.tensor && few) {
    return MatrixVector(nest, part.type, target.library);
  }
  return TiledGemm(nest, ChooseProduct(target, part.type, nest, unit, timer), target.library);
}

void ExplainProduct(const Target& target, const GemmProblem& p, const TileGrid* grid,
                    const GemmTime& t, PartTime& time) {
  const TimingDevice& d = *target.timing;
  TermWriter terms(time.terms);
  terms.Fact("work", 2 * p.batch * p.m * p.n * p.k, "FLOP",
             fmt::format("2 x {:.0f} x {:.0f} x {:.0f} x {:.0f} (batch, m, n, k)", p.batch, p.m,
                         p.n, p.k));
  terms.TimeIfAny("launch", time.launch);
  const double together = t.seconds - t.launch_seconds - t.split_seconds;
  if (grid == nullptr) {
    TermWriter side = terms.Longest("together", together);
    if (p.few != nullptr) {
      side.Time("few rows", t.units_seconds,
                "threads widen 8-bit floats, multiply in fp32 and add up across a block");
      side.Below().Fact("clocks", p.few->result + p.few->element * p.k, "clocks",
                        fmt::format("of a unit for each of {:.0f} results: {:g} + {:g} x {:.0f}",
                                    p.m * p.n, p.few->result, p.few->element, p.k));
      side.Below().Time("waiting", t.start_seconds,
                        fmt::format("for {} elements of k at a time", p.few->walk));
    } else {
      side.Time("arithmetic", t.units_seconds,
                fmt::format("matrix-vector: {:.1f} % of the peak", 100 * t.efficiency));
    }
    side.Time("device memory", t.memory_seconds);
    side.Time("cache", t.cache_seconds);
  } else {
    TermWriter side = terms.Norm("together", together,
                                 d[p.tensor ? Constant::kTensorOverlap : Constant::kVectorOverlap]);
    side.Time("all waves", t.units_seconds);
    if (t.widening_seconds > 0) side.Below().Time("widening weights", t.widening_seconds);
    if (p.rows != nullptr) {
      side.Below().Fact("rate", 100 * p.rows->rate, "%", "rows that are no multiple of 16 bytes");
      time.advice.push_back(
          "Rows of 16-bit elements that 8 does not divide take slower kernels; pad them.");
    }
    ExplainTiles(d.units, *grid, {t.waves, t.tile_seconds, t.efficiency, t.busy}, side.Below(),
                 time.advice);
    side.Time("device memory", t.memory_seconds,
              t.reread_bytes > 0 ? "part of it read again along the tile walk" : "");
    side.Below().Fact("bytes", t.memory_bytes, "B");
    side.Time("cache", t.cache_seconds);
    side.Below().Fact("bytes", t.cache_bytes, "B", "operands of all tiles");
  }
  terms.TimeIfAny("adding up parts of k", t.split_seconds);
}

bool KeepsSums(const WholeSums& whole, const GemmNest& nest, const ComputeUnit& unit) {
  if (nest.m <= Count(1)) return false;
  if (nest.m * nest.n * nest.k < Count(whole.multiply_adds)) return true;
  return unit.bytes == 2 && nest.m <= Count(whole.rows) && nest.n >= Count(whole.columns) &&
         nest.k < nest.n * whole.ratio;
}

}  // namespace

GemmOptions ChooseProduct(const Target& target, DType type, const GemmNest& nest,
                          const ComputeUnit& unit, const GemmTimer* timer, bool shares_k) {
  const Library& library = target.library;
  GemmOptions options{.pipe = unit.pipe(), .type = type};
  const OccupancyRule& rule = nest.batch > Count(1) ? library.batched : library.linear;
  const bool timed = unit.tensor || (rule.tiles.empty() && library.linear_by_time);
  if (timed && timer != nullptr) {
    const bool whole = unit.tensor && KeepsSums(library.whole, nest, unit);
    GemmNest chosen = nest;
    chosen.batch = ChosenBatch(library, nest, unit);
    const bool splits = shares_k && nest.batch == Count(1) && !whole && timer->Splits();
    const TimedTile best = FastestTile(
        chosen, timer->Tiles(), unit.bytes, splits,
        [&](const TileGrid& grid, double least) { return timer->Tiled(grid, least).seconds; });
    options.tile = best.tile;
    options.split_k = best.split_k;
  } else if (!unit.tensor && !rule.tiles.empty()) {
    const RuledTile ruled = ByOccupancy(nest, rule, target.device);
    options.tile = ruled.tile;
    options.split_k = ruled.split_k;
  } else {
    const auto tiles = unit.tensor ? library.gemm_tensor : library.gemm_vector;
    options.tile = ChooseTile(nest, tiles, target.device);
    options.split_k = ChooseSplit(GridOf(nest, options.tile), options.tile, target.device);
  }
  return options;
}

PartRun RunProduct(const Target& target, const Part& part, const GemmNest& nest) {
  PartRun run;
  if (MacsOf(nest) == Count(0)) return run;
  std::optional<ComputeUnit> unit = UnitOf(target, part.type, nest);
  if (!unit || target.timing == nullptr) {
    run.execution = Choose(target, part, nest, unit.value_or(ComputeUnit()), nullptr);
    return run;
  }
  GemmProblem p = GemmProblemOf(part, nest, *unit);
  if (const std::optional<ComputeUnit> blocks = BlockUnitOf(target, part.kernel, p)) {
    unit = blocks;
    p = GemmProblemOf(part, nest, *unit);
    p.blocks = &GgmlBlocks();
    p.narrow_weight = 0;  // they are multiplied as they are
  }
  const UnalignedRows* rows = unit->tensor ? RowsOf(target, part.type, nest) : nullptr;
  if (rows != nullptr && !rows->tiles.empty() && (p.batch <= 1 || !rows->batched_in_float)) {
    p.rows = rows;
  }
  if (!unit->tensor) p.few = FewRowsOf(target, part.type, nest);
  const Conditions conditions =
      ConditionsOf(target, part, p.weight_bytes.value_or(p.batch * p.n * p.k * p.input_bytes));
  const GemmTimer timer(*target.timing, p, conditions);
  const Count batch = ChosenBatch(target.library, nest, *unit);
  if (batch == nest.batch) {
    run.execution = Choose(target, part, nest, *unit, &timer);
  } else {
    const GemmProblem tuned = WithBatch(p, batch.AsDouble());
    const GemmTimer choice(*target.timing, tuned, conditions);
    run.execution = Choose(target, part, nest, *unit, &choice);
  }
  const TileGrid* grid = run.execution.Grid();
  const GemmTime t = grid != nullptr ? timer.Tiled(*grid) : timer.Vector();
  PartTime& time = run.time.emplace();
  time.launch = t.launch_seconds;
  time.units = t.units_seconds;
  time.hot = t.hot_seconds;
  time.memory = t.memory_seconds;
  time.cache = t.cache_seconds;
  time.parts = t.split_seconds;
  time.seconds = t.seconds;
  // A linear layer is a product with its bias: views of both, descriptors, the library's heuristics
  // (cublasLtMatmulAlgoGetHeuristic). Batched products are called by name
  // (cublasSgemmStridedBatched).
  if (p.batch <= 1) time.setup = (*target.timing)[Constant::kLaunchProduct];
  time.range = (*target.timing)[p.batch > 1 ? Constant::kRangeBatched : Constant::kRangeGemm];
  if (target.options.explain) ExplainProduct(target, p, grid, t, time);
  ApplySustainedPower(target, *unit, 2 * p.batch * p.m * p.n * p.k, time);
  return run;
}

}  // namespace dlcost
