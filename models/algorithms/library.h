#pragma once

#include <span>
#include <string_view>

#include "models/algorithms/execution.h"

namespace dlcost {

// What is known about the kernels of one library generation: tile shapes, and the few operations
// per output or per step that are not products. Data, with its source in library.cc; no behaviour.

// A tile as a library offers it.
struct TileShape {
  int m = 128, n = 64;  // rows and columns of the output that one thread block computes
  int k = 8;            // steps along the reduced extent; it is padded to a multiple
  int slices = 1;       // thread groups of a block that share k and add up at the end
  int resident = 1;     // blocks that run on one unit (SM, core) at a time
};

struct MatrixVectorConstants {
  int chunk;           // elements of a row that the threads of one group take per step
  int adds_per_chunk;  // additions that join their sums
  Instructions row;    // once per row: scale, accumulate
};

struct WinogradConstants {
  // A thread block computes tiles x filters. Its tiles are images x rows x columns.
  struct Group {
    int images, rows, columns;
  };
  std::span<const Group> groups;
  std::span<const int> filters;  // filters per block, the largest first
  int nonfused_tile;             // m of F(m x m, r x r) with separate transforms
  int longest_nonfused;          // filter extent up to which these are offered
};

struct FftConstants {
  std::span<const int> tiles;  // edge of the transformed tile, smallest first
  TileShape product;           // of the complex product
  bool gauss;                  // three real products for a complex one instead of four
  int prefetch;                // steps along k whose operands are prepared past the end
};

struct AttentionConstants {
  int rows, columns;  // query and key positions per step; columns divide rows
  int decode_rows;    // least number of rows that a product pads to when there are few queries
};

struct Library {
  std::string_view id;      // "pascal"
  std::string_view covers;  // "cuDNN 6 to 7, cuBLAS 8 to 10 on Maxwell and Pascal"
  // Matrix products, rows and columns as in the nest (row-major C). Preferred first.
  std::span<const TileShape> gemm_vector, gemm_tensor;
  // Convolution as implicit product: rows are output positions, columns output channels.
  std::span<const TileShape> conv_vector, conv_tensor;
  Instructions gemm_scale;       // per output of a tile: alpha
  Instructions gemm_accumulate;  // per output when the product adds to what is there: beta
  Instructions conv_epilogue;    // per output of a tile
  bool tensor_conv_nhwc;         // tensor kernels want channels last: NCHW data is converted first
  MatrixVectorConstants matrix_vector;
  WinogradConstants winograd;
  FftConstants fft;
  AttentionConstants attention;
  int tensor_flops_per_instruction;  // of one warp-wide matrix instruction, fp16; 0: none or varied
};

// The generation for an architecture as device files name it ("Pascal", "Ampere", ...); the generic
// one for an architecture that is not listed.
const Library& LibraryFor(std::string_view architecture);
std::span<const Library> Libraries();

}  // namespace dlcost
