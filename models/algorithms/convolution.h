#pragma once

#include <optional>
#include <string>

#include "models/algorithms/gemm.h"

namespace dlcost {

// The ways of executing a convolution. Counts leave out bias and fused neighbours, which the caller
// adds with AddPointwise.

struct ConvOptions {
  Pipe pipe = Pipe::kVector;
  DType type = DType::kFloat32;
  TileShape tile;       // of the product, where the algorithm has one: m positions, n channels
  Count split_k = 1;    // thread blocks that share one tile of an implicit product
  bool by_tap = false;  // the gradient of weights: a product for each tap of the filter
  bool clears = false;  // a pass of its own writes zeros to all of the result before
  // Filters of one tap over channels first: a product for each image, whose positions are its rows.
  bool images_apart = false;
  // Tensors are NCHW in memory; a kernel that wants NHWC converts its operands, and what it has
  // written where it writes NHWC too.
  bool convert_layout = false;
  bool convert_result = false;
  // Channels last that are no whole pieces of 16 bytes are padded by kernels of their own, and the
  // result's cut back.
  bool pad_channels = false;
  // Filters are converted by a kernel for any layouts.
  bool generic_filters = false;
  // Each tap walks its channels in whole steps of so many; 0: channels of all taps follow each
  // other.
  int channel_step = 0;
};

// The convolution as a product: per group, m = N prod(out) positions, n = Cout/g channels,
// k = Cin/g prod(kernel). A transposed one is the product before its results are scattered:
// m = N prod(in), n = Cout/g prod(kernel), k = Cin/g. The gradient of the weights sums over
// positions: m = Cin/g prod(kernel), n = Cout/g, k = N prod(out).
GemmNest AsGemm(const ConvNest& nest);

// Channels as kernels on matrix units load them, in pieces of 16 bytes.
Count InPieces(DType type, Count channels);

// Machines whose loops take any order compute the gradient of weights as they do the convolution:
// the same extents, shared out over positions.
ConvNest InAnyOrder(ConvNest nest);

// What an implicit product computes: AsGemm, but for a transposed convolution the product that
// gathers (the gradient of a convolution's input, as libraries compute it). Of its output
// positions, only those count that the filter reaches (all where it is as long as the stride), and
// every one of them meets one of prod(min(stride, kernel)) parts of the filter: m = N prod(ceil(out
// / stride) min(stride, kernel)), n = Cout/g, k = Cin/g prod(kernel) / prod(min(stride, kernel)).
// The gradient of weights tap by tap: as many products of m = Cin/g as the filter has taps.
// One image after the other: as many products of m = prod(out) as there are images.
GemmNest ImplicitGemmOf(const ConvNest& nest, bool by_tap = false, bool images_apart = false);
// Whether a stride leaves output positions of a transposed convolution that no tap reaches.
bool LeavesGaps(const ConvNest& nest);
// Into how many parts a transposed convolution's filter falls, one per phase of the stride.
Count PhasesOf(const ConvNest& nest);

// Why the algorithm cannot run this convolution ("stride 2"), or nullopt when it can. Every
// algorithm but kDirect, kImplicitGemm and kIm2colGemm has such rules; an Algorithm that is not for
// convolutions is an Error.
std::optional<std::string> WhyNot(Algorithm algorithm, const ConvNest& nest, DType type);

Execution DirectConv(const ConvNest& nest, const ConvOptions& options);
Execution DepthwiseConv(const ConvNest& nest, const ConvOptions& options);
Execution ImplicitGemmConv(const ConvNest& nest, const ConvOptions& options,
                           const Library& library);
// Gives the last stage of that execution other tiles: the grid and its traffic, on which times
// depend. Name and terms stay, so that many tiles can be timed without writing them.
void SetTiles(Stage& product, const ConvNest& nest, const ConvOptions& options);
// Writes the gathered input, k columns per position, and multiplies it.
Execution Im2colConv(const ConvNest& nest, const ConvOptions& options, const Library& library);

// F(m, r) along every spatial axis, `outputs` per tile and axis. Throws Error where WhyNot says so.
// Fused: all but the filter transform in one kernel, whose blocks share 32 tiles.
Execution FusedWinogradConv(const ConvNest& nest, int outputs, const ConvOptions& options,
                            const Library& library);
// The products between separate transforms, one for each frequency: m tiles (of the batch as it is
// padded), n filters, k channels.
GemmNest NonfusedWinogradProducts(const ConvNest& nest, int outputs, const Library& library);
Execution NonfusedWinogradConv(const ConvNest& nest, int outputs, const ConvOptions& options,
                               const Library& library);
// Tiles of edge `tile`, overlapping by the filter's extent less one.
Execution FftConv(const ConvNest& nest, int tile, const ConvOptions& options,
                  const Library& library);

// Elements of one image's input or output over all channels.
Count InputElements(const ConvNest& nest);
Count OutputElements(const ConvNest& nest);
Count WeightElements(const ConvNest& nest);

}  // namespace dlcost
