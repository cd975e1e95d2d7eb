#include "estimator/compare/as_run.h"

#include "estimator/roofline/choose.h"  // which library a device has
#include "models/algorithms/convolution.h"
#include "models/algorithms/gemm.h"
#include "models/algorithms/pointwise.h"

namespace dlcost {
namespace {

// The algorithm that the name tells for this kind of loop nest; kNone when it tells none.
Algorithm AlgorithmOf(const KernelName& name, bool convolution) {
  switch (MethodOf(name.algorithm)) {
    case KernelMethod::kWinograd:
      return Algorithm::kWinograd;
    case KernelMethod::kFft:
      return Algorithm::kFft;
    case KernelMethod::kImplicitGemm:
      return Algorithm::kImplicitGemm;
    case KernelMethod::kIm2col:
      return Algorithm::kIm2colGemm;
    case KernelMethod::kDepthwise:
      return Algorithm::kDepthwise;
    case KernelMethod::kDirect:
      return Algorithm::kDirect;
    case KernelMethod::kMatrixVector:
      return convolution ? Algorithm::kNone : Algorithm::kMatrixVector;
    case KernelMethod::kNone:
      break;
  }
  if (convolution) return Algorithm::kNone;
  // A product without a tile may be any: the plan stands.
  return name.family == KernelFamily::kGemm && name.tile_m ? Algorithm::kTiledGemm
                                                           : Algorithm::kNone;
}

bool IsProduct(Algorithm algorithm) {
  return algorithm == Algorithm::kTiledGemm || algorithm == Algorithm::kImplicitGemm ||
         algorithm == Algorithm::kIm2colGemm;
}

// The tile that the name tells, with the library's steps and slices where it has one of these
// extents; the planned one where the name tells none and the plan is a product on the same pipe;
// else the library's first.
TileShape TileOf(const KernelName& name, std::span<const TileShape> tiles,
                 const Execution& planned) {
  TileShape usual = tiles.empty() ? TileShape() : tiles.front();
  const TileGrid* grid = planned.Grid();
  const bool tensor = planned.On(Pipe::kTensor).fma > Count(0);
  if (grid != nullptr && IsProduct(planned.algorithm) && tensor == name.tensor) {
    usual = {.m = static_cast<int>(grid->tile_m.value()),
             .n = static_cast<int>(grid->tile_n.value()),
             .k = static_cast<int>(grid->tile_k.value()),
             .slices = static_cast<int>(grid->slices.value())};
  }
  if (!name.tile_m || !name.tile_n) return usual;
  for (const TileShape& tile : tiles) {
    if (tile.m == *name.tile_m && tile.n == *name.tile_n) return tile;
  }
  usual.m = static_cast<int>(*name.tile_m);
  usual.n = static_cast<int>(*name.tile_n);
  if (name.tile_k) usual.k = static_cast<int>(*name.tile_k);
  return usual;
}

// Whether the name tells of nothing but what was planned.
bool IsAsPlanned(const KernelName& name, Algorithm algorithm, const Execution& planned) {
  if (algorithm != planned.algorithm) return false;
  if ((planned.On(Pipe::kTensor).fma > Count(0)) != name.tensor) return false;
  const TileGrid* grid = planned.Grid();
  return grid == nullptr || !name.tile_m || !name.tile_n ||
         (grid->tile_m == Count(*name.tile_m) && grid->tile_n == Count(*name.tile_n));
}

Execution ConvolutionAsRun(const ConvNest& nest, Algorithm algorithm, const ConvOptions& options,
                           const Library& library) {
  switch (algorithm) {
    case Algorithm::kWinograd:
      return FusedWinogradConv(nest, 2, options, library);
    // The name tells the tile of the product of frequencies, not that of the transform.
    case Algorithm::kFft:
      return FftConv(nest, library.fft.tiles.back(), options, library);
    case Algorithm::kIm2colGemm:
      return Im2colConv(nest, options, library);
    case Algorithm::kDepthwise:
      return DepthwiseConv(nest, options);
    case Algorithm::kDirect:
      return DirectConv(nest, options);
    default:
      return ImplicitGemmConv(nest, options, library);
  }
}

}  // namespace

std::shared_ptr<const Execution> ExecutionAsRun(const KernelRow& kernel, const KernelName& name,
                                                const Device& device) {
  const Execution* planned = kernel.execution.get();
  if (!planned) return nullptr;
  const auto* conv = std::get_if<ConvNest>(&kernel.nest);
  const auto* gemm = std::get_if<GemmNest>(&kernel.nest);
  // Names that say what a kernel computes and not how.
  const bool told = !name.library.empty() || name.algorithm != KernelAlgorithm::kNone ||
                    name.tile_m || name.tensor;
  const Algorithm algorithm = told ? AlgorithmOf(name, conv != nullptr) : Algorithm::kNone;
  if (algorithm == Algorithm::kNone || (!conv && !gemm)) return kernel.execution;
  if (IsAsPlanned(name, algorithm, *planned)) return kernel.execution;
  const Library& library = LibraryOf(device);
  const Pipe pipe = name.tensor ? Pipe::kTensor : Pipe::kVector;
  const bool tensor = pipe == Pipe::kTensor;
  Execution execution;
  if (conv) {
    const bool windowed = algorithm == Algorithm::kWinograd || algorithm == Algorithm::kFft ||
                          algorithm == Algorithm::kDepthwise;
    if (algorithm == Algorithm::kMatrixVector || algorithm == Algorithm::kTiledGemm ||
        (windowed && WhyNot(algorithm, *conv, kernel.math))) {
      return kernel.execution;
    }
    const auto tiles = tensor ? library.conv_tensor : library.conv_vector;
    const ConvOptions options{.pipe = pipe,
                              .type = kernel.math,
                              .tile = TileOf(name, tiles, *planned),
                              .convert_layout = tensor};
    execution = ConvolutionAsRun(*conv, algorithm, options, library);
  } else if (algorithm == Algorithm::kMatrixVector) {
    execution = MatrixVector(*gemm, kernel.math, library);
  } else if (algorithm == Algorithm::kTiledGemm) {
    const auto tiles = tensor ? library.gemm_tensor : library.gemm_vector;
    execution = TiledGemm(*gemm, {pipe, kernel.math, TileOf(name, tiles, *planned)}, library);
  } else {
    return kernel.execution;
  }
  Repeat(execution, kernel.repeat);
  AddPointwise(execution, "bias and fused neighbours", TermKind::kEpilogue, kernel.sums.work);
  return std::make_shared<const Execution>(std::move(execution));
}

}  // namespace dlcost
