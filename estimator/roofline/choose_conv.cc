#include "estimator/roofline/choose_conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "estimator/core/error.h"
#include "estimator/roofline/choose.h"

namespace dlcost {
namespace {

// Share of the peak that each kind of kernel computes at, for choosing alone.
constexpr double kProductShare = 0.8;
constexpr double kTransformedShare = 0.5;
constexpr double kTensorShare = 0.4;  // tf32 kernels of cuDNN 8
// Libraries keep no product that takes so many times as long as staged Winograd (4,800 recorded
// choices: of a T4's one in a hundred more are right, of others' none fewer).
constexpr double kSlowProduct = 1.1;
// Recorded grids of implicit_convolve_sgemm on images in halves.
constexpr TileShape kImageTile = {.m = 32, .n = 32, .k = 8};

// The one tile of halves on vector units.
constexpr TileShape kHalvesTile = {.m = 128, .n = 128, .k = 8, .resident = 2};

// Without those that compute twice as many filters as the one that pads least.
std::vector<TileShape> Fitting(std::span<const TileShape> tiles, Count filters) {
  const auto padded = [&](const TileShape& tile) { return RoundUp(filters, tile.n); };
  Count least = padded(tiles.front());
  for (const TileShape& tile : tiles) least = std::min(least, padded(tile));
  std::vector<TileShape> fitting;
  for (const TileShape& tile : tiles) {
    if (padded(tile) < least * 2) fitting.push_back(tile);
  }
  return fitting;
}

}  // namespace

bool ConvChooser::IsDepthwise() const {
  return Valid(Algorithm::kDepthwise) &&
         target_.options.conv.value_or(Algorithm::kDepthwise) == Algorithm::kDepthwise;
}

Execution ConvChooser::Depthwise() const { return Execute(Algorithm::kDepthwise); }

// cuDNN's tf32 kernels want four channels at a time and leave the rest to vector units; half types
// are padded instead, from version 9 on floats too, but for images.
std::optional<ComputeUnit> ConvChooser::ProductUnit() const {
  const std::optional<ComputeUnit> unit = FindFastestUnit(target_, type_);
  const Count channels = nest_.in_channels / nest_.groups;
  const bool padded = target_.library.conv_floats_nhwc && channels > Count(kFewChannels);
  const bool aligned = padded || channels % 4 == Count(0);
  if (!unit || !unit->tensor || type_ != DType::kFloat32 || aligned) return unit;
  return FindVectorUnit(target_, type_);
}

std::optional<TileShape> ConvChooser::OnlyTile() const {
  return IsPaired() ? std::optional(kHalvesTile) : std::nullopt;
}

std::span<const TileShape> ConvChooser::VectorTiles() const {
  const Library& library = target_.library;
  return nest_.of_weights && !library.conv_weights.empty() ? library.conv_weights
                                                           : library.conv_vector;
}

bool ConvChooser::IsByTap() const {
  return nest_.of_weights && Bits(type_) == 16 && ProductPipe() == Pipe::kTensor &&
         !target_.library.conv_weights_by_tap.empty();
}

std::span<const TileShape> ConvChooser::TensorTiles() const {
  return IsByTap() ? target_.library.conv_weights_by_tap : target_.library.conv_tensor;
}

bool ConvChooser::IsPaired() const {
  const std::optional<ComputeUnit> unit = ProductUnit();
  if (!unit || unit->tensor || Bits(type_) != 16) return false;
  const std::optional<ComputeUnit> floats = FindVectorUnit(target_, DType::kFloat32);
  return floats && unit->peak > floats->peak;
}

bool ConvChooser::OffersWinograd() const {
  return nest_.LongestFilter() != 3 || target_.library.winograd_3x3;
}

Pipe ConvChooser::ProductPipe() const { return ProductUnit().value_or(ComputeUnit()).pipe(); }

ConvChoice ConvChooser::ByRule() const {
  ConvChoice choice;
  Algorithm algorithm = Automatic(choice.runner_up);
  if (IsForced()) {
    choice.runner_up = Name(algorithm);
    algorithm = *target_.options.conv;
  }
  choice.execution = Execute(algorithm);
  return choice;
}

ConvChoice ConvChooser::Choose(const TimeOf& seconds) const {
  if (nest_.of_weights && !IsForced()) return ChooseOfWeights(seconds);
  ConvChoice choice = ByRule();
  if (IsForced()) return choice;
  constexpr double kExactly = std::numeric_limits<double>::infinity();
  double least = seconds(choice.execution, kExactly);
  const auto take = [&](Execution execution) {
    const double time = seconds(execution, least);
    if (time >= least) return;
    least = time;
    choice.runner_up = choice.execution.name;
    choice.execution = std::move(execution);
  };
  const bool tensor = ProductPipe() == Pipe::kTensor;
  const bool timed = IsTimed();
  // An image's gradient leaves tiles almost empty that a product of its taps fills.
  if (nest_.transposed && !tensor && nest_.out_channels / nest_.groups <= Count(kFewChannels)) {
    take(Execute(Algorithm::kIm2colGemm));
  }
  const bool product = choice.execution.algorithm == Algorithm::kImplicitGemm;
  if (timed || (product && (tensor || RanksByTime()))) {
    take(FastestProduct(seconds));
    // Planes that are no whole pieces of memory are slow to multiply: converted instead.
    if (tensor && Options(Pipe::kTensor).images_apart) take(FastestProduct(seconds, true));
    if (tensor && Bits(type_) == 16 && MayStayPlanes()) take(OfPlanes());
  }
  if (tensor || nest_.LongestFilter() != 3 || !OffersWinograd()) return choice;
  if (timed && Valid(Algorithm::kWinograd)) take(Execute(Algorithm::kWinograd));
  if ((timed || product) && Valid(Algorithm::kWinogradNonfused)) {
    Execution staged = StagedWinograd();
    if (seconds(staged, least) * (timed ? 1 : kSlowProduct) < least) take(std::move(staged));
  }
  return choice;
}

// No rule was derived for the gradient of weights, since no names were recorded: the faster way.
ConvChoice ConvChooser::ChooseOfWeights(const TimeOf& seconds) const {
  ConvChoice choice;
  const bool tensor = ProductPipe() == Pipe::kTensor;
  choice.execution = FastestProduct(seconds);
  if (tensor || !OffersWinograd() || !Valid(Algorithm::kWinogradNonfused)) {
    choice.runner_up = Name(Algorithm::kIm2colGemm);
    return choice;
  }
  Execution staged = StagedWinograd();
  constexpr double kExactly = std::numeric_limits<double>::infinity();
  if (seconds(staged, kExactly) < seconds(choice.execution, kExactly)) {
    std::swap(staged, choice.execution);
  }
  choice.runner_up = staged.name;
  return choice;
}

// Whether the tile of a convolution on vector units is the fastest one.
bool ConvChooser::RanksByTime() const { return !nest_.of_weights && target_.library.conv_by_time; }

// Whether its ways on vector units are timed against each other.
bool ConvChooser::IsTimed() const {
  return target_.options.timed_convolutions && !nest_.of_weights && !IsPaired() &&
         ProductPipe() == Pipe::kVector;
}

// Units share out the sums of weights' gradients and, as of any matrix product, those of planes. Of
// recorded convolutions none of 133 on P4, P100, V100 and T4 whose tiles leave units idle and 12 of
// 211 on an H100 and an H200 did; but TensorRT takes half of the time that ResNet-50 would take so
// for one image on a T4 in fp32 (bench/published/tensorrt.csv).
bool ConvChooser::MayShareK(const ConvOptions& options) const {
  return nest_.groups == Count(1) && (nest_.of_weights || options.images_apart || IsTimed());
}

Execution ConvChooser::FastestProduct(const TimeOf& seconds, bool converted) const {
  const bool tensor = ProductPipe() == Pipe::kTensor;
  ConvOptions options = Options(ProductPipe(), converted);
  Execution candidate = ImplicitGemmConv(nest_, options, target_.library);
  // Conversions may stand before and behind it.
  Stage& product = *std::find_if(candidate.stages.begin(), candidate.stages.end(),
                                 [](const Stage& stage) { return stage.grid.has_value(); });
  const auto set = [&](const TileGrid& grid) {
    options.tile = {.m = static_cast<int>(grid.tile_m.value()),
                    .n = static_cast<int>(grid.tile_n.value()),
                    .k = static_cast<int>(grid.tile_k.value())};
    options.split_k = grid.split_k;
  };
  const GemmNest nest = ImplicitGemmOf(nest_, options.by_tap, options.images_apart);
  std::vector<TileShape> fitting;
  if (!tensor) fitting = Fitting(VectorTiles(), nest.n);
  std::span<const TileShape> tiles = tensor ? TensorTiles() : fitting;
  const std::optional<TileShape> only = OnlyTile();
  if (only) tiles = {&*only, 1};
  const auto time_of = [&](const TileGrid& grid, double least) {
    const bool whole = grid.split_k == Count(1);
    const bool idle = grid.Blocks() / grid.split_k < Count(target_.device.units.value_or(1));
    if (!whole && !idle && !options.by_tap) return std::numeric_limits<double>::infinity();
    set(grid);
    SetTiles(product, nest_, options);
    return seconds(candidate, least);
  };
  const TimedTile best =
      FastestTile(nest, tiles, tensor ? Bits(type_) / 8.0 : 2, MayShareK(options), time_of);
  set(GridOf(nest, best.tile, best.split_k));
  return ImplicitGemmConv(nest_, options, target_.library);
}

Algorithm ConvChooser::Automatic(std::string& runner_up) const {
  if (Valid(Algorithm::kDepthwise)) {
    runner_up = Name(Algorithm::kImplicitGemm);
    return Algorithm::kDepthwise;
  }
  runner_up = Name(Algorithm::kIm2colGemm);
  // Half and narrower types on matrix units leave nothing for transforms to gain.
  if (ProductPipe() == Pipe::kTensor && Bits(type_) < 32) return Algorithm::kImplicitGemm;
  const std::int64_t longest = nest_.LongestFilter();
  const bool ranked = ProductPipe() == Pipe::kVector;
  if (ranked && longest == 3 && OffersWinograd() && Valid(Algorithm::kWinograd)) {
    return WinogradOrProduct(runner_up);
  }
  if (longest > 3 && longest <= target_.library.winograd.longest_nonfused) {
    return LargeFilter(runner_up);
  }
  return Algorithm::kImplicitGemm;
}

Algorithm ConvChooser::LargeFilter(std::string& runner_up) const {
  std::vector<std::pair<double, Algorithm>> order;
  for (const Algorithm algorithm :
       {Algorithm::kImplicitGemm, Algorithm::kWinogradNonfused, Algorithm::kFft}) {
    if (Valid(algorithm)) order.emplace_back(RoughSeconds(Execute(algorithm)), algorithm);
  }
  std::sort(order.begin(), order.end());
  runner_up = Name(order.size() > 1 ? order[1].second : Algorithm::kIm2colGemm);
  return order[0].second;
}

// Work at a share of the peak, and what goes through memory beside the operands.
double ConvChooser::RoughSeconds(const Execution& execution) const {
  const bool product = execution.algorithm == Algorithm::kImplicitGemm;
  const double vector_share = product ? kProductShare : kTransformedShare;
  double seconds = 0;
  for (const Pipe pipe : {Pipe::kVector, Pipe::kTensor}) {
    const WorkKind kind = pipe == Pipe::kTensor ? WorkKind::kMatrix : WorkKind::kVector;
    const Roof roof = FindRoof(target_.device, kind, type_, target_.options.math);
    if (!roof.known) continue;
    const double share = pipe == Pipe::kTensor ? kTensorShare : vector_share;
    seconds += (execution.On(pipe).flops() / roof.peak).value() / share;
  }
  const Bytes extra = execution.ExtraRead() + execution.ExtraWritten();
  if (target_.device.memory.bandwidth) {
    seconds += (extra / *target_.device.memory.bandwidth).value();
  }
  return seconds;
}

// Images have too few channels to be worth converting.
bool ConvChooser::MayStayPlanes() const {
  return target_.options.converts && target_.library.conv_halves_nhwc && !nest_.transposed &&
         nest_.groups == Count(1) && nest_.in_channels <= Count(kFewChannels);
}

Execution ConvChooser::OfPlanes() const {
  return ImplicitGemmConv(nest_, {.type = type_, .tile = kImageTile}, target_.library);
}

Execution ConvChooser::Execute(Algorithm algorithm) const {
  const Library& library = target_.library;
  switch (algorithm) {
    case Algorithm::kDirect:
      return DirectConv(nest_, Options(Pipe::kVector));
    case Algorithm::kDepthwise:
      return DepthwiseConv(nest_, Options(Pipe::kVector));
    case Algorithm::kIm2colGemm:
      return Im2colConv(nest_, Options(ProductPipe()), library);
    case Algorithm::kWinograd:
      return FusedWinogradConv(nest_, 2, Options(Pipe::kVector), library);
    case Algorithm::kWinogradNonfused:
      return StagedWinograd();
    case Algorithm::kFft:
      return FftConv(nest_, FourierTile(), Options(Pipe::kVector), library);
    default:
      return ImplicitGemmConv(nest_, Options(ProductPipe()), library);
  }
}

// Its products are the matrix library's: filters are the rows there, tiles the columns.
Execution ConvChooser::StagedWinograd() const {
  const Library& library = target_.library;
  const int outputs = library.winograd.nonfused_tile;
  ConvOptions options = Options(Pipe::kVector);
  const OccupancyRule& rule = library.staged.tiles.empty() ? library.batched : library.staged;
  if (!rule.tiles.empty()) {
    GemmNest products = NonfusedWinogradProducts(nest_, outputs, library);
    std::swap(products.m, products.n);
    options.tile = ByOccupancy(products, rule, target_.device).tile;
    std::swap(options.tile.m, options.tile.n);
  }
  return NonfusedWinogradConv(nest_, outputs, options, library);
}

// The smallest tile that holds a whole image with its border, or the largest there is.
int ConvChooser::FourierTile() const {
  for (const int tile : target_.library.fft.tiles) {
    if (nest_.axes[0].out + nest_.axes[0].kernel - 1 <= tile &&
        nest_.axes[1].out + nest_.axes[1].kernel - 1 <= tile) {
      return tile;
    }
  }
  return target_.library.fft.tiles.back();
}

}  // namespace dlcost
