#include <fmt/format.h>

#include <utility>

#include "models/algorithms/convolution.h"

namespace dlcost {
namespace {

int Log2(int n) {
  int log = 0;
  while ((1 << (log + 1)) <= n) ++log;
  return log;
}

// Operations of a fast Fourier transform of length n in the usual count: 5 n log2 n for complex
// data, half of it for real data; half of them are multiplications or additions that an FMA joins.
Count ComplexFft(int n) { return Count(5) * n * Log2(n); }
Count RealFft(int n) { return ComplexFft(n) / 2; }

// A real tile of edge n in two dimensions: `rows` real transforms (rows of zeros need none), then
// n/2 + 1 complex ones along the other axis.
Count TileFft(int n, std::int64_t rows) {
  return Count(rows) * RealFft(n) + Count(n / 2 + 1) * ComplexFft(n);
}

// Counters on Ampere issue two additions and half a multiplication per FMA in these kernels;
// counted by operations the split does not matter: all are told as additions and multiplications.
Instructions Split(Count operations) {
  const Count mul = operations / 3;
  return {.add = operations - mul, .mul = mul};
}

Stage TransformStage(const char* name, Count transforms, Count operations, DType type) {
  Stage stage{.name = name};
  stage.terms.push_back({.what = fmt::format("{} x {} operations", transforms, operations),
                         .kind = TermKind::kTransform,
                         .type = type,
                         .instructions = Split(operations * transforms)});
  return stage;
}

}  // namespace

Execution FftConv(const ConvNest& nest, int tile, const ConvOptions& options,
                  const Library& library) {
  if (const auto why = WhyNot(Algorithm::kFft, nest, options.type)) {
    throw Error("fft cannot run this convolution: {}", *why);
  }
  const std::int64_t r = nest.axes[0].kernel, s = nest.axes[1].kernel;
  if (tile < 2 || (tile & (tile - 1)) != 0 || tile < r || tile < s) {
    throw Error("no Fourier tile of {} for a {}x{} filter: a power of two that holds it", tile, r,
                s);
  }
  const Count tiles = nest.batch * CeilDiv(nest.axes[0].out, tile - r + 1) *
                      CeilDiv(nest.axes[1].out, tile - s + 1);
  const Count frequencies = Count(tile) * (tile / 2 + 1);
  const Count inputs = tiles * nest.in_channels;
  // What is transformed beside the input, and what is transformed back.
  Count filters = nest.in_channels * nest.out_channels, outputs = tiles * nest.out_channels;
  if (nest.of_weights) std::swap(filters, outputs);
  const auto complex_bytes = [&](Count spectra) {
    return SizeOf(options.type, spectra * frequencies * 2);
  };

  const std::int64_t rows = nest.of_weights ? tile - r + 1 : r;  // of it that are not zeros
  Stage filter = TransformStage(nest.of_weights ? "gradient transform" : "filter transform",
                                filters, TileFft(tile, rows), options.type);
  filter.extra_written = complex_bytes(filters);
  Stage input = TransformStage("input transform", inputs, TileFft(tile, tile), options.type);
  input.extra_written = complex_bytes(inputs);

  // One complex product per frequency.
  const FftConstants& fft = library.fft;
  GemmNest products{
      .batch = frequencies, .m = tiles, .n = nest.out_channels, .k = nest.in_channels};
  if (nest.of_weights) {  // sums over the tiles
    products.m = nest.in_channels;
    products.k = tiles;
  }
  const TileGrid grid = GridOf(products, fft.product);
  Stage product{.name = "complex product", .grid = grid};
  const int real_products = fft.gauss ? 3 : 4;
  product.grid->planes = real_products;
  const Count results = frequencies * grid.padded_m() * grid.padded_n();
  const Count all = results * grid.k * real_products;
  const Count needed = frequencies * grid.m * grid.n * grid.k * real_products;
  product.terms.push_back({.what = fmt::format("{} real products for each of {} x {} x {} x {}",
                                               real_products, frequencies, grid.m, grid.n, grid.k),
                           .kind = TermKind::kProducts,
                           .type = options.type,
                           .instructions = {.fma = needed}});
  if (all > needed) {
    product.terms.push_back({.what = fmt::format("tile padding {} x {} -> {} x {}", grid.m, grid.n,
                                                 grid.padded_m(), grid.padded_n()),
                             .kind = TermKind::kPadding,
                             .type = options.type,
                             .instructions = {.fma = all - needed}});
  }
  if (fft.gauss) {
    const Count loads =
        grid.Blocks() * (grid.tile_m + grid.tile_n) / 2 * 3 * (grid.k + fft.prefetch);
    product.terms.push_back({.what = "sums for three products instead of four, before and after",
                             .kind = TermKind::kTransform,
                             .type = options.type,
                             .instructions = {.add = loads + results * 2}});
  }
  product.terms.push_back({.what = "complex scale",
                           .kind = TermKind::kEpilogue,
                           .type = options.type,
                           .instructions = Instructions{.fma = 2, .mul = 2} * results});
  product.extra_read = complex_bytes(inputs) + complex_bytes(filters);
  product.extra_written = complex_bytes(outputs);

  // The way back computes every row of the tile, whether or not it is kept.
  Stage output = TransformStage("inverse transform", outputs, TileFft(tile, tile), options.type);
  output.extra_read = complex_bytes(outputs);

  Execution execution{.algorithm = Algorithm::kFft, .name = fmt::format("fft {}x{}", tile, tile)};
  execution.workspace = product.extra_read + product.extra_written;
  execution.stages = {std::move(filter), std::move(input), std::move(product), std::move(output)};
  return execution;
}

}  // namespace dlcost
