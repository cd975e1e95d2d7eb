#include "models/algorithms/gemm.h"

#include <fmt/compile.h>

#include <algorithm>
#include <iterator>
#include <utility>

// Terms are told for every candidate that a library weighs, so that their formats are compiled.

namespace dlcost {
namespace {

void AddPadding(std::vector<Term>& terms, const char* extent, Count from, Count to, Count fma,
                const GemmOptions& options) {
  if (fma == Count(0)) return;
  terms.push_back(
      {.what = fmt::format(FMT_COMPILE("{} padding {} -> {}"), extent, from.value(), to.value()),
       .kind = TermKind::kPadding,
       .pipe = options.pipe,
       .type = options.type,
       .instructions = {.fma = fma}});
}

}  // namespace

TileGrid GridOf(const GemmNest& nest, const TileShape& tile, Count split_k) {
  return {.batch = nest.batch,
          .m = nest.m,
          .n = nest.n,
          .k = nest.k,
          .tile_m = tile.m,
          .tile_n = tile.n,
          .tile_k = tile.k,
          .split_k = split_k,
          .slices = tile.slices,
          .resident = tile.resident,
          .wide = tile.wide};
}

std::vector<Term> ProductTerms(const TileGrid& grid, const GemmOptions& options,
                               const Instructions& per_output) {
  const Count m = grid.padded_m(), n = grid.padded_n(), k = grid.padded_k();
  std::vector<Term> terms;
  terms.reserve(5);
  std::string products = "products ";
  if (grid.batch > Count(1)) products += fmt::format(FMT_COMPILE("{} x "), grid.batch.value());
  fmt::format_to(std::back_inserter(products), FMT_COMPILE("{} x {} x {}"), grid.m.value(),
                 grid.n.value(), grid.k.value());
  terms.push_back({.what = std::move(products),
                   .kind = TermKind::kProducts,
                   .pipe = options.pipe,
                   .type = options.type,
                   .instructions = {.fma = grid.batch * grid.m * grid.n * grid.k}});
  AddPadding(terms, "row", grid.m, m, grid.batch * (m - grid.m) * grid.n * grid.k, options);
  AddPadding(terms, "column", grid.n, n, grid.batch * m * (n - grid.n) * grid.k, options);
  AddPadding(terms, "k", grid.k, k, grid.batch * m * n * (k - grid.k), options);

  const Count outputs = grid.batch * m * n;
  const Count slices = options.tile.slices;
  if (slices > Count(1)) {
    terms.push_back({.what = fmt::format("sum of {} slices", slices),
                     .kind = TermKind::kReduction,
                     .type = options.type,
                     .instructions = {.add = outputs * grid.split_k * (slices - 1)}});
  }
  if (grid.split_k > Count(1)) {
    terms.push_back({.what = fmt::format("sum of {} split-k parts", grid.split_k),
                     .kind = TermKind::kReduction,
                     .type = options.type,
                     .instructions = {.fma = outputs * (grid.split_k - 1)}});
  }
  if (per_output != Instructions{}) {
    terms.push_back({.what = fmt::format(FMT_COMPILE("epilogue of {} outputs"), outputs.value()),
                     .kind = TermKind::kEpilogue,
                     .type = options.type,
                     .instructions = per_output * (outputs * slices * grid.split_k)});
  }
  return terms;
}

void AddSplitTraffic(Stage& stage, Count outputs, DType type) {
  const Count size = std::max(4, Bits(type) / 8);
  const Bytes parts(outputs * size * (stage.grid->split_k - 1));
  stage.extra_read += parts;
  stage.extra_written += parts;
}

Execution TiledGemm(const GemmNest& nest, const GemmOptions& options, const Library& library) {
  const TileGrid grid = GridOf(nest, options.tile, options.split_k);
  Stage stage{.name = "product", .grid = grid};
  stage.terms = ProductTerms(grid, options, library.gemm_scale);
  const Count outputs = nest.batch * nest.m * nest.n;
  if (options.accumulate && library.gemm_accumulate != Instructions{}) {
    stage.terms.push_back({.what = "accumulate into C",
                           .kind = TermKind::kEpilogue,
                           .type = options.type,
                           .instructions = library.gemm_accumulate *
                                           (nest.batch * grid.padded_m() * grid.padded_n())});
  }
  if (grid.split_k > Count(1)) AddSplitTraffic(stage, outputs, options.type);
  Execution execution{
      .algorithm = Algorithm::kTiledGemm,
      .name = fmt::format("gemm {}x{}x{}", options.tile.m, options.tile.n, options.tile.k)};
  if (options.tile.slices > 1) execution.name += fmt::format(" sliced {}", options.tile.slices);
  if (grid.split_k > Count(1)) execution.name += fmt::format(" split-k {}", grid.split_k);
  execution.stages.push_back(std::move(stage));
  return execution;
}

Execution MatrixVector(const GemmNest& nest, DType type, const Library& library) {
  const MatrixVectorConstants& constants = library.matrix_vector;
  const Count rows = nest.batch * nest.m * nest.n;
  Stage stage{.name = "matrix-vector"};
  stage.terms.push_back({.what = fmt::format("products {} rows x {}", rows, nest.k),
                         .kind = TermKind::kProducts,
                         .type = type,
                         .instructions = {.fma = rows * nest.k}});
  const Count chunks = CeilDiv(nest.k, constants.chunk);
  if (constants.adds_per_chunk > 0) {
    stage.terms.push_back({.what = fmt::format("sum across threads, {} per {} elements",
                                               constants.adds_per_chunk, constants.chunk),
                           .kind = TermKind::kReduction,
                           .type = type,
                           .instructions = {.add = rows * chunks * constants.adds_per_chunk}});
  }
  if (constants.row != Instructions{}) {
    stage.terms.push_back({.what = "scale and accumulate each row",
                           .kind = TermKind::kEpilogue,
                           .type = type,
                           .instructions = constants.row * rows});
  }
  Execution execution{.algorithm = Algorithm::kMatrixVector, .name = "matrix_vector"};
  execution.stages.push_back(std::move(stage));
  return execution;
}

bool IsDot(const GemmNest& nest) { return nest.m <= Count(1) && nest.n <= Count(1); }

Execution DotProducts(const GemmNest& nest, DType type) {
  Stage stage{.name = "dot products"};
  stage.terms.push_back({.what = fmt::format("products {} rows x {}", nest.batch, nest.k),
                         .kind = TermKind::kProducts,
                         .type = type,
                         .instructions = {.fma = MacsOf(nest)}});
  Execution execution{.algorithm = Algorithm::kReduction, .name = "reduction"};
  execution.stages.push_back(std::move(stage));
  return execution;
}

}  // namespace dlcost
