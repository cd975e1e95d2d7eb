#include "estimator/compare/as_run.h"

#include "estimator/profiles/text.h"
#include "estimator/roofline/choose.h"
#include "models/algorithms/convolution.h"
#include "models/algorithms/gemm.h"
#include "models/algorithms/pointwise.h"

namespace dlcost {
namespace {

// The algorithm that the name tells for this kind of loop nest; kNone when it tells none.
Algorithm AlgorithmOf(const KernelName& name, bool convolution) {
  if (Contains(name.algorithm, "Winograd")) return Algorithm::kWinograd;
  if (Contains(name.algorithm, "FFT")) return Algorithm::kFft;
  if (Contains(name.algorithm, "implicit GEMM")) return Algorithm::kImplicitGemm;
  if (Contains(name.algorithm, "im2col")) return Algorithm::kIm2colGemm;
  if (Contains(name.algorithm, "depthwise")) return Algorithm::kDepthwise;
  if (Contains(name.algorithm, "direct")) return Algorithm::kDirect;
  if (convolution) return Algorithm::kNone;
  if (name.algorithm == "matrix times vector") return Algorithm::kMatrixVector;
  return name.family == KernelFamily::kGemm ? Algorithm::kTiledGemm : Algorithm::kNone;
}

// The library's tile of these extents (with its steps, slices and residency), or one of them alone.
TileShape TileOf(const KernelName& name, std::span<const TileShape> tiles,
                 const TileShape& planned) {
  if (!name.tile_m || !name.tile_n) return planned;
  for (const TileShape& tile : tiles) {
    if (tile.m == *name.tile_m && tile.n == *name.tile_n) return tile;
  }
  TileShape tile = planned;
  tile.m = static_cast<int>(*name.tile_m);
  tile.n = static_cast<int>(*name.tile_n);
  if (name.tile_k) tile.k = static_cast<int>(*name.tile_k);
  return tile;
}

Execution Convolution(const ConvNest& nest, Algorithm algorithm, const ConvOptions& options,
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
  const bool told = !name.library.empty() || !name.algorithm.empty() || name.tile_m || name.tensor;
  const Algorithm algorithm = told ? AlgorithmOf(name, conv != nullptr) : Algorithm::kNone;
  if (algorithm == Algorithm::kNone || (!conv && !gemm)) return kernel.execution;
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
    const TileShape usual = tiles.empty() ? TileShape() : ChooseTile(AsGemm(*conv), tiles, device);
    const ConvOptions options{.pipe = pipe,
                              .type = kernel.math,
                              .tile = TileOf(name, tiles, usual),
                              .convert_layout = tensor};
    execution = Convolution(*conv, algorithm, options, library);
  } else if (algorithm == Algorithm::kMatrixVector) {
    execution = MatrixVector(*gemm, kernel.math, library);
  } else if (algorithm == Algorithm::kTiledGemm) {
    const auto tiles = tensor ? library.gemm_tensor : library.gemm_vector;
    const TileShape usual = tiles.empty() ? TileShape() : ChooseTile(*gemm, tiles, device);
    execution = TiledGemm(*gemm, {pipe, kernel.math, TileOf(name, tiles, usual)}, library);
  } else {
    return kernel.execution;
  }
  AddPointwise(execution, "bias and fused neighbours", TermKind::kEpilogue, kernel.sums.work);
  return std::make_shared<const Execution>(std::move(execution));
}

}  // namespace dlcost
