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
  bool wide = false;    // threads load runs of a row: at the full rate of memory
};

// How cuBLAS ranks tiles for products on vector units where it has no model of their time: by how
// full the tiles are and how full the waves over the units. Of tiles with the same value the first
// wins. k enters where long sums have a ranking of their own.
struct OccupancyRule {
  struct Tile {
    TileShape shape;     // `resident` blocks of it are the places of a unit
    double value;        // of a wave without idle places
    bool whole = false;  // keeps k whole
  };
  std::span<const Tile> tiles;  // empty: the library has another rule
  // A wave loses this much of its value, over the places of a unit, where all places are idle.
  double idle = 3;
  // Taken before all others where its blocks per unit are no more than `few`.
  TileShape small;
  double few = 0;
  // Taken before all others where its blocks per unit are at least `many` and 64, 2 and 16 divide
  // m, n and k, or 64, 64 and 2. 0: there is none.
  TileShape large;
  double many = 0;
  bool splits = false;  // blocks share k while they are fewer than the places
  // k is shared by parts of `part` or longer, up to so many, however many blocks there are. 0: by
  // as many as a unit's registers hold.
  int part = 0, most_parts = 1;
  // The ranking of products of a k from `from` on; null: this one.
  const OccupancyRule* longer = nullptr;
  int from = 0;
};

// Kernels for weights that are stored transposed (the "tn" of their names) walk both operands along
// k: every step loads a few elements of many rows that lie k apart.
struct StridedLoads {
  double sustained = 0;  // share of the rated bandwidth that such loads reach; 0: as all others
  // Blocks of one column of tiles share its weights, those of one row its activations, while they
  // walk side by side. They drift apart: half of what is shared is lost after so many steps along
  // k, times the rounds of blocks that a unit has run before to a power; blocks of one row start
  // together, so that rounds count with a quarter of it. 0: they stay together.
  double columns_drift = 0, rows_drift = 0, rounds_power = 1;
  double narrow = 1;  // steps of blocks with an extent below 64, over those of others
  // Rows of so many elements pass at twice the rate, shorter ones faster yet, none faster than
  // other loads: short ones lie close together.
  double short_rows = 0;
};

// Products of a long k that pass slower than others in the same tiles. A library that takes the
// kernel of the nearest size that it was tuned for has none for large ones: those of small run.
struct LongSums {
  double from = 0;  // the least of k, fp32; 0: there is no such k
  double rate = 1;  // over that of other products
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
  int nonfused_images;           // which pad the batch to a multiple of this
  int longest_nonfused;          // filter extent up to which these are offered
  double staged_rate = 0.9;      // share of the vector peak in the products between the transforms
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
  int most_shared;    // queries that share a key-value head and fit one tile
  // 8-bit queries: the smallest head that kernels are written for, and the rate that they reach
  // with heads beyond 192, over that up to 192.
  int least_head_8bit = 16;
  double wide_8bit = 1;
  double narrow_start_8bit = 0;  // seconds that a block takes more with heads up to 64
  // Rate of prefill with 16-bit queries where the cache has 8 bits, over that where it has 16.
  double beside_8bit = 1;
  bool whole_tiles_8bit = false;  // 8-bit queries: rows beyond the last query are computed as well
  // Over contiguous keys: the multiple that heads are padded to, and start and end of a block with
  // heads up to 64 and keys up to 256, over that of other blocks.
  int head_granule = 32;
  double narrow_overhead = 1;
  int side_launches = 0;  // small kernels beside each: clearing the counter of a tile scheduler
  double resident = 2;    // blocks of queries that a unit takes side by side, heads up to 192
  // Over contiguous keys: query positions of a block that has a unit alone. 0: as above.
  int contiguous_rows = 0;
  // Start and end of a block there and with 8-bit queries, over that of prefill over paged caches.
  double contiguous_start = 1;
  int narrow_keys = 64;  // and key positions that it takes at a time with heads up to 64
  // Clocks of one unit per score for scaling, exponential and sum, and how they go with those of
  // the products: p of (products^p + scores^p)^(1/p), where 1 adds them.
  double score_clocks = 0.09;
  double score_overlap = 1;
  // Share of the matrix-unit peak in the products, 0: the device's constant says it; and of that
  // with heads beyond 192.
  double efficiency = 0, wide = 1;
  bool splits_8bit = true;  // blocks that share an 8-bit cache also split its keys
  // What fits to measured rows of the generation, or of all, found of its kernels.
  double efficiency_8bit = 0.44;         // share of the matrix-unit peak, 8-bit queries
  double paged = 0.867;                  // rate of prefill over a paged cache, over contiguous keys
  double row_clocks = 2.2;               // of a decode block, per element of its padded queries
  double block_overhead_8bit = 2.03e-6;  // seconds of a decode block over an 8-bit cache
  // Key and value bytes that a decode block reads per clock, 16- and 8-bit caches; half of the
  // latter in a block that serves one query head.
  double fill = 33, fill_8bit = 32;
};

