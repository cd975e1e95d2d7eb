#include "models/algorithms/convolution.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlcost {
namespace {

bool All(const ConvNest& nest, std::int64_t ConvAxis::*extent, std::int64_t expected) {
  return std::all_of(nest.axes.begin(), nest.axes.end(),
                     [&](const ConvAxis& axis) { return axis.*extent == expected; });
}

// "2x2"
std::string Joined(const ConvNest& nest, std::int64_t ConvAxis::*extent) {
  std::vector<std::int64_t> values;
  for (const ConvAxis& axis : nest.axes) values.push_back(axis.*extent);
  return fmt::format("{}", fmt::join(values, "x"));
}

Bytes Size(const ConvOptions& options, Count elements) { return SizeOf(options.type, elements); }

// What changes its layout: images, or filters.
struct Planes {
  Count images, channels, positions;
  Count Elements() const { return images * channels * positions; }
};

// One multiplication (by alpha) per element that changes its layout, read and written once. Blocks
// transpose 32 channels of 32 positions (grids of cuDNN 9's nchwToNhwcKernel: positions / 32,
// channels / 32, images).
Stage Conversion(const char* what, const Planes& planes, const ConvOptions& options) {
  constexpr std::int64_t kBlock = 32;
  const Count elements = planes.Elements();
  Stage stage{.name = fmt::format("{} to channels last", what)};
  stage.terms.push_back({.what = fmt::format("scale {} elements", elements),
                         .kind = TermKind::kTransform,
                         .type = options.type,
                         .instructions = {.mul = elements}});
  stage.extra_read = Size(options, elements);
  stage.extra_written = stage.extra_read;
  stage.transposed = planes.images * RoundUp(planes.channels, Count(kBlock)) *
                     RoundUp(planes.positions, Count(kBlock));
  return stage;
}

Stage Padding(const char* name, Count positions, Count from, Count to, const ConvOptions& options) {
  return {.name = name,
          .extra_read = Size(options, positions * from),
          .extra_written = Size(options, positions * to),
          .padded = positions};
}

// Adds the kernels that pad what the product reads.
void PadOperands(const ConvNest& nest, const ConvOptions& options, Execution& execution) {
  const Count in = nest.in_channels, out = nest.out_channels;
  const Count wide = InPieces(options.type, in), results = InPieces(options.type, out);
  if (wide != in) {
    const Count positions = nest.batch * nest.Product(&ConvAxis::in);
    execution.stages.push_back(Padding("pad channels", positions, in, wide, options));
    execution.workspace += Size(options, positions * wide);
  }
  if (wide != in || results != out) {
    // The gradient of the weights reads that of the results.
    const Count positions = nest.of_weights ? nest.batch * nest.Product(&ConvAxis::out)
                                            : nest.Product(&ConvAxis::kernel) * out;
    const Count from = nest.of_weights ? out : in, to = nest.of_weights ? results : wide;
    execution.stages.push_back(Padding("pad filters", positions, from, to, options));
    execution.workspace += Size(options, positions * to);
  }
}

// And the one that cuts its result.
void CutResult(const ConvNest& nest, const ConvOptions& options, Execution& execution) {
  const Count out = nest.out_channels, results = InPieces(options.type, out);
  if (nest.of_weights || results == out) return;
  const Count positions = nest.batch * nest.Product(&ConvAxis::out);
  execution.stages.push_back(Padding("cut channels", positions, results, out, options));
  execution.workspace += Size(options, positions * results);
}

}  // namespace

Count InputElements(const ConvNest& nest) {
  return nest.batch * nest.in_channels * nest.Product(&ConvAxis::in);
}
Count OutputElements(const ConvNest& nest) {
  return nest.batch * nest.out_channels * nest.Product(&ConvAxis::out);
}
Count WeightElements(const ConvNest& nest) {
  return nest.in_channels / nest.groups * nest.out_channels * nest.Product(&ConvAxis::kernel);
}

GemmNest AsGemm(const ConvNest& nest) {
  const Count in = nest.in_channels / nest.groups, out = nest.out_channels / nest.groups;
  const Count taps = nest.Product(&ConvAxis::kernel);
  GemmNest gemm{.batch = nest.groups, .b_is_weight = true};
  if (nest.of_weights) {
    gemm.m = in * taps;
    gemm.n = out;
    gemm.k = nest.batch * nest.Product(&ConvAxis::out);
    gemm.b_is_weight = false;
  } else if (nest.transposed) {
    gemm.m = nest.batch * nest.Product(&ConvAxis::in);
    gemm.n = out * taps;
    gemm.k = in;
  } else {
    gemm.m = nest.batch * nest.Product(&ConvAxis::out);
    gemm.n = out;
    gemm.k = in * taps;
  }
  return gemm;
}

