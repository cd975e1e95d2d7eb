#include <algorithm>

#include "estimator/plan/choose.h"
#include "models/algorithms/attention.h"
#include "models/algorithms/gemm.h"
#include "models/algorithms/recurrent.h"

namespace dlcost {
namespace {

// A tile of m x n reuses every operand element it loads mn / (m + n) times on average; it computes
// at x / (x + kReuseHalf) of the peak. At 16, tiles of 32, 64 and 128 reach 1/2, 2/3 and 4/5.
constexpr double kReuseHalf = 16;
// A part of a split that walks less of k than this does not pay for adding it up.
constexpr int kLeastSplitK = 512;

Count Units(const Device& device) { return std::max(1, device.units.value_or(1)); }

double CostOf(const TileGrid& grid, const TileShape& tile, const Device& device) {
  const double m = tile.m, n = tile.n;
  const double reuse = m * n / (m + n);
  const Count rounds = CeilDiv(grid.Blocks(), Units(device));
  return rounds.AsDouble() * m * n * (reuse + kReuseHalf) / reuse;
}

}  // namespace

const Library& LibraryOf(const Device& device) {
  return LibraryFor(device.kind == DeviceKind::kCpu ? "cpu" : device.architecture);
}

Pipe PipeFor(DType type, const Target& target) {
  const Roof roof = FindRoof(*target.device, WorkKind::kMatrix, type, target.math);
  return roof.known && roof.unit == UnitKind::kTensor ? Pipe::kTensor : Pipe::kVector;
}

TileShape ChooseTile(const GemmNest& nest, std::span<const TileShape> tiles, const Device& device) {
  const TileShape* best = &tiles.front();
  double least = CostOf(GridOf(nest, *best), *best, device);
  for (const TileShape& tile : tiles.subspan(1)) {
    const double cost = CostOf(GridOf(nest, tile), tile, device);
    if (cost >= least) continue;
    best = &tile;
    least = cost;
  }
  return *best;
}

Count ChooseSplit(const TileGrid& grid, const TileShape& tile, const Device& device) {
  const Count places = Units(device) * tile.resident;
  const Count blocks = std::max(Count(1), grid.Blocks());
  return std::max(Count(1), std::min(places / blocks, grid.k / kLeastSplitK));
}

Choice ChooseGemm(const GemmNest& nest, DType type, const Target& target) {
  const Library& library = LibraryOf(*target.device);
  if (nest.m <= Count(1) || nest.n <= Count(1)) return {MatrixVector(nest, type, library), ""};
  GemmOptions options{.pipe = PipeFor(type, target), .type = type};
  options.tile =
      ChooseTile(nest, options.pipe == Pipe::kTensor ? library.gemm_tensor : library.gemm_vector,
                 *target.device);
  options.split_k = ChooseSplit(GridOf(nest, options.tile), options.tile, *target.device);
  return {TiledGemm(nest, options, library), ""};
}

Choice ChooseAttention(const AttentionNest& nest, DType type, const Target& target) {
  const Library& library = LibraryOf(*target.device);
  AttentionOptions options{.pipe = PipeFor(type, target), .type = type};
  if (!target.flash) {
    const GemmNest scores{
        .batch = nest.batch * nest.q_heads, .m = nest.q_len, .n = nest.kv_len, .k = nest.qk_dim};
    options.tile = ChooseTile(
        scores, options.pipe == Pipe::kTensor ? library.gemm_tensor : library.gemm_vector,
        *target.device);
    return {MaterializedAttention(nest, options, library), "flash"};
  }
  const Execution whole = FlashAttention(nest, options, library);
  // Few queries leave units idle: the keys are shared out.
  if (PhaseOf(nest) == SequencePhase::kDecode && whole.Grid() != nullptr) {
    const TileShape place{.resident = 1};
    options.split_kv = ChooseSplit(*whole.Grid(), place, *target.device);
  }
  return {FlashAttention(nest, options, library), "materialized"};
}

Choice ChooseRecurrent(const RecurrentNest& nest, DType type, const Target& target) {
  const Library& library = LibraryOf(*target.device);
  RecurrentOptions options{.pipe = PipeFor(type, target), .type = type};
  const GemmNest step{.m = nest.batch, .n = nest.gates * nest.hidden, .k = nest.hidden};
  options.tile =
      ChooseTile(step, options.pipe == Pipe::kTensor ? library.gemm_tensor : library.gemm_vector,
                 *target.device);
  return {RecurrentInputGemm(nest, options, library), "recurrent_persistent"};
}

}  // namespace dlcost