// Kernels that multiply weights in blocks as they are stored, on 8-bit matrix units, with one scale
// for each 16 or 32 products.
struct BlockProducts {
  std::span<const TileShape> tiles;
  double share = 0;          // of the peak of 8-bit integers
  double streamed_rows = 0;  // of activations, up to which weights are streamed instead
};

// ggml's, on boards of any generation that have such units.
const BlockProducts& GgmlBlocks();

// Kernels of products on matrix units whose weights are stored in fewer bits than what they meet:
// they widen them in registers.
struct Widening {
  std::span<const TileShape> tiles = {};  // empty: no such kernels; others take the product
  double weights_per_clock = 0;           // that one unit widens, for each row of tiles again
  double rate = 1;                        // of the peak, in the products
};

// Kernels for products on matrix units of 16-bit operands or results whose rows are no whole pieces
// of 16 bytes, as those of an odd number of elements. Asynchronous copies take 4, 8 or 16 bytes at
// such addresses (PTX ISA, cp.async), of which every other odd row has none: kernels of the
// generation before run, which load element by element. Copies of whole tiles take 16
// (cp.async.bulk.tensor): for other even rows kernels of the generation with copies of 4.
struct UnalignedRows {
  std::span<const TileShape> tiles = {};  // empty: as others
  bool splits = false;                    // they share k
  double rate = 1;                        // of the peak, in the products
  bool batched_in_float = false;          // strided-batched ones run on vector units in fp32
};

// Kernels on vector units for products of 8-bit floats with few rows: threads widen what they load,
// multiply in fp32 and add up across the block.
struct FewRows8Bit {
  int rows = 0;        // up to so many; 0: matrix units take them
  double result = 0;   // clocks of a unit for each result,
  double element = 0;  // and for each element of k of one
  int walk = 0;        // elements of k that a block takes at a time, and
  double wait = 0;     // seconds from its loads to its sums
};

// Products of several rows on matrix units that keep k whole, however long that takes.
struct WholeSums {
  int multiply_adds = 0;  // those of fewer than these, and
  int rows = 0;           // of 16-bit operands those of up to so many rows
  int columns = 0;        // and so many columns or more
  int ratio = 0;          // whose k is less than so many times the columns
};