Count InPieces(DType type, Count channels) {
  constexpr int kPieceBits = 128;
  return RoundUp(channels, Count(kPieceBits / Bits(type)));
}

ConvNest InAnyOrder(ConvNest nest) {
  nest.of_weights = false;
  return nest;
}

Count PhasesOf(const ConvNest& nest) {
  Count phases = 1;
  for (const ConvAxis& axis : nest.axes) phases *= std::min(axis.stride, axis.kernel);
  return phases;
}

GemmNest ImplicitGemmOf(const ConvNest& nest, bool by_tap, bool images_apart) {
  GemmNest gemm = AsGemm(nest);
  if (images_apart) {
    gemm.batch = nest.groups * nest.batch;
    gemm.m = nest.Product(&ConvAxis::out);
  }
  if (by_tap) {
    gemm.m = nest.in_channels / nest.groups;
    gemm.batch = nest.groups * nest.Product(&ConvAxis::kernel);
  }
  if (!nest.transposed) return gemm;
  gemm.m = nest.batch;
  for (const ConvAxis& axis : nest.axes) {
    gemm.m *= CeilDiv(Count(axis.out), axis.stride) * std::min(axis.stride, axis.kernel);
  }
  gemm.n = nest.out_channels / nest.groups;
  gemm.k =
      CeilDiv(nest.in_channels / nest.groups * nest.Product(&ConvAxis::kernel), PhasesOf(nest));
  return gemm;
}

bool LeavesGaps(const ConvNest& nest) {
  return nest.transposed &&
         std::any_of(nest.axes.begin(), nest.axes.end(),
                     [](const ConvAxis& axis) { return axis.stride > axis.kernel; });
}

std::optional<std::string> WhyNot(Algorithm algorithm, const ConvNest& nest, DType type) {
  switch (algorithm) {
    case Algorithm::kDirect:
    case Algorithm::kImplicitGemm:
    case Algorithm::kIm2colGemm:
      return std::nullopt;
    case Algorithm::kDepthwise:
      if (nest.groups == Count(1) || nest.in_channels != nest.groups) {
        return "more than one input channel per group";
      }
      return std::nullopt;
    case Algorithm::kWinograd:
    case Algorithm::kWinogradNonfused:
    case Algorithm::kFft:
      break;
    default:
      throw Error("{} does not execute convolutions", Name(algorithm));
  }
  if (!All(nest, &ConvAxis::stride, 1)) return "stride " + Joined(nest, &ConvAxis::stride);
  if (!All(nest, &ConvAxis::dilation, 1)) return "dilation " + Joined(nest, &ConvAxis::dilation);
  if (nest.groups != Count(1)) return fmt::format("{} groups", nest.groups);
  if (!IsFloat(type) || Bits(type) < 16) return fmt::format("type {}", Name(type));
  if (nest.axes.size() != 2) return fmt::format("{} spatial axes", nest.axes.size());
  if (All(nest, &ConvAxis::kernel, 1)) return "1x1 filter";
  const std::int64_t longest = nest.LongestFilter();
  if (algorithm == Algorithm::kWinograd && nest.of_weights) return "the gradient of weights";
  if (algorithm == Algorithm::kFft) {
    if (longest > 16) return fmt::format("filter extent {}", longest);
    // Half precision loses the small frequencies.
    if (Bits(type) < 32) return fmt::format("type {}", Name(type));
    return std::nullopt;
  }
  // Transforms for longer filters cancel too much: libraries offer 3x3 fused, 3x3 and 5x5 apart.
  const std::int64_t most = algorithm == Algorithm::kWinograd ? 3 : 5;
  if (longest > most) return fmt::format("filter extent {}", longest);
  return std::nullopt;
}

Execution DirectConv(const ConvNest& nest, const ConvOptions& options) {
  const GemmNest gemm = AsGemm(nest);
  // A block of threads computes outputs of one channel.
  Stage stage{.name = "direct", .grid = GridOf(gemm, {.m = 128, .n = 1, .k = 1})};
  stage.terms.push_back({.what = fmt::format("products {} outputs x {}", gemm.m * gemm.n, gemm.k),
                         .kind = TermKind::kProducts,
                         .type = options.type,
                         .instructions = {.fma = gemm.batch * gemm.m * gemm.n * gemm.k}});
  Execution execution{.algorithm = Algorithm::kDirect, .name = "direct"};
  execution.stages.push_back(std::move(stage));
  return execution;
}

