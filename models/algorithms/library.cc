#include "models/algorithms/library.h"

#include <array>

#include "models/algorithms/library_attention.h"
#include "models/algorithms/library_tiles.h"

namespace dlcost {
namespace {

// Sources. "Counters" are published profiles: nvprof flop_count_sp of AlexNet on a P4 at batch 1
// (cuDNN 6), nvprof metrics of batched SGEMM on a GTX 1080 Ti, instruction counters of AlexNet on
// an A100 at batch 128 (cuDNN 8). "Names" are tile shapes that kernel names carry, such as
// maxwell_sgemm_128x64, maxwell_scudnn_winograd_128x128_ldg1_ldg4_tile148n,
// ampere_sgemm_32x32_sliced1x4, ampere_gcgemm_64x64, sm80_xmma_gemm_..._tilesize128x128x32.

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
// Products of more than one row whose k could be shared: of the measured ones of a fit on an L40S
// all 10 with 0.5 to 1.7 million multiply-adds took as long as one block that walks all of k (up to
// 27 us where parts take 5), one of the next 39, from 2.4 to 64 million. Of all 175 in bf16 with 2
// to 64 rows for which parts would take a seventh less, 39 of 45 with 1024 columns and more and a k
// of less than four times as many took as long as with k whole, and 7 of the other 130. On an A100
// all but 8 of 502 products with so much to gain share k.
constexpr WholeSums kAdaWhole = {.multiply_adds = 1 << 21, .rows = 64, .columns = 1024, .ratio = 4};

// In the tiles that were recorded a V100 and an A100 took 8 to 14 % longer than others of their k.
constexpr LongSums kLongSums = {.from = 32768, .rate = 0.9};

// TensorRT-LLM's for compute capabilities 8.9 and 12.0 (FP8QDQLinearMethod, cudaCoreGemm): 128
// threads take 16 elements each for all rows and two columns. Set with the 23 fitted rows of an
// L40S with up to 8 rows, for which products on matrix units left times of 58 us at 18 and of 12 at
// 22: the 50 held out come from 16 to 6 %.
constexpr FewRows8Bit kAdaFewRows8Bit = {
    .rows = 8, .result = 65, .element = 0.022, .walk = 2048, .wait = 0.9e-6};

constexpr Library kHopper = {.id = "hopper",
                             .covers = "cuDNN 9 and cuBLAS 12 on Hopper",
                             .gemm_vector = kHopperGemm,
                             .gemm_tensor = kHopperTensor,
                             .widening = kMarlin,
                             .odd_rows = kHopperOdd,
                             .even_rows = kHopperEven,
                             .linear_by_time = true,
                             .vector_loads = 16,
                             .biased_whole = true,
                             .conv_vector = kHopperConv,
                             .conv_tensor = kHopperTensor,
                             .conv_by_time = true,
                             .gemm_scale = kScale,
                             .gemm_accumulate = kAccumulate,
                             .conv_epilogue = {.mul = 1},
                             .tensor_conv_nhwc = true,
                             .conv_halves_nhwc = true,
                             .conv_floats_nhwc = true,
                             // cutlass_80_tensorop_s1688gemm_..._nn_align4 and _align1 on an H100
                             // (bench/published/h100/kernels.csv): large ones at 110 to 137 and 40
                             // to 53 TFLOP/s.
                             .first_tf32 = 0.35,
                             .first_tf32_odd = 0.13,
                             // Recorded tiles, grids and times of an H100 and an H200
                             // (bench/published/*/conv.csv, kernels.csv): a step of 64 x 64 or 256
                             // x 64 elements, 64 bytes deep, takes 280 to 430 clocks.
                             .conv_tensor_step = 64,
                             .conv_tensor_fill = 0.6,
                             .matrix_vector = kMatrixVector,
                             .winograd = kCudnnWinograd,
                             // None of 191 filters of three ran so on an H200, in fp32 or TF32
                             // (bench/published/h200/conv.csv).
                             .winograd_3x3 = false,
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
     .widening = kMarlin,
     .linear = {.tiles = kVoltaLinear, .idle = 0.57, .longer = &kVoltaLong, .from = 16384},
     .batched = {.tiles = kVoltaBatched, .idle = 5, .small = Simt(32, 128, 4), .few = 1.24},
     .row_by_row = true,
     .conv_vector = kVoltaConv,
     .conv_tensor = kVoltaTensor,
     .conv_weights = kVoltaVectorWeights,
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
     .long_sums = kLongSums,
     .tensor_flops_per_instruction = 512},
    {.id = "turing",
     .covers = "cuDNN 7 and cuBLAS 10 on Turing",
     .gemm_vector = kMaxwellGemm,
     .gemm_tensor = kVoltaTensor,
     .widening = kMarlin,
     .odd_rows = kTuringOdd,
     .linear = {.tiles = kTuringLinear, .idle = 0.85, .longer = &kTuringLong, .from = 12288},
     .batched = {.tiles = kTuringBatched, .idle = 1},
     .strided = kTuringStrided,
     .row_by_row = true,
     .conv_vector = kVoltaConv,
     .conv_tensor = kVoltaTensor,
     .conv_weights = kVoltaVectorWeights,
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
     .widening = kMarlin,
     .odd_rows = kAmpereOdd,
     .linear = {.tiles = kAmpereLinear, .idle = 0.86, .longer = &kAmpereLong, .from = 32768},
     .batched = {.tiles = kAmpereBatched},
     .conv_vector = kAmpereConv,
     .conv_tensor = kAmpereConvTensor,
     .conv_by_time = true,
     .gemm_scale = kScale,
     .gemm_accumulate = kAccumulate,
     .conv_epilogue = {.mul = 1},
     .tensor_conv_nhwc = true,
     .conv_halves_nhwc = true,
     .matrix_vector = kMatrixVector,
     .winograd = kCudnnWinograd,
     .fft = kAmpereFft,
     .attention = kAmpereAttention,
     .long_sums = kLongSums,
     .tensor_flops_per_instruction = 2048},
    {.id = "ada",
     .covers = "cuDNN 8 and cuBLAS 12 on Ada",
     .gemm_vector = kAmpereGemm,
     .gemm_tensor = kAmpereTensor,
     .widening = kMarlin,
     .batched = {.tiles = kAmpereBatched},
     .whole = kAdaWhole,
     .few_rows_8bit = kAdaFewRows8Bit,
     .linear_by_time = true,
     .conv_vector = kAmpereConv,
     .conv_tensor = kAmpereConvTensor,
     .conv_by_time = true,
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
     .widening = kMarlin,
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
     .covers = "devices without a known library: 128x128, 64x64 and 32x64 tiles",
     .gemm_vector = kGenericGemm,
     .gemm_tensor = kGenericGemm,
     .widening = kMarlin,
     .linear_by_time = true,
     // From 9 on a product of ggml's on Apple is tiled (ggml-metal-ops.cpp, ne11_mm_min).
     .vector_rows = 8,
     .row_on_vectors = true,
     .conv_by_rounds = true,
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

const Library& LibraryFor(std::string_view architecture) {
  for (const Coverage& coverage : kCoverage) {
    if (architecture.starts_with(coverage.architecture)) return Find(coverage.library);
  }
  return Find(architecture);  // "cpu" and "generic" are names of their own
}

const BlockProducts& GgmlBlocks() { return kGgmlBlocks; }

}  // namespace dlcost