struct Library {
  std::string_view id;      // "pascal"
  std::string_view covers;  // "cuDNN 6 to 7, cuBLAS 8 to 10 on Maxwell and Pascal"
  // Matrix products, rows and columns as in the nest (row-major C). Preferred first.
  std::span<const TileShape> gemm_vector, gemm_tensor;
  Widening widening = {};
  UnalignedRows odd_rows = {};  // where matrix units are not cut (Constant::kTensorCut)
  UnalignedRows even_rows = {};
  // Which of them runs: weights with rows of activations, and strided-batched products.
  OccupancyRule linear, batched;
  WholeSums whole;  // of products on matrix units
  FewRows8Bit few_rows_8bit;
  // Which of them run between the transforms of staged Winograd, filters as rows and tiles as
  // columns; without tiles, those of strided-batched products.
  OccupancyRule staged = {};
  // Of the tiles of vector kernels for weights the fastest one counts, where there is no rule.
  bool linear_by_time = false;
  StridedLoads strided;  // of vector kernels for weights
  // Products of up to so many rows run on vector units as with a vector: weights pass once.
  int vector_rows = 1;
  // One row of 16 bits does so too, where the library's kernels for matrix units are not known.
  bool row_on_vectors = false;
  // Rounds over the units count in the choice of a convolution's tile, not padding alone: what
  // NVIDIA's libraries were seen to ignore, and nobody knows of others.
  bool conv_by_rounds = false;
  // Bytes of operands that reach a unit per clock on vector units, beside the arithmetic, where the
  // tile is the fastest one, as no rule for it was found. 0: they hide, and tiles have rules.
  double vector_loads = 0;
  // Products that add a stored vector keep k whole on vector units.
  bool biased_whole = false;
  // Products of halves on vector units multiply and add in fp32, whatever faster the device has.
  bool halves_in_float = false;
  // Blocks of vector kernels start one row of tiles after the other; else in an order close to
  // squares.
  bool row_by_row = false;
  // Convolution as implicit product: rows are output positions, columns output channels.
  std::span<const TileShape> conv_vector, conv_tensor;
  // Which of conv_vector runs: the fastest; else the one that pads least for its size.
  bool conv_by_time = false;
  // Gradients of weights on vector units; empty: those of conv_vector.
  std::span<const TileShape> conv_weights = {};
  // Gradients of 16-bit weights on matrix units whose tiles hold channels of one tap of the filter.
  // Empty: those of conv_tensor, whose rows are taps and channels alike.
  std::span<const TileShape> conv_weights_by_tap = {};
  Instructions gemm_scale;       // per output of a tile: alpha
  Instructions gemm_accumulate;  // per output when the product adds to what is there: beta
  Instructions conv_epilogue;    // per output of a tile
  bool tensor_conv_nhwc;         // tensor kernels want channels last: NCHW data is converted first
  // The same of those of halves with more than one tap: cuDNN's since version 8. Earlier ones have
  // kernels for NCHW (DeepBench's rows on V100 and T4 leave no time for conversions).
  bool conv_halves_nhwc = false;
  bool conv_floats_nhwc = false;  // kernels of floats write channels last as well
  // Rate of filters of one tap in TF32 over channels first, over that of other convolutions: where
  // four divides the positions of an image, and where not. Of halves: odd_rows, even_rows.
  double first_tf32 = 1, first_tf32_odd = 1;
  // Rate of convolutions on matrix units over that of products of the same size, the clocks that
  // their kernels take before the first product (where filters and edges lie is worked out, the
  // image is on its way), and the multiple that they pad channels of halves to. Set together to the
  // smaller part of DeepBench's rows of a T4 and a V100: errors change little between rates of 0.75
  // and 0.9 and between 3,000 and 6,000 clocks, some of which are cuDNN's own small kernels.
  double conv_tensor_rate = 0.8;
  double conv_tensor_start = 3200;
  int conv_tensor_channels = 8;
  // Filters of several taps walk each tap in whole steps of so many bytes of channels (CUTLASS,
  // implicit_gemm_convolution.md); 0: the channels of all taps follow each other.
  int conv_tensor_step = 0;
  // Rate at which operands reach a unit, over that of products: a tile gathers the image.
  double conv_tensor_fill = 1;
  // Gradients. Rate of those of weights of 1x1 filters, and of those of inputs where the stride
  // leaves positions that no tap reaches, over that of other products.
  double conv_weights_1x1 = 0.75, conv_unreached = 0.6;
  bool conv_clears = true;  // what a stride leaves is set to zero by a pass over all of the input
  // Clocks that a block of a recurrent step's product takes at least for each element of k: too few
  // blocks run to hide the way to memory.
  double recurrent_clocks = 50;
  MatrixVectorConstants matrix_vector;
  WinogradConstants winograd;
  bool winograd_3x3 = true;  // taken for filters of three, where it is worth its transforms
  FftConstants fft;
  AttentionConstants attention;
  // Batched products on matrix units run in the tile that is fastest for this many of them, for
  // which the library was tuned, however many there are. 0: in the fastest for their own.
  int tuned_batch = 0;
  // Seconds that a tile of a product on matrix units takes beyond Constant::kTileOverhead: its
  // first steps wait for memory, and no other tile of its unit computes meanwhile.
  double tile_start = 0;
  // And one of 4-bit operands, whose scales it loads beside them.
  double tile_start_4bit = 0;
  LongSums long_sums;  // of kernels for weights
  // Blocks of products on matrix units that ask for an operand together, so that it crosses the
  // last-level cache once: the two units of a cluster, times thread block clusters.
  int shared_loads = 2;
  int tensor_flops_per_instruction;  // of one warp-wide matrix instruction, fp16; 0: none or varied
};

// The generation for an architecture as device files name it ("Pascal", "Ampere", ...), with its
// compute capability where there is one ("Pascal 6.0"); the generic
// one for an architecture that is not listed.
const Library& LibraryFor(std::string_view architecture);

}  // namespace dlcost