Execution DepthwiseConv(const ConvNest& nest, const ConvOptions& options) {
  if (const auto why = WhyNot(Algorithm::kDepthwise, nest, options.type)) {
    throw Error("a depthwise kernel cannot run this convolution: {}", *why);
  }
  Execution execution = DirectConv(nest, options);
  execution.algorithm = Algorithm::kDepthwise;
  execution.name = "depthwise";
  execution.stages[0].name = "depthwise";
  execution.stages[0].grid.reset();  // it streams
  return execution;
}

void SetTiles(Stage& product, const ConvNest& nest, const ConvOptions& options) {
  product.grid = GridOf(ImplicitGemmOf(nest, options.by_tap, options.images_apart), options.tile,
                        options.split_k);
  product.grid->of_planes = options.images_apart;
  if (options.channel_step > 0) {
    ConvNest whole = nest;
    const Count channels = nest.in_channels / nest.groups;
    whole.in_channels = nest.groups * RoundUp(channels, Count(options.channel_step));
    product.grid->walked = ImplicitGemmOf(whole, options.by_tap, options.images_apart).k;
  }
  product.extra_read = product.extra_written = Bytes();
  const Count results = nest.of_weights ? WeightElements(nest) : OutputElements(nest);
  if (options.split_k > Count(1)) AddSplitTraffic(product, results, options.type);
}

Execution ImplicitGemmConv(const ConvNest& nest, const ConvOptions& options,
                           const Library& library) {
  Stage stage{.name = "implicit product"};
  SetTiles(stage, nest, options);
  stage.terms =
      ProductTerms(*stage.grid, {.pipe = options.pipe, .type = options.type, .tile = options.tile},
                   library.conv_epilogue);
  Execution execution{.algorithm = Algorithm::kImplicitGemm,
                      .name = fmt::format("implicit_gemm {}x{}", options.tile.m, options.tile.n)};
  if (options.split_k > Count(1)) execution.name += fmt::format(" split-k {}", options.split_k);
  const Planes results{nest.batch, nest.out_channels, nest.Product(&ConvAxis::out)};
  if (options.convert_layout) {
    const Planes images{nest.batch, nest.in_channels, nest.Product(&ConvAxis::in)};
    const Planes filters{nest.out_channels, nest.in_channels / nest.groups,
                         nest.Product(&ConvAxis::kernel)};
    const Planes& second = nest.of_weights ? results : filters;
    execution.stages.push_back(Conversion("input", images, options));
    execution.workspace = Size(options, images.Elements());
    // Filters of one tap lie alike either way.
    if (nest.of_weights || nest.Product(&ConvAxis::kernel) > Count(1)) {
      execution.stages.push_back(
          Conversion(nest.of_weights ? "gradient" : "weight", second, options));
      execution.stages.back().generic = options.generic_filters;
      execution.workspace += Size(options, second.Elements());
    }
  }
  if (options.pad_channels) PadOperands(nest, options, execution);
  if (options.clears) {
    execution.stages.push_back(
        {.name = "clear", .extra_written = Size(options, OutputElements(nest))});
  }
  execution.stages.push_back(std::move(stage));
  if (options.convert_result && !nest.of_weights) {
    execution.stages.push_back(Conversion("result", results, options));
    execution.stages.back().name = "result to channels first";
    execution.workspace += Size(options, OutputElements(nest));
  }
  if (options.pad_channels) CutResult(nest, options, execution);
  return execution;
}

Execution Im2colConv(const ConvNest& nest, const ConvOptions& options, const Library& library) {
  const GemmNest gemm = AsGemm(nest);
  const Bytes columns =
      Size(options, nest.transposed ? gemm.batch * gemm.m * gemm.n : gemm.batch * gemm.m * gemm.k);
  Execution execution =
      TiledGemm(gemm, {.pipe = options.pipe, .type = options.type, .tile = options.tile}, library);
  execution.algorithm = Algorithm::kIm2colGemm;
  execution.name = fmt::format("im2col_gemm {}x{}", options.tile.m, options.tile.n);
  // A 1x1 filter that takes every position reads the input as it is.
  if (All(nest, &ConvAxis::kernel, 1) && All(nest, &ConvAxis::stride, 1)) return execution;
  execution.workspace = columns;
  Stage gather{.name = nest.transposed ? "col2im" : "im2col"};
  if (nest.transposed) {
    gather.extra_read = columns;
    execution.stages[0].extra_written += columns;
    gather.terms.push_back({.what = "add up overlapping taps",
                            .kind = TermKind::kTransform,
                            .type = options.type,
                            .instructions = {.add = gemm.batch * gemm.m * gemm.n}});
    execution.stages.push_back(std::move(gather));
  } else {
    gather.extra_written = columns;
    execution.stages[0].extra_read += columns;
    execution.stages.insert(execution.stages.begin(), std::move(gather));
  }
  return execution;
}

}  // namespace dlcost
