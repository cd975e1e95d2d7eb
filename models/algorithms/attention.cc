#include "models/algorithms/attention.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/operators/attention_core.h"

namespace dlcost {
namespace {

// Keys before the first query: a cache.
Count Offset(const AttentionNest& nest) { return std::max(Count(0), nest.kv_len - nest.q_len); }

// Blocks of columns that the rows of the first `tiles` whole row blocks touch under a causal mask;
// rows are a multiple of columns.
Count CausalBlocks(Count tiles, Count rows, Count columns, Count offset) {
  return tiles * (tiles + 1) / 2 * (rows / columns) + tiles * CeilDiv(offset, columns);
}

// Keys after its own position that a query sees; -1: all.
std::int64_t KeysAfter(const AttentionNest& nest) {
  if (!nest.causal) return nest.right;
  return nest.right < 0 ? 0 : std::min<std::int64_t>(nest.right, 0);
}

bool HasWindow(const AttentionNest& nest) { return nest.left >= 0 || nest.right >= 0; }

// Blocks of columns that the row blocks touch under a window. Past so many of them each counts as
// one in the middle, which touches most.
Count WindowBlocks(const AttentionNest& nest, Count rows, Count columns) {
  constexpr std::int64_t kMostTiles = 1 << 16;
  const Count all = CeilDiv(nest.kv_len, columns), tiles = CeilDiv(nest.q_len, rows);
  const Count before = nest.left < 0 ? nest.kv_len : std::min(Count(nest.left), nest.kv_len);
  const std::int64_t next = KeysAfter(nest);
  const Count after = next < 0 ? nest.kv_len : std::min(Count(next), nest.kv_len);
  if (tiles > Count(kMostTiles)) {
    return tiles * std::min(all, CeilDiv(before + rows + after, columns) + 1);
  }
  Count blocks;
  for (Count tile = 0; tile < tiles; tile += 1) {
    const Count from = Offset(nest) + tile * rows;
    const Count to = Offset(nest) + std::min(nest.q_len, (tile + 1) * rows) + after;
    const Count first = std::max(Count(0), from - before) / columns;
    blocks += std::max(Count(0), CeilDiv(std::min(nest.kv_len, to), columns) - first);
  }
  return blocks;
}

// Score positions in the tiles that are computed, per head.
Count VisitedScores(const AttentionNest& nest, Count rows, Count columns) {
  if (HasWindow(nest)) return WindowBlocks(nest, rows, columns) * rows * columns;
  const Count all = CeilDiv(nest.kv_len, columns);
  const Count row_tiles = CeilDiv(nest.q_len, rows);
  if (!nest.causal || rows % columns != Count(0)) return row_tiles * all * rows * columns;
  const Count whole = nest.q_len / rows;
  Count blocks = CausalBlocks(whole, rows, columns, Offset(nest));
  if (row_tiles > whole) blocks += CeilDiv(Offset(nest) + nest.q_len, columns);
  return std::min(blocks, row_tiles * all) * rows * columns;
}

Term Vector(std::string what, TermKind kind, DType type, Instructions instructions) {
  return {.what = std::move(what), .kind = kind, .type = type, .instructions = instructions};
}

// Softmax keeps its sums in fp32 whatever the operands are.
DType SoftmaxType(DType type) { return Bits(type) < 32 ? DType::kFloat32 : type; }

constexpr int kWidestHead = 256;  // FlashAttention 2 and 3

// What the way back does beside products: probabilities from scores and the sums of their rows, and
// the gradient of the scores, P (dP - D), from that of the probabilities and D, the sum of dY Y.
void AddBackwardTerms(const AttentionNest& nest, Count heads, Count visited, DType type,
                      Stage& stage) {
  stage.terms.push_back(Vector("probabilities: scale, exponential", TermKind::kPointwise, type,
                               Instructions{.fma = 1, .special = 1} * (heads * visited)));
  stage.terms.push_back(Vector("gradient of the scores", TermKind::kPointwise, type,
                               Instructions{.add = 1, .mul = 2} * (heads * visited)));
  stage.terms.push_back(Vector("sum of gradient and result per row", TermKind::kReduction, type,
                               Instructions{.fma = nest.v_dim} * (heads * nest.q_len)));
}

}  // namespace

AttentionNest WithoutUnseenKeys(AttentionNest nest) {
  if (nest.left < 0) return nest;
  nest.kv_len -= std::max(Count(0), Offset(nest) - Count(nest.left));
  return nest;
}

std::array<BackwardProduct, 5> BackwardProducts(const AttentionNest& nest) {
  const auto product = [&](std::string_view name, Count m, Count n, Count k) {
    return BackwardProduct{name, {.batch = nest.batch * nest.q_heads, .m = m, .n = n, .k = k}};
  };
  const Count q = nest.q_len, kv = nest.kv_len, qk = nest.qk_dim, v = nest.v_dim;
  return {product("scores again", q, kv, qk), product("dP", q, kv, v), product("dV", kv, v, q),
          product("dQ", q, qk, kv), product("dK", kv, qk, q)};
}

Term GradientOfScores(const AttentionNest& nest, DType type) {
  const Count positions = nest.batch * nest.q_heads * nest.q_len * nest.kv_len;
  return {.what = "probabilities, and the gradient of the scores",
          .kind = TermKind::kPointwise,
          .type = Bits(type) < 32 ? DType::kFloat32 : type,
          .instructions = Instructions{.fma = 1, .add = 1, .mul = 2, .special = 1} * positions};
}

Count VisibleScores(const AttentionNest& nest) {
  if (HasWindow(nest)) {
    return ValidScores(nest.q_len.value(), nest.kv_len.value(), Offset(nest).value(), nest.left,
                       KeysAfter(nest));
  }
  if (!nest.causal) return nest.q_len * nest.kv_len;
  const Count rows = std::min(nest.q_len, nest.kv_len);
  return rows * Offset(nest) + rows * (rows + 1) / 2 + (nest.q_len - rows) * nest.kv_len;
}

SequencePhase PhaseOf(const AttentionNest& nest) {
  return nest.q_len * 8 <= nest.kv_len && nest.q_len <= Count(16) ? SequencePhase::kDecode
                                                                  : SequencePhase::kPrefill;
}

std::string_view Name(SequencePhase phase) {
  return phase == SequencePhase::kDecode ? "decode" : "prefill";
}

Execution FlashAttention(const AttentionNest& nest, const AttentionOptions& options,
                         const Library& library) {
  const AttentionConstants& constants = options.kernels ? *options.kernels : library.attention;
  const Count sharing = std::max(Count(1), nest.q_heads / std::max(Count(1), nest.kv_heads));
  // Packing makes rows of heads, which then all see the same keys: no mask within the tile.
  // Heads wider than flash kernels hold are latent ones, whose kernels (FlashMLA) pack all heads.
  const bool latent = nest.q_len == Count(1) && nest.qk_dim > Count(kWidestHead);
  const bool packed =
      !nest.backward && sharing > Count(1) &&
      (latent || (options.pack && nest.q_len * sharing <= Count(constants.most_shared)));
  AttentionNest tiled = WithoutUnseenKeys(nest);
  if (packed) {
    tiled.q_len = nest.q_len * sharing;
    tiled.causal = false;
    tiled.left = tiled.right = -1;
  }
  const Count heads = nest.batch * (packed ? nest.kv_heads : nest.q_heads);
  const bool contiguous = !nest.cached && !nest.backward && nest.q_len > Count(1);
  const int most =
      contiguous ? std::max(constants.contiguous_rows, constants.rows) : constants.rows;
  const Count rows = std::min(Count(most), RoundUp(tiled.q_len, constants.decode_rows));
  const Count columns = constants.columns;

  const Count depth = MacsPerScore(nest);
  const Count dense = tiled.q_len * tiled.kv_len;
  const Count padded = RoundUp(tiled.q_len, rows) * RoundUp(tiled.kv_len, columns);
  const Count visited = VisitedScores(tiled, rows, columns);
  const Count row_count = heads * RoundUp(tiled.q_len, rows);

  Stage stage{.name = "attention"};
  const auto products = [&](std::string what, TermKind kind, Count scores) {
    if (scores == Count(0)) return;
    stage.terms.push_back({.what = std::move(what),
                           .kind = kind,
                           .pipe = options.pipe,
                           .type = options.type,
                           .instructions = {.fma = heads * scores * depth}});
  };
  if (nest.backward) {
    products(fmt::format("gradients, {} heads x {} x {} x ({} x {} + 2 x {})", heads, tiled.q_len,
                         tiled.kv_len, nest.counts_scores ? 3 : 2, nest.qk_dim, nest.v_dim),
             TermKind::kProducts, dense);
    if (!nest.counts_scores) {
      stage.terms.push_back({.what = "scores computed again, not kept",
                             .kind = TermKind::kProducts,
                             .pipe = options.pipe,
                             .type = options.type,
                             .instructions = {.fma = heads * dense * nest.qk_dim}});
    }
  } else {
    products(fmt::format("scores and values, {} heads x {} x {} x ({} + {})", heads, tiled.q_len,
                         tiled.kv_len, nest.qk_dim, nest.v_dim),
             TermKind::kProducts, dense);
  }
  products(fmt::format("tile padding {} x {} -> {} x {}", tiled.q_len, tiled.kv_len,
                       RoundUp(tiled.q_len, rows), RoundUp(tiled.kv_len, columns)),
           TermKind::kPadding, padded - dense);
  products(HasWindow(tiled) ? "tiles outside the window" : "tiles above the diagonal",
           TermKind::kSkipped, visited - padded);
  const DType type = SoftmaxType(options.type);
  if (nest.backward) {
    AddBackwardTerms(nest, heads, visited, type, stage);
    stage.grid = TileGrid{.batch = heads,
                          .m = tiled.kv_len,
                          .n = nest.v_dim,
                          .k = tiled.q_len,
                          .tile_m = rows,
                          .tile_n = std::max(Count(1), nest.v_dim),
                          .tile_k = columns};
    Execution execution{.algorithm = Algorithm::kFlashAttention,
                        .name = fmt::format("flash backward {}x{}", rows, columns)};
    // Blocks of keys add to the gradients of all queries, in fp32.
    const Bytes sums = SizeOf(DType::kFloat32, heads * nest.q_len * nest.qk_dim);
    stage.extra_read = stage.extra_written = sums;
    stage.launches = 3;  // sums of gradients and results per row; the gradients; their queries'
    execution.workspace = sums;
    execution.stages.push_back(std::move(stage));
    return execution;
  }
  stage.terms.push_back(Vector("softmax: scale, exponential, sum", TermKind::kPointwise, type,
                               Instructions{.fma = 1, .add = 1, .special = 1} * (heads * visited)));
  // Whenever a tile of keys has been seen, the sums so far are rescaled to the new maximum.
  const Count updates = heads * visited / columns;
  stage.terms.push_back(Vector("rescale to the running maximum", TermKind::kReduction, type,
                               Instructions{.fma = 1, .mul = nest.v_dim, .special = 1} * updates));
  stage.terms.push_back(Vector("divide by the sums", TermKind::kEpilogue, type,
                               Instructions{.mul = nest.v_dim, .special = 1} * row_count));
  stage.grid = TileGrid{.batch = heads,
                        .m = tiled.q_len,
                        .n = nest.v_dim,
                        .k = tiled.kv_len,
                        .tile_m = rows,
                        .tile_n = std::max(Count(1), nest.v_dim),
                        .tile_k = columns,
                        .split_k = options.split_kv};
  Execution execution{.algorithm = Algorithm::kFlashAttention,
                      .name = fmt::format("flash {}x{}", rows, columns)};
  execution.stages.push_back(std::move(stage));
  if (options.split_kv > Count(1)) {
    // Each part leaves its sums, maximum and denominator in fp32.
    const Bytes parts =
        SizeOf(DType::kFloat32, heads * tiled.q_len * options.split_kv * (nest.v_dim + Count(2)));
    execution.name += fmt::format(" split-kv {}", options.split_kv);
    execution.stages[0].extra_written = parts;
    execution.workspace = parts;
    Stage combine{.name = "combine"};
    combine.extra_read = parts;
    combine.terms.push_back(Vector(fmt::format("join {} parts", options.split_kv),
                                   TermKind::kReduction, type,
                                   Instructions{.fma = nest.v_dim + Count(1), .special = 1} *
                                       (heads * tiled.q_len * options.split_kv)));
    execution.stages.push_back(std::move(combine));
  }
  return execution;
}

Execution MaterializedAttention(const AttentionNest& nest, const AttentionOptions& options,
                                const Library& library) {
  const Count heads = nest.batch * nest.q_heads;
  const Count scores = heads * nest.q_len * nest.kv_len;
  const Bytes size = SizeOf(options.type, scores);
  const GemmOptions gemm{.pipe = options.pipe, .type = options.type, .tile = options.tile};
  Execution execution = TiledGemm(
      {.batch = heads, .m = nest.q_len, .n = nest.kv_len, .k = nest.qk_dim}, gemm, library);
  Execution values = TiledGemm({.batch = heads, .m = nest.q_len, .n = nest.v_dim, .k = nest.kv_len},
                               gemm, library);
  execution.stages[0].name = "scores";
  execution.stages[0].extra_written += size;

  Stage softmax{.name = "softmax"};
  const DType type = SoftmaxType(options.type);
  softmax.terms.push_back(
      Vector("softmax: scale, exponential, sum, divide", TermKind::kPointwise, type,
             Instructions{.fma = 1, .add = 1, .mul = 1, .special = 1} * scores));
  softmax.extra_read = size;
  softmax.extra_written = size;

  values.stages[0].name = "values";
  values.stages[0].extra_read += size;
  execution.stages.push_back(std::move(softmax));
  execution.stages.push_back(std::move(values.stages[0]));
  execution.algorithm = Algorithm::kMaterializedAttention;
  execution.name = fmt::format("materialized {}x{}", options.tile.m, options.tile.n);
  execution.workspace = size + size;
  return execution;
}

}  // namespace dlcost
