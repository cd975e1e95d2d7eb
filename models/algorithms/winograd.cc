#include <fmt/format.h>

#include "models/algorithms/convolution.h"
#include "models/algorithms/toom_cook.h"

namespace dlcost {
namespace {

// The transforms of one two-dimensional tile: along the rows of the first axis, then along the
// second, with what the first has left.
struct TileTransforms {
  ToomCook row, column;
  Count products;
  Instructions input, filter, output;
};

// Of weights' gradients, a tile of the output's gradient is the filter and the filter the output.
TileTransforms TransformsOf(const ConvNest& nest, int outputs) {
  const auto along = [&](const ConvAxis& axis) {
    const int kernel = static_cast<int>(axis.kernel);
    return nest.of_weights ? ToomCookOf(kernel, outputs) : ToomCookOf(outputs, kernel);
  };
  TileTransforms t;
  t.row = along(nest.axes[0]);
  t.column = along(nest.axes[1]);
  t.products = Count(t.row.products) * t.column.products;
  t.input = t.row.input * Count(t.column.products);
  t.input += t.column.input * Count(t.row.products);
  t.filter = t.row.filter * Count(t.column.taps);
  t.filter += t.column.filter * Count(t.row.products);
  t.output = t.row.output * Count(t.column.products);
  t.output += t.column.output * Count(t.row.outputs);
  return t;
}

Term Transform(std::string what, DType type, Instructions instructions) {
  return {.what = std::move(what),
          .kind = TermKind::kTransform,
          .type = type,
          .instructions = instructions};
}

struct Tiles {
  Count rows, columns;  // per image
};

Tiles TilesOf(const ConvNest& nest, int outputs) {
  return {CeilDiv(nest.axes[0].out, outputs), CeilDiv(nest.axes[1].out, outputs)};
}

std::string TileName(const char* algorithm, const ConvNest& nest, int outputs) {
  if (nest.of_weights) {
    return fmt::format("{} F({}x{},{}x{})", algorithm, nest.axes[0].kernel, nest.axes[1].kernel,
                       outputs, outputs);
  }
  return fmt::format("{} F({}x{},{}x{})", algorithm, outputs, outputs, nest.axes[0].kernel,
                     nest.axes[1].kernel);
}

void RequireValid(Algorithm algorithm, const ConvNest& nest, DType type) {
  if (const auto why = WhyNot(algorithm, nest, type)) {
    throw Error("{} cannot run this convolution: {}", Name(algorithm), *why);
  }
}

// The filter transform is a kernel of its own in both variants: it runs once per filter and channel
// (of weights' gradients: per filter and tile) and writes `products` values for each.
Stage FilterTransform(const ConvNest& nest, const TileTransforms& t, Count times, DType type) {
  Stage stage{.name = nest.of_weights ? "gradient transform" : "filter transform"};
  const char* unit = nest.of_weights ? "tiles" : "channel pairs";
  stage.terms.push_back(
      Transform(fmt::format("{} of {} {}", stage.name, times, unit), type, t.filter * times));
  stage.extra_written = SizeOf(type, times * t.products);
  return stage;
}

}  // namespace

Execution FusedWinogradConv(const ConvNest& nest, int outputs, const ConvOptions& options,
                            const Library& library) {
  RequireValid(Algorithm::kWinograd, nest, options.type);
  const TileTransforms t = TransformsOf(nest, outputs);
  const Tiles tiles = TilesOf(nest, outputs);
  const Count used = nest.batch * tiles.rows * tiles.columns;

  // The group of tiles that wastes least.
  Count padded;
  std::string shape;
  for (const WinogradConstants::Group& group : library.winograd.groups) {
    const Count images = RoundUp(nest.batch, group.images);
    const Count rows = RoundUp(tiles.rows, group.rows);
    const Count columns = RoundUp(tiles.columns, group.columns);
    if (!shape.empty() && images * rows * columns >= padded) continue;
    padded = images * rows * columns;
    shape = fmt::format("{}x{}x{} -> {}x{}x{}", nest.batch, tiles.rows, tiles.columns, images, rows,
                        columns);
  }
  Count block = library.winograd.filters.front();
  for (const int filters : library.winograd.filters) {
    if (RoundUp(nest.out_channels, filters) < RoundUp(nest.out_channels, block)) block = filters;
  }
  const Count filters = RoundUp(nest.out_channels, block);

  Stage stage{.name = "tiles"};
  const auto products = [&](std::string what, TermKind kind, Count positions, Count channels) {
    if (positions == Count(0) || channels == Count(0)) return;
    stage.terms.push_back(
        {.what = std::move(what),
         .kind = kind,
         .pipe = options.pipe,
         .type = options.type,
         .instructions = {.fma = positions * t.products * nest.in_channels * channels}});
  };
  products(fmt::format("products {} tiles x {} x {} channel pairs", used, t.products,
                       nest.in_channels * nest.out_channels),
           TermKind::kProducts, used, nest.out_channels);
  products("tile padding " + shape, TermKind::kPadding, padded - used, nest.out_channels);
  products(fmt::format("filter padding {} -> {}", nest.out_channels, filters), TermKind::kPadding,
           padded, filters - nest.out_channels);
  const Count blocks = filters / block;
  stage.terms.push_back(Transform(fmt::format("input transform, once per {} filters", block),
                                  options.type, t.input * (padded * nest.in_channels * blocks)));
  stage.terms.push_back(Transform("output transform", options.type, t.output * (padded * filters)));
  const Stage filter = FilterTransform(nest, t, nest.in_channels * nest.out_channels, options.type);
  stage.extra_read = filter.extra_written;
  // A thread block covers 32 tiles by `block` filters, all products of them.
  const WinogradConstants::Group& group = library.winograd.groups.front();
  stage.grid = TileGrid{.m = padded,
                        .n = nest.out_channels,
                        .k = nest.in_channels,
                        .tile_m = group.images * group.rows * group.columns,
                        .tile_n = block,
                        .tile_k = 1,
                        .planes = t.products};
  Execution execution{.algorithm = Algorithm::kWinograd,
                      .name = TileName("winograd", nest, outputs),
                      .workspace = filter.extra_written};
  execution.stages = {filter, std::move(stage)};
  return execution;
}

GemmNest NonfusedWinogradProducts(const ConvNest& nest, int outputs, const Library& library) {
  const TileTransforms t = TransformsOf(nest, outputs);
  const Tiles tiles = TilesOf(nest, outputs);
  // Sums over tiles need no full batch.
  if (nest.of_weights) {
    return {.batch = t.products,
            .m = nest.in_channels,
            .n = nest.out_channels,
            .k = nest.batch * tiles.rows * tiles.columns};
  }
  const Count images = RoundUp(nest.batch, library.winograd.nonfused_images);
  return {.batch = t.products,
          .m = images * tiles.rows * tiles.columns,
          .n = nest.out_channels,
          .k = nest.in_channels};
}

Execution NonfusedWinogradConv(const ConvNest& nest, int outputs, const ConvOptions& options,
                               const Library& library) {
  RequireValid(Algorithm::kWinogradNonfused, nest, options.type);
  const TileTransforms t = TransformsOf(nest, outputs);
  const GemmNest gemm = NonfusedWinogradProducts(nest, outputs, library);
  const Count used = nest.of_weights ? gemm.k : gemm.m;
  const Count pairs = nest.in_channels * nest.out_channels;
  // What the transforms before the products take beside the input, and what the one behind makes.
  const Count taken = nest.of_weights ? used * nest.out_channels : pairs;
  const Count made = nest.of_weights ? pairs : used * nest.out_channels;
  const Bytes input_bytes = SizeOf(options.type, used * nest.in_channels * t.products);
  const Bytes output_bytes = SizeOf(options.type, made * t.products);

  Stage input{.name = "input transform"};
  input.terms.push_back(Transform(fmt::format("input transform of {} tiles", used), options.type,
                                  t.input * (used * nest.in_channels)));
  input.extra_written = input_bytes;
  Stage filter = FilterTransform(nest, t, taken, options.type);

  Execution execution =
      TiledGemm(gemm, {.pipe = options.pipe, .type = options.type, .tile = options.tile}, library);
  Stage& product = execution.stages[0];
  product.name = "batched product";
  // Images that only fill up the batch are padding.
  const Tiles tiles = TilesOf(nest, outputs);
  const Count needed =
      t.products * nest.batch * tiles.rows * tiles.columns * nest.in_channels * nest.out_channels;
  const Count filled = MacsOf(gemm) - needed;
  if (filled > Count(0)) {
    product.terms[0].instructions.fma = needed;
    product.terms.push_back(
        {.what = fmt::format("images {} -> {}", nest.batch,
                             RoundUp(nest.batch, library.winograd.nonfused_images)),
         .kind = TermKind::kPadding,
         .pipe = options.pipe,
         .type = options.type,
         .instructions = {.fma = filled}});
  }
  product.extra_read += input_bytes + filter.extra_written;
  product.extra_written += output_bytes;

  Stage output{.name = "output transform"};
  output.terms.push_back(
      nest.of_weights ? Transform(fmt::format("inverse transform of {} channel pairs", pairs),
                                  options.type, t.output * made)
                      : Transform(fmt::format("output transform of {} tiles", used), options.type,
                                  t.output * made));
  output.extra_read = output_bytes;

  execution.algorithm = Algorithm::kWinogradNonfused;
  execution.name = TileName("winograd_nonfused", nest, outputs);
  execution.workspace = input_bytes + filter.extra_written + output_bytes;
  execution.stages = {std::move(input), std::move(filter), std::move(product), std::move(output)};
  return execution;
}

}  // namespace dlcost
