#include "models/algorithms/library.h"

#include <array>

namespace dlcost {
namespace {

// Sources. "Counters" are published profiles: nvprof flop_count_sp of AlexNet on a P4 at batch 1
// (cuDNN 6), nvprof metrics of batched SGEMM on a GTX 1080 Ti, instruction counters of AlexNet on
// an A100 at batch 128 (cuDNN 8). "Names" are tile shapes that kernel names carry, such as
// maxwell_sgemm_128x64, maxwell_scudnn_winograd_128x128_ldg1_ldg4_tile148n,
// ampere_sgemm_32x32_sliced1x4, ampere_gcgemm_64x64, sm80_xmma_gemm_..._tilesize128x128x32.

// cuBLAS is column-major, so that the wide side of its tiles covers the columns of a row-major
// product. Names.
constexpr TileShape kMaxwellGemm[] = {
    {.m = 128, .n = 128, .k = 8, .resident = 2}, {.m = 64, .n = 128, .k = 8, .resident = 3},
    {.m = 64, .n = 64, .k = 8, .resident = 6},   {.m = 32, .n = 128, .k = 8, .resident = 6},
    {.m = 128, .n = 32, .k = 8, .resident = 6},
};
// Recorded names of 26,222 products (PyTorch's Linear and bmm) tell which tile runs; on Pascal
// and for batched products 91 to 99 % of them follow from these tables. cuBLAS is column-major: the
// first extent of a name covers columns.
constexpr TileShape Simt(int rows, int columns, int resident) {
  return {.m = rows, .n = columns, .k = 8, .resident = resident};
}
constexpr OccupancyRule::Tile kGp100Linear[] = {{Simt(64, 64, 7), 0.93}, {Simt(128, 32, 4), 1}};
constexpr OccupancyRule::Tile kPascalLinear[] = {{Simt(64, 64, 8), 1}, {Simt(128, 32, 4), 1}};
constexpr OccupancyRule::Tile kPascalBatched[] = {{Simt(64, 128, 3), 1}};
constexpr OccupancyRule::Tile kVoltaBatched[] = {{Simt(64, 64, 8), 1}, {Simt(128, 32, 4), 1}};
constexpr OccupancyRule::Tile kTuringBatched[] = {
    {Simt(64, 128, 4), 1}, {Simt(64, 64, 8), 0.82}, {Simt(32, 128, 16), 0.85}};
// Of a fourth of PyTorch's Linear (2,500 products each) these name 51 % (V100), 70 % (T4) and 65 %
// (A100) of the tiles right on the others; trees of decisions on their sizes 66, 71 and 71 %.
constexpr TileShape Sliced(int rows, int columns, int resident) {
  return {.m = rows, .n = columns, .k = 32, .slices = 4, .resident = resident};
}
constexpr OccupancyRule::Tile kVoltaLinear[] = {
    {Simt(128, 128, 1), 1.12},  {Simt(64, 128, 4), 1.12},   {Simt(128, 32, 2), 1.05},
    {Simt(32, 128, 10), 1.05},  {Sliced(32, 64, 16), 0.98}, {Sliced(32, 32, 10), 0.89},
    {Sliced(32, 128, 16), 1.03}};
constexpr OccupancyRule::Tile kTuringLinear[] = {
    {Simt(128, 128, 1), 1.12}, {Simt(64, 128, 16), 1.1},  {Simt(64, 64, 2), 0.98},
    {Sliced(32, 64, 5), 0.66}, {Sliced(32, 32, 4), 0.58}, {Sliced(32, 128, 3), 0.76}};
constexpr OccupancyRule::Tile kAmpereLinear[] = {
    {Simt(128, 128, 2), 1.04}, {Simt(64, 128, 1), 1.08}, {Simt(64, 64, 3), 0.58},
    {Simt(128, 32, 5), 1},     {Simt(32, 128, 1), 1.04}, {Sliced(32, 64, 3), 0.92},
    {Sliced(32, 32, 10), 0.91}};
constexpr OccupancyRule::Tile kAmpereBatched[] = {{Simt(128, 128, 2), 1}};
// sgemm_128x128x8_NT_vec, and sgemm_128x128x8_NT where 16 does not divide k: 14 of 14 products of
// networks' sizes with k = 30,522.
constexpr TileShape kPascalWide = {.m = 128, .n = 128, .k = 8, .resident = 2, .wide = true};
// Fitted to 5,000 recorded products of PyTorch's Linear on P100 and P4, both of which come to the
// same share of their bandwidth: weights that pass once, for a single row of tiles, pass at 0.16 to
// 0.22 of it whatever the tile, the split and k. On a P4 in 64 x 64 tiles the odds of a loss go
// with k^1.06, rows of tiles^1.0, columns of tiles^0.84 (315 products, r^2 0.90).
constexpr StridedLoads kGp100Strided = {.sustained = 0.207,
                                        .columns_drift = 2400,
                                        .rows_drift = 20e3,
                                        .rounds_power = 0.5,
                                        .narrow = 1.6};
// Fitted again to the 992 of P4's that calibration fits, in the tiles that ran: rows of 128
// elements pass in 0.73 of the time, of 256 in 0.84, of 512 in 0.95.
constexpr StridedLoads kPascalStrided = {.sustained = 0.172,
                                         .columns_drift = 25.6e3,
                                         .rows_drift = 39e3,
                                         .rounds_power = 1.33,
                                         .narrow = 2.94,
                                         .short_rows = 145};
// Fitted to the 1014 of T4's that calibration fits: rows of 8192 elements pass at half of the rate.
// On Volta and later nothing is gained by it.
constexpr StridedLoads kTuringStrided = {.sustained = 0.33, .short_rows = 3500};

// Counters: 3025 positions run as 3072, channels pad to 64, k 363 runs as 364; every output of a
// tile costs one FMA more (the sum times alpha plus beta times the old value).
// Of 681 recorded implicit products on P100 and P4 32 ran in 128 x 128: a choice without them names
// more right.
constexpr TileShape kPascalConv[] = {
    {.m = 128, .n = 64, .k = 4, .resident = 3},
    {.m = 128, .n = 32, .k = 4, .resident = 6},
};
// Gradients of weights, of which no names were recorded: published times (DeepBench) fit better
// with the large tile.
constexpr TileShape kPascalWeights[] = {
    {.m = 128, .n = 64, .k = 4, .resident = 3},
    {.m = 128, .n = 128, .k = 4, .resident = 2},
    {.m = 128, .n = 32, .k = 4, .resident = 6},
};
constexpr TileShape kVoltaConv[] = {
    {.m = 128, .n = 128, .k = 8, .resident = 2},
    {.m = 128, .n = 64, .k = 8, .resident = 3},
    {.m = 128, .n = 32, .k = 8, .resident = 6},
};
constexpr TileShape kVoltaTensor[] = {
    {.m = 128, .n = 256, .k = 32},
    {.m = 128, .n = 128, .k = 32, .resident = 2},
    {.m = 64, .n = 128, .k = 32, .resident = 3},
    {.m = 64, .n = 64, .k = 32, .resident = 4},
};
// DeepBench's rates of convolutions with 1 and 3 channels in 16 bits are those of 16 on both
// generations; those of its large ones come to 0.8 of a product's on a V100.
// Its rates of gradients of weights follow the padding of both channels to 128 on a T4 (3
// and 64 channels: 0.55 TFLOP/s, 64 and 64: 10, 64 and 128: 20, 128 and 256: 36; one of 3x3 as one
// of 5x10 taps), and to 64 on a V100 (3 and 64: 4.2, 16 and 32: 9.8, 256 and 512: 90).
constexpr TileShape kVoltaWeights[] = {
    {.m = 128, .n = 128, .k = 32, .resident = 2},
    {.m = 64, .n = 128, .k = 32, .resident = 3},
    {.m = 64, .n = 64, .k = 32, .resident = 4},
};
constexpr TileShape kTuringWeights[] = {{.m = 128, .n = 128, .k = 32, .resident = 2}};
// Counters: fc8 (128 x 1000 x 4096) ran as 6 parts of 22 steps of 32 on 32x32 tiles, four slices
// each: 8 blocks per SM make 864 places for 128 blocks.
constexpr TileShape kAmpereGemm[] = {
    {.m = 32, .n = 32, .k = 32, .slices = 4, .resident = 8},
    {.m = 64, .n = 64, .k = 8, .resident = 6},
    {.m = 64, .n = 128, .k = 8, .resident = 3},
    {.m = 128, .n = 128, .k = 8, .resident = 2},
};
// Counters: conv1 of AlexNet, k 363 runs as 368.
constexpr TileShape kAmpereConv[] = {
    {.m = 128, .n = 64, .k = 8, .resident = 3},
    {.m = 128, .n = 128, .k = 8, .resident = 2},
    {.m = 128, .n = 32, .k = 8, .resident = 6},
};
constexpr TileShape kAmpereTensor[] = {
    {.m = 128, .n = 256, .k = 32},
    {.m = 256, .n = 128, .k = 32},
    {.m = 128, .n = 128, .k = 32, .resident = 2},
    {.m = 64, .n = 128, .k = 32, .resident = 2},
    {.m = 64, .n = 64, .k = 64, .resident = 4},
};
// Beside the tiles of products, convolutions have some of 64 filters (cuDNN's kernels for sm_80
// name their tiles: ..._implicit_gemm_..._tilesize256x64x32, 128x64x64).
constexpr TileShape kAmpereConvTensor[] = {
    {.m = 128, .n = 256, .k = 32},
    {.m = 256, .n = 128, .k = 32},
    {.m = 128, .n = 128, .k = 32, .resident = 2},
    {.m = 64, .n = 128, .k = 32, .resident = 2},
    {.m = 256, .n = 64, .k = 32, .resident = 2},
    {.m = 128, .n = 64, .k = 32, .resident = 2},
    {.m = 64, .n = 64, .k = 64, .resident = 4},
};
constexpr TileShape kHopperTensor[] = {
    {.m = 128, .n = 256, .k = 64},
    {.m = 256, .n = 128, .k = 64},
    {.m = 128, .n = 128, .k = 64},
    {.m = 64, .n = 256, .k = 64},
    {.m = 64, .n = 128, .k = 64, .resident = 2},
    {.m = 64, .n = 64, .k = 64, .resident = 3},
    {.m = 64, .n = 32, .k = 64, .resident = 4},
    {.m = 64, .n = 16, .k = 64, .resident = 4},
};
// Register tiles of AVX-512 kernels (oneDNN's and OpenBLAS's developer guides): rows in registers,
// columns in two vectors.
constexpr TileShape kCpuGemm[] = {{.m = 6, .n = 32, .k = 1}};
// rocBLAS takes the kernel of the nearest size that it was tuned for, out of hundreds (its source,
// library/src/blas3/Tensile/Logic/asm_full/arcturus: *_SB.yaml, in fp32), and neighbours differ by
// factors. Squares stand for the shapes there (MacroTile0, MacroTile1; DepthU 16 and more).
constexpr TileShape kGfx908Gemm[] = {
    {.m = 128, .n = 128, .k = 32}, {.m = 64, .n = 64, .k = 32}, {.m = 32, .n = 32, .k = 32}};
constexpr TileShape kGenericGemm[] = {{.m = 128, .n = 128, .k = 8}, {.m = 64, .n = 64, .k = 8}};

// Names: tile148, tile228 and tile418 are images x rows x columns of 2x2 tiles, 32 in all. Recorded
// grids: a block computes 32 filters of them; with
// separate transforms the batch is padded to 16 images (1,783 of 1,783).
constexpr WinogradConstants::Group kWinogradGroups[] = {{1, 4, 8}, {2, 2, 8}, {4, 1, 8}};
constexpr int kWinogradFilters[] = {32};
constexpr WinogradConstants kCudnnWinograd = {.groups = kWinogradGroups,
                                              .filters = kWinogradFilters,
                                              .nonfused_tile = 4,
                                              .nonfused_images = 16,
                                              .longest_nonfused = 5};
// cuDNN 6 ran every 5x5 filter of the published runs as an implicit product.
constexpr WinogradConstants kEarlyWinograd = {.groups = kWinogradGroups,
                                              .filters = kWinogradFilters,
                                              .nonfused_tile = 4,
                                              .nonfused_images = 16,
                                              .longest_nonfused = 3};
constexpr WinogradConstants::Group kNoGroups[] = {{1, 1, 1}};
constexpr int kCpuFilters[] = {16};
constexpr WinogradConstants kCpuWinograd = {.groups = kNoGroups,
                                            .filters = kCpuFilters,
                                            .nonfused_tile = 4,
                                            .nonfused_images = 1,
                                            .longest_nonfused = 3};

constexpr int kFftTiles[] = {16, 32};
constexpr FftConstants kMaxwellFft = {.tiles = kFftTiles,
                                      .product = {.m = 64, .n = 64, .k = 8, .resident = 4},
                                      .gauss = false,
                                      .prefetch = 0};
// Counters: 3 real products per complex one, three additions per element of either side of a tile
// (for 8 steps more than k has), two per output.
constexpr FftConstants kAmpereFft = {.tiles = kFftTiles,
                                     .product = {.m = 64, .n = 64, .k = 8, .resident = 4},
                                     .gauss = true,
                                     .prefetch = 8};

// Counters of AlexNet's affine layers on the P4: m (2k + 5k/128 + 3).
constexpr MatrixVectorConstants kMatrixVector = {
    .chunk = 128, .adds_per_chunk = 5, .row = {.fma = 1, .mul = 1}};

// Counters of batched SGEMM: one multiplication per output, one FMA when the product accumulates.
constexpr Instructions kScale = {.mul = 1};
constexpr Instructions kAccumulate = {.fma = 1};
// FlashAttention-2's block sizes for a head of 128; least rows of a matrix instruction (m16n8k16).
constexpr AttentionConstants kAttention = {
    .rows = 64, .columns = 64, .decode_rows = 16, .most_shared = 32, .score_clocks = 0.04};

// TensorRT-LLM on Ampere and Hopper: shares and times from its measured rows there. On Hopper
// prefill does not read its keys from the pages of an 8-bit cache.
constexpr AttentionConstants kAmpereAttention = {.rows = 64,
                                                 .columns = 64,
                                                 .decode_rows = 16,
                                                 .most_shared = 32,
                                                 .score_clocks = 0.04,
                                                 .paged = 0.8774};
constexpr AttentionConstants kHopperAttention = {.rows = 128,
                                                 .columns = 64,
                                                 .decode_rows = 16,
                                                 .most_shared = 32,
                                                 .beside_8bit = 1.2,
                                                 .head_granule = 16,
                                                 .narrow_overhead = 0.4,
                                                 .side_launches = 1,
                                                 .resident = 1,
                                                 .score_clocks = 0.04,
                                                 .paged = 0.9982,
                                                 .row_clocks = 1.8,
                                                 .block_overhead_8bit = 0.5398e-6,
                                                 .fill = 29,
                                                 .fill_8bit = 35.06};
// cuDNN's, TensorRT-LLM's and FlashAttention-4's kernels on Blackwell for data centers: a block
// does its products and its exponentials in different warps, one beside the other. Published times
// of an FA4 at 1,755 MHz (B200) and 1,957 MHz (GB300) and of cuDNN 9 (Dao-AILab/flash-attention,
// pull 2605) come to 0.087 clocks for a score on a B200 and 0.06 on a GB300, 0.026 and a sixteenth
// or a thirty-second for the exponential; here at the clocks that these boards are rated for.
constexpr AttentionConstants BlackwellAttention(double score_clocks) {
  AttentionConstants constants = kHopperAttention;
  constants.side_launches = 0;
  constants.efficiency = 0.95;
  constants.score_clocks = score_clocks;
  constants.score_overlap = 3;
  constants.row_clocks = 0.5;
  constants.fill = 60;
  return constants;
}
// TensorRT-LLM on Ada (its measured rows): 8-bit queries run in kernels for heads of 128, heads
// of 256 at a third of their rate, and its kernel for shared 8-bit caches does not split keys. Over
// contiguous keys a block takes 128 queries and a unit to itself: with 400 positions times step
// where 4 blocks for each head, and not 7 half ones, begin another wave (40 heads 29 us, 56 heads
// 30, 80 heads 43 to 45, 112 heads 62), and 13 to 64 positions take three quarters of what 128 do;
// with heads of 64 it takes 128 keys at a time. With 8-bit queries and heads of 64 a block starts 6
// us later.
constexpr AttentionConstants kAdaAttention = {.rows = 64,
                                              .columns = 64,
                                              .decode_rows = 16,
                                              .most_shared = 32,
                                              .least_head_8bit = 128,
                                              .wide_8bit = 0.28,
                                              .narrow_start_8bit = 6e-6,
                                              .whole_tiles_8bit = true,
                                              .resident = 2,
                                              .contiguous_rows = 128,
                                              .score_clocks = 0.13,
                                              .splits_8bit = false,
                                              .efficiency_8bit = 0.72,
                                              .paged = 0.6,
                                              .row_clocks = 1.8,
                                              .block_overhead_8bit = 3.2e-6,
                                              .fill = 18.5,
                                              .fill_8bit = 6.439};

// Products of more than one row whose k could be shared: of the measured ones of a fit on an L40S
// all 10 with 0.5 to 1.7 million multiply-adds took as long as one block that walks all of k (up to
// 27 us where parts take 5), one of the next 39, from 2.4 to 64 million.
constexpr int kAdaLeastSplit = 1 << 21;

constexpr Library kHopper = {.id = "hopper",
                             .covers = "cuDNN 9 and cuBLAS 12 on Hopper",
                             .gemm_vector = kAmpereGemm,
                             .gemm_tensor = kHopperTensor,
                             .conv_vector = kAmpereConv,
                             .conv_tensor = kHopperTensor,
                             .gemm_scale = kScale,
                             .gemm_accumulate = kAccumulate,
                             .conv_epilogue = {.mul = 1},
                             .tensor_conv_nhwc = true,
                             .conv_halves_nhwc = true,
                             .matrix_vector = kMatrixVector,
                             .winograd = kCudnnWinograd,
                             .fft = kAmpereFft,
                             .attention = kHopperAttention,
                             .shared_loads = 4,
                             .tensor_flops_per_instruction = 0};

// Products, convolutions and all else as on a Hopper.
constexpr Library Successor(std::string_view id, std::string_view covers,
                            const AttentionConstants& attention) {
  Library library = kHopper;
  library.id = id;
  library.covers = covers;
  library.attention = attention;
  library.tile_start_4bit = 2e-6;
  return library;
}

constexpr Library kLibraries[] = {
    {.id = "gp100",
     .covers = "cuDNN 6 and cuBLAS 8 to 11 on Pascal for data centers",
     .gemm_vector = kMaxwellGemm,
     .gemm_tensor = kMaxwellGemm,
     .linear =
         {.tiles = kGp100Linear, .idle = 4, .small = Simt(32, 128, 4), .few = 1.2, .splits = true},
     .batched = {.tiles = kPascalBatched},
     .staged = {.tiles = kGp100Linear, .idle = 2},
     .strided = kGp100Strided,
     // Frameworks ask for sums in fp32 (DeepBench's 20 products in both types take the same time,
     // to 3 % in the median).
     .halves_in_float = true,
     .row_by_row = true,
     .conv_vector = kPascalConv,
     .conv_tensor = kPascalConv,
     .conv_weights = kPascalWeights,
     .gemm_scale = kScale,
     .gemm_accumulate = kAccumulate,
     .conv_epilogue = {.fma = 1},
     .tensor_conv_nhwc = false,
     .recurrent_clocks = 200,
     .matrix_vector = kMatrixVector,
     .winograd = kEarlyWinograd,
     .fft = kMaxwellFft,
     .attention = kAttention,
     .tensor_flops_per_instruction = 0},
    {.id = "pascal",
     .covers = "cuDNN 6 and cuBLAS 8 on Maxwell and Pascal",
     .gemm_vector = kMaxwellGemm,
     .gemm_tensor = kMaxwellGemm,
     .linear = {.tiles = kPascalLinear,
                .idle = 2,
                .small = Simt(32, 128, 4),
                .few = 1.2,
                .large = kPascalWide,
                .many = 2.2,
                .splits = true},
     .batched = {.tiles = kPascalBatched},
     .staged = {.tiles = kPascalLinear, .idle = 2},
     .strided = kPascalStrided,
     .row_by_row = true,
     .conv_vector = kPascalConv,
     .conv_tensor = kPascalConv,
     .conv_weights = kPascalWeights,
     .gemm_scale = kScale,
     .gemm_accumulate = kAccumulate,
     .conv_epilogue = {.fma = 1},
     .tensor_conv_nhwc = false,
     .recurrent_clocks = 100,
     .matrix_vector = kMatrixVector,
     .winograd = kEarlyWinograd,
     .fft = kMaxwellFft,
     .attention = kAttention,
     .tensor_flops_per_instruction = 0},
    {.id = "volta",
     .covers = "cuDNN 7 and cuBLAS 10 on Volta",
     .gemm_vector = kMaxwellGemm,
     .gemm_tensor = kVoltaTensor,
     .linear = {.tiles = kVoltaLinear, .idle = 0.57},
     .batched = {.tiles = kVoltaBatched, .idle = 5, .small = Simt(32, 128, 4), .few = 1.24},
     .row_by_row = true,
     .conv_vector = kVoltaConv,
     .conv_tensor = kVoltaTensor,
     .conv_weights_by_tap = kVoltaWeights,
     .gemm_scale = kScale,
     .gemm_accumulate = kAccumulate,
     .conv_epilogue = {.fma = 1},
     .tensor_conv_nhwc = true,
     .conv_tensor_channels = 16,
     .matrix_vector = kMatrixVector,
     .winograd = kCudnnWinograd,
     .fft = kMaxwellFft,
     .attention = kAttention,
     .tensor_flops_per_instruction = 512},
    {.id = "turing",
     .covers = "cuDNN 7 and cuBLAS 10 on Turing",
     .gemm_vector = kMaxwellGemm,
     .gemm_tensor = kVoltaTensor,
     .linear = {.tiles = kTuringLinear, .idle = 0.85},
     .batched = {.tiles = kTuringBatched, .idle = 1},
     .strided = kTuringStrided,
     .row_by_row = true,
     .conv_vector = kVoltaConv,
     .conv_tensor = kVoltaTensor,
     .conv_weights_by_tap = kTuringWeights,
     .gemm_scale = kScale,
     .gemm_accumulate = kAccumulate,
     .conv_epilogue = {.fma = 1},
     .tensor_conv_nhwc = true,
     .conv_tensor_channels = 16,
     .matrix_vector = kMatrixVector,
     .winograd = kCudnnWinograd,
     .fft = kMaxwellFft,
     .attention = kAttention,
     .tensor_flops_per_instruction = 512},
    {.id = "ampere",
     .covers = "cuDNN 8 and cuBLAS 11 on Ampere",
     .gemm_vector = kAmpereGemm,
     .gemm_tensor = kAmpereTensor,
     .linear = {.tiles = kAmpereLinear, .idle = 0.96},
     .batched = {.tiles = kAmpereBatched},
     .conv_vector = kAmpereConv,
     .conv_tensor = kAmpereConvTensor,
     .gemm_scale = kScale,
     .gemm_accumulate = kAccumulate,
     .conv_epilogue = {.mul = 1},
     .tensor_conv_nhwc = true,
     .conv_halves_nhwc = true,
     .matrix_vector = kMatrixVector,
     .winograd = kCudnnWinograd,
     .fft = kAmpereFft,
     .attention = kAmpereAttention,
     .tensor_flops_per_instruction = 2048},
    {.id = "ada",
     .covers = "cuDNN 8 and cuBLAS 12 on Ada",
     .gemm_vector = kAmpereGemm,
     .gemm_tensor = kAmpereTensor,
     .batched = {.tiles = kAmpereBatched},
     .least_split = kAdaLeastSplit,
     .linear_by_time = true,
     .conv_vector = kAmpereConv,
     .conv_tensor = kAmpereConvTensor,
     .gemm_scale = kScale,
     .gemm_accumulate = kAccumulate,
     .conv_epilogue = {.mul = 1},
     .tensor_conv_nhwc = true,
     .conv_halves_nhwc = true,
     .matrix_vector = kMatrixVector,
     .winograd = kCudnnWinograd,
     .fft = kAmpereFft,
     .attention = kAdaAttention,
     .tensor_flops_per_instruction = 2048},
    kHopper,
    Successor("blackwell", "cuDNN 9 and cuBLAS 12 on Blackwell for data centers",
              BlackwellAttention(0.092)),
    Successor("blackwell-ultra", "cuDNN 9 and cuBLAS 12 on Blackwell Ultra",
              BlackwellAttention(0.062)),
    {.id = "cpu",
     .covers = "oneDNN and MLAS on x86 and Arm processors",
     .gemm_vector = kCpuGemm,
     .gemm_tensor = kCpuGemm,
     .conv_vector = kCpuGemm,
     .conv_tensor = kCpuGemm,
     .gemm_scale = {},
     .gemm_accumulate = {.add = 1},
     .conv_epilogue = {},
     .tensor_conv_nhwc = false,
     .conv_clears = false,
     .matrix_vector = {.chunk = 64, .adds_per_chunk = 1, .row = {}},
     .winograd = kCpuWinograd,
     .fft = kMaxwellFft,
     .attention = {.rows = 32, .columns = 32, .decode_rows = 1, .most_shared = 32},
     .shared_loads = 1,
     .tensor_flops_per_instruction = 0},
    {.id = "gfx908",
     .covers = "rocBLAS on CDNA (gfx908)",
     .gemm_vector = kGenericGemm,
     .gemm_tensor = kGfx908Gemm,
     .conv_vector = kGenericGemm,
     .conv_tensor = kGenericGemm,
     .gemm_scale = {},
     .gemm_accumulate = {.add = 1},
     .conv_epilogue = {},
     .tensor_conv_nhwc = false,
     .matrix_vector = {.chunk = 128, .adds_per_chunk = 0, .row = {}},
     .winograd = kCudnnWinograd,
     .fft = kMaxwellFft,
     .attention = kAttention,
     // The grid of sizes in arcturus_Cijk_Ailk_Bljk_SB_GB.yaml, powers of two up to 2048, has batch
     // 8 (beside some cubes of 160 to 1,000). Expected times of 447 products of an MI100 are off by
     // 23 % with 8, by 26 % with 4, 12, 16 or none, constants fitted to each. Not so on gfx90a: the
     // rates that its file records for 1,000 products each follow from the fastest tile, to 7 % of
     // each other.
     .tuned_batch = 8,
     .tile_start = 2.6e-6,
     // Sizes in arcturus_Cijk_Alik_Bljk_SB.yaml whose k is long have few outputs, as 512 x 512 x
     // 39,488 (tiles of 64 x 48, 8 parts of k). An MI100 reaches 9 to 11 TFLOP/s in all of
     // PyTorch's Linear with k 65,536, with 50,272 now 11, now 34.
     .long_sums = {.from = 58e3, .rate = 0.31},
     .tensor_flops_per_instruction = 0},
    {.id = "generic",
     .covers = "devices without a known library: 128x128 and 64x64 tiles",
     .gemm_vector = kGenericGemm,
     .gemm_tensor = kGenericGemm,
     .conv_vector = kGenericGemm,
     .conv_tensor = kGenericGemm,
     .gemm_scale = {},
     .gemm_accumulate = {.add = 1},
     .conv_epilogue = {},
     .tensor_conv_nhwc = false,
     .matrix_vector = {.chunk = 128, .adds_per_chunk = 0, .row = {}},
     .winograd = kCudnnWinograd,
     .fft = kMaxwellFft,
     .attention = kAttention,
     .tensor_flops_per_instruction = 0},
};

struct Coverage {
  std::string_view architecture;
  std::string_view library;
};
// By the beginning of the architecture's name with its compute capability, the first that fits:
// "Blackwell 10.0" is Blackwell, "Blackwell (RTX) 12.0" is not.
constexpr Coverage kCoverage[] = {
    {"Kepler", "pascal"},
    {"Maxwell", "pascal"},
    {"Pascal 6.0", "gp100"},
    {"Pascal", "pascal"},
    {"Volta", "volta"},
    {"Turing", "turing"},
    {"Ampere", "ampere"},
    {"Ada", "ada"},
    {"Hopper", "hopper"},
    // Matrix instructions of one warp, as on Ada.
    {"Blackwell (RTX)", "ada"},
    {"Blackwell Ultra", "blackwell-ultra"},
    {"Blackwell", "blackwell"},
    {"CDNA 2", "generic"},
    {"CDNA 3", "generic"},
    {"CDNA 4", "generic"},
    {"CDNA", "gfx908"},
};

const Library& Find(std::string_view id) {
  for (const Library& library : kLibraries) {
    if (library.id == id) return library;
  }
  return kLibraries[std::size(kLibraries) - 1];
}

}  // namespace

// Of two head sizes on an A100 (its paper: 73 % of the peak at most; 210 and 182 TFLOP/s in
// Dao-AILab/flash-attention, issue 307, whose board only an A100 fits) and an H100 (370 and 312,
// arXiv 2407.08608 and Dao-AILab/flash-attention, pull 2688).
const AttentionConstants kFlashAttention2 = {.rows = 128,
                                             .columns = 64,
                                             .decode_rows = 16,
                                             .most_shared = 32,
                                             .score_clocks = 0.07,
                                             .efficiency = 0.87,
                                             .wide = 0.7,
                                             .paged = 1};

const Library& LibraryFor(std::string_view architecture) {
  for (const Coverage& coverage : kCoverage) {
    if (architecture.starts_with(coverage.architecture)) return Find(coverage.library);
  }
  return Find(architecture);  // "cpu" and "generic" are names of their own
}

std::span<const Library> Libraries() { return kLibraries; }

}  // namespace dlcost
