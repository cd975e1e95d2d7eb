#pragma once

#include "models/algorithms/library.h"

namespace dlcost {

// Tiles of the libraries in library.cc, whose sources are named there, and which of them run.

// cuBLAS is column-major, so that the wide side of its tiles covers the columns of a row-major
// product. Names.
inline constexpr TileShape kMaxwellGemm[] = {
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
inline constexpr OccupancyRule::Tile kGp100Linear[] = {{Simt(64, 64, 7), 0.93},
                                                       {Simt(128, 32, 4), 1}};
inline constexpr OccupancyRule::Tile kPascalLinear[] = {{Simt(64, 64, 8), 1},
                                                        {Simt(128, 32, 4), 1}};
inline constexpr OccupancyRule::Tile kPascalBatched[] = {{Simt(64, 128, 3), 1}};
inline constexpr OccupancyRule::Tile kVoltaBatched[] = {{Simt(64, 64, 8), 1},
                                                        {Simt(128, 32, 4), 1}};
inline constexpr OccupancyRule::Tile kTuringBatched[] = {
    {Simt(64, 128, 4), 1}, {Simt(64, 64, 8), 0.82}, {Simt(32, 128, 16), 0.85}};
constexpr TileShape Sliced(int rows, int columns, int resident) {
  return {.m = rows, .n = columns, .k = 32, .slices = 4, .resident = resident};
}
// Fitted to parts of PyTorch's Linear (2,500 products each); they name 60 % (V100), 76 % (T4) and
// 69 % (A100) of the tiles right. An A100's name those of AlexNet's affine layers as well, whose
// tiles published counters tell; without them 71 %. Long sums run in other tiles: the longest on an
// A100 in sliced ones (217 of 226 products), on a V100 and a T4 mostly in 128 x 128 (269 of 451 and
// 302 of 543), on a V100 in parts of some 2,500.
inline constexpr OccupancyRule::Tile kVoltaLinear[] = {
    {Simt(128, 128, 1), 1.12},  {Simt(64, 128, 4), 1.12},   {Simt(128, 32, 2), 1.05},
    {Simt(32, 128, 10), 1.05},  {Sliced(32, 64, 16), 0.98}, {Sliced(32, 32, 10), 0.89},
    {Sliced(32, 128, 16), 1.03}};
inline constexpr OccupancyRule::Tile kVoltaLongTiles[] = {{Simt(128, 128, 16), 1},
                                                          {Sliced(32, 128, 6), 0.86},
                                                          {Sliced(32, 64, 1), 0.84},
                                                          {Sliced(32, 32, 8), 0.69},
                                                          {Simt(128, 32, 1), 0.78}};
inline constexpr OccupancyRule kVoltaLong = {
    .tiles = kVoltaLongTiles, .idle = 0.25, .part = 2500, .most_parts = 10};
inline constexpr OccupancyRule::Tile kTuringLinear[] = {
    {Simt(128, 128, 1), 1.12}, {Simt(64, 128, 16), 1.1},  {Simt(64, 64, 2), 0.98},
    {Sliced(32, 64, 5), 0.66}, {Sliced(32, 32, 4), 0.58}, {Sliced(32, 128, 3), 0.76}};
inline constexpr OccupancyRule::Tile kTuringLongTiles[] = {
    {Simt(128, 128, 2), 1}, {Simt(64, 128, 16), 0.89}, {Simt(64, 64, 8), 0.83}};
inline constexpr OccupancyRule kTuringLong = {.tiles = kTuringLongTiles, .idle = 0.5};
inline constexpr OccupancyRule::Tile kAmpereLinear[] = {{Simt(64, 128, 1), 1.08},
                                                        {Simt(32, 128, 1), 1.03},
                                                        {Simt(128, 32, 1), 1.03},
                                                        {Sliced(32, 64, 1), 0.9},
                                                        {Sliced(32, 32, 1), 0.91}};
inline constexpr OccupancyRule::Tile kAmpereLongTiles[] = {
    {Sliced(32, 128, 1), 1, true}, {Sliced(32, 64, 1), 0.92, true}, {Sliced(32, 32, 8), 0.72}};
inline constexpr OccupancyRule kAmpereLong = {.tiles = kAmpereLongTiles, .idle = 1};
inline constexpr OccupancyRule::Tile kAmpereBatched[] = {{Simt(128, 128, 2), 1}};
// sgemm_128x128x8_NT_vec, and sgemm_128x128x8_NT where 16 does not divide k: 14 of 14 products of
// networks' sizes with k = 30,522.
inline constexpr TileShape kPascalWide = {.m = 128, .n = 128, .k = 8, .resident = 2, .wide = true};
// Fitted to 5,000 recorded products of PyTorch's Linear on P100 and P4, both of which come to the
// same share of their bandwidth: weights that pass once, for a single row of tiles, pass at 0.16 to
// 0.22 of it whatever the tile, the split and k. On a P4 in 64 x 64 tiles the odds of a loss go
// with k^1.06, rows of tiles^1.0, columns of tiles^0.84 (315 products, r^2 0.90).
inline constexpr StridedLoads kGp100Strided = {.sustained = 0.207,
                                               .columns_drift = 2400,
                                               .rows_drift = 20e3,
                                               .rounds_power = 0.5,
                                               .narrow = 1.6};
// Fitted again to the 992 of P4's that calibration fits, in the tiles that ran: rows of 128
// elements pass in 0.73 of the time, of 256 in 0.84, of 512 in 0.95.
inline constexpr StridedLoads kPascalStrided = {.sustained = 0.172,
                                                .columns_drift = 25.6e3,
                                                .rows_drift = 39e3,
                                                .rounds_power = 1.33,
                                                .narrow = 2.94,
                                                .short_rows = 145};
// Fitted to the 1014 of T4's that calibration fits: rows of 8192 elements pass at half of the rate.
// On Volta and later nothing is gained by it.
inline constexpr StridedLoads kTuringStrided = {.sustained = 0.33, .short_rows = 3500};

// Counters: 3025 positions run as 3072, channels pad to 64, k 363 runs as 364; every output of a
// tile costs one FMA more (the sum times alpha plus beta times the old value).
// Of 681 recorded implicit products on P100 and P4 32 ran in 128 x 128: a choice without them names
// more right.
inline constexpr TileShape kPascalConv[] = {
    {.m = 128, .n = 64, .k = 4, .resident = 3},
    {.m = 128, .n = 32, .k = 4, .resident = 6},
};
// Gradients of weights, of which no names were recorded: published times (DeepBench) fit better
// with the large tile.
inline constexpr TileShape kPascalWeights[] = {
    {.m = 128, .n = 64, .k = 4, .resident = 3},
    {.m = 128, .n = 128, .k = 4, .resident = 2},
    {.m = 128, .n = 32, .k = 4, .resident = 6},
};
// Of 625 recorded implicit products on V100 and T4 59 ran in 128 x 128, 415 in 128 x 64: likewise.
inline constexpr TileShape kVoltaConv[] = {
    {.m = 128, .n = 64, .k = 8, .resident = 3},
    {.m = 128, .n = 32, .k = 8, .resident = 6},
};
inline constexpr TileShape kVoltaVectorWeights[] = {
    {.m = 128, .n = 128, .k = 8, .resident = 2},
    {.m = 128, .n = 64, .k = 8, .resident = 3},
    {.m = 128, .n = 32, .k = 8, .resident = 6},
};
inline constexpr TileShape kVoltaTensor[] = {
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
inline constexpr TileShape kVoltaWeights[] = {
    {.m = 128, .n = 128, .k = 32, .resident = 2},
    {.m = 64, .n = 128, .k = 32, .resident = 3},
    {.m = 64, .n = 64, .k = 32, .resident = 4},
};
inline constexpr TileShape kTuringWeights[] = {{.m = 128, .n = 128, .k = 32, .resident = 2}};
// Counters: fc8 (128 x 1000 x 4096) ran as 6 parts of 22 steps of 32 on 32x32 tiles, four slices
// each: 8 blocks per SM make 864 places for 128 blocks.
inline constexpr TileShape kAmpereGemm[] = {
    {.m = 32, .n = 32, .k = 32, .slices = 4, .resident = 8},
    {.m = 64, .n = 64, .k = 8, .resident = 6},
    {.m = 64, .n = 128, .k = 8, .resident = 3},
    {.m = 128, .n = 128, .k = 8, .resident = 2},
};
// Counters: conv1 of AlexNet, k 363 runs as 368. What a Hopper runs in 32 x 32 are Ampere's kernels
// (sm80_xmma_fprop_implicit_gemm_f32f32_...).
inline constexpr TileShape kAmpereConv[] = {
    {.m = 128, .n = 64, .k = 8, .resident = 3},
    {.m = 128, .n = 128, .k = 8, .resident = 2},
    {.m = 128, .n = 32, .k = 8, .resident = 6},
    {.m = 32, .n = 32, .k = 8, .resident = 8},
};
// Names of 2,445 fp32 products on an H100 and an H200, 64 x 256, 128 x 256 and 256 x 128 left out,
// which run seldom: with them the fastest is too fast. With four waves and more a step of 32 x 32
// takes 3.0 of what its arithmetic would, 64 x 64 1.73, 128 x 64 1.56, 128 x 128 1.30.
inline constexpr TileShape kHopperGemm[] = {
    {.m = 128, .n = 128, .k = 8, .resident = 2}, {.m = 64, .n = 128, .k = 8, .resident = 3},
    {.m = 128, .n = 64, .k = 8, .resident = 3},  {.m = 256, .n = 64, .k = 8, .resident = 2},
    {.m = 64, .n = 64, .k = 8, .resident = 6},   {.m = 128, .n = 32, .k = 8, .resident = 6},
    {.m = 32, .n = 32, .k = 8, .resident = 8},
};
// Names of 114 convolutions in fp32 on an H100 and an H200 (bench/published/*/conv.csv), 54 of
// which ran in the fastest of them. A wave of 32 x 32, 128 x 32 and 256 x 64 takes 0.09, 0.28 and
// 0.78 us for eight elements of k, the first alone on its unit 0.18.
inline constexpr TileShape kHopperConv[] = {
    {.m = 256, .n = 64, .k = 8, .resident = 2},
    {.m = 128, .n = 32, .k = 8, .resident = 4},
    {.m = 32, .n = 32, .k = 8, .resident = 8},
};
inline constexpr TileShape kAmpereTensor[] = {
    {.m = 128, .n = 256, .k = 32},
    {.m = 256, .n = 128, .k = 32},
    {.m = 128, .n = 128, .k = 32, .resident = 2},
    {.m = 64, .n = 128, .k = 32, .resident = 2},
    {.m = 64, .n = 64, .k = 64, .resident = 4},
};
// Beside the tiles of products, convolutions have some of 64 filters (cuDNN's kernels for sm_80
// name their tiles: ..._implicit_gemm_..._tilesize256x64x32, 128x64x64).
inline constexpr TileShape kAmpereConvTensor[] = {
    {.m = 128, .n = 256, .k = 32},
    {.m = 256, .n = 128, .k = 32},
    {.m = 128, .n = 128, .k = 32, .resident = 2},
    {.m = 64, .n = 128, .k = 32, .resident = 2},
    {.m = 256, .n = 64, .k = 32, .resident = 2},
    {.m = 128, .n = 64, .k = 32, .resident = 2},
    {.m = 64, .n = 64, .k = 64, .resident = 4},
};
inline constexpr TileShape kHopperTensor[] = {
    {.m = 128, .n = 256, .k = 64},
    {.m = 256, .n = 128, .k = 64},
    {.m = 128, .n = 128, .k = 64},
    {.m = 64, .n = 256, .k = 64},
    {.m = 64, .n = 128, .k = 64, .resident = 2},
    {.m = 64, .n = 64, .k = 64, .resident = 3},
    {.m = 64, .n = 32, .k = 64, .resident = 4},
    {.m = 64, .n = 16, .k = 64, .resident = 4},
};
// Marlin's tiles (IST-DASLab/marlin, marlin_cuda_kernel.cu; vLLM's has one of 8 rows beside them).
inline constexpr TileShape kMarlinTiles[] = {
    {.m = 8, .n = 128, .k = 128}, {.m = 16, .n = 128, .k = 128}, {.m = 16, .n = 256, .k = 64},
    {.m = 32, .n = 256, .k = 64}, {.m = 48, .n = 256, .k = 64},  {.m = 64, .n = 256, .k = 64},
};
// Its published times on an A100 (vllm-project/vllm, pull 2497: the four products of a layer of
// Llama-13B, 313 million weights, 1 to 4,000 rows) are 67 us for each 64 rows and 3.43 us a row.
inline constexpr Widening kMarlin = {
    .tiles = kMarlinTiles, .weights_per_clock = 30.7, .rate = 0.58};
// ggml's (llama.cpp, ggml-cuda/mmq.cuh: mul_mat_q; mmvq.cuh: mul_mat_vec_q up to eight rows). The
// share was set with prompts of Llama-3-8B in Q4_K_M on eight boards of Ampere and Ada
// (docs/accuracy.md), which reach 12 to 22 % in all that they do.
inline constexpr TileShape kGgmlTiles[] = {{.m = 8, .n = 128, .k = 256},
                                           {.m = 16, .n = 128, .k = 256},
                                           {.m = 32, .n = 128, .k = 256},
                                           {.m = 64, .n = 128, .k = 256},
                                           {.m = 128, .n = 128, .k = 256}};
inline constexpr BlockProducts kGgmlBlocks = {
    .tiles = kGgmlTiles, .share = 0.2, .streamed_rows = 8};
// cutlass_75_tensorop_..._128x128_..._align1 is what an RTX 4090 ran for squares of 2055 to 2073 in
// bf16 (pytorch/pytorch, issue 181718), at the rate of others: GeForce boards have half of the
// matrix units. On an A100 its instructions, Turing's, pass at half of the peak, and nobody splits
// k: 3 x 16 x 30 million took 0.78 s (issue 146817), where one tile of 128 x 128 at that rate takes
// 0.68 s; it repeats issue 106469, which names no board: 100 x i x 100,000 in 0.10 ms for even i up
// to 20 and 2.7 to 3.3 ms for odd ones, where that tile takes 2.3 ms.
inline constexpr TileShape kAlign1[] = {{.m = 128, .n = 128, .k = 32, .resident = 2}};
// Attention of 197 positions in fp16 takes an A100 as long as in fp32, 680 to 850 us for 640 to 720
// of 384 heads of 64 to 88 (facebookresearch/xformers, pull 587, eager).
inline constexpr UnalignedRows kAmpereOdd = {
    .tiles = kAlign1, .rate = 0.5, .batched_in_float = true};
// On an H200 (cuBLAS 13) the same kernels pass at 0.13 of the peak, 74 to 112 TFLOP/s in large
// ones, where others reach 800; they share k, and run batches too (bench/published/h200:
// cutlass_75_tensorop_..._align1 of 128 x 128, 256 x 128 and 64 x 64).
inline constexpr TileShape kHopperAlign1[] = {
    {.m = 128, .n = 128, .k = 32, .resident = 2},
    {.m = 64, .n = 64, .k = 32, .resident = 4},
};
inline constexpr UnalignedRows kHopperOdd = {.tiles = kHopperAlign1, .splits = true, .rate = 0.13};
// Even rows that 8 does not divide run in cutlass_80_..._align2 on an H100 and an H200 alike
// (bench/published/h200, h100), large ones at 165 to 214 TFLOP/s; in halves of the work of larger
// tiles where these are few.
inline constexpr TileShape kHopperAlign2[] = {
    {.m = 256, .n = 128, .k = 32},
    {.m = 128, .n = 256, .k = 32},
    {.m = 128, .n = 64, .k = 64, .resident = 2},
    {.m = 64, .n = 64, .k = 32, .resident = 3},
    {.m = 32, .n = 32, .k = 64, .resident = 6},
};
inline constexpr UnalignedRows kHopperEven = {.tiles = kHopperAlign2, .splits = true, .rate = 0.23};
// ViT of 577 positions in fp16 on a T4 takes 2.4 times as long in PyTorch as with positions padded
// to 584 (NVIDIA/FasterTransformer, docs/vit_guide.md).
inline constexpr UnalignedRows kTuringOdd = {.batched_in_float = true};
// Register tiles of AVX-512 kernels (oneDNN's and OpenBLAS's developer guides): rows in registers,
// columns in two vectors.
inline constexpr TileShape kCpuGemm[] = {{.m = 6, .n = 32, .k = 1}};
// rocBLAS takes the kernel of the nearest size that it was tuned for, out of hundreds (its source,
// library/src/blas3/Tensile/Logic/asm_full/arcturus: *_SB.yaml, in fp32), and neighbours differ by
// factors. Squares stand for the shapes there (MacroTile0, MacroTile1; DepthU 16 and more).
inline constexpr TileShape kGfx908Gemm[] = {
    {.m = 128, .n = 128, .k = 32}, {.m = 64, .n = 64, .k = 32}, {.m = 32, .n = 32, .k = 32}};
// ggml's for Apple has 32 rows by 64 columns (ggml-metal.metal, kernel_mul_mm).
inline constexpr TileShape kGenericGemm[] = {
    {.m = 128, .n = 128, .k = 8}, {.m = 64, .n = 64, .k = 8}, {.m = 32, .n = 64, .k = 8}};

}  // namespace dlcost
