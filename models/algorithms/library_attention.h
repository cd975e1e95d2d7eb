#pragma once

#include "models/algorithms/library.h"

namespace dlcost {

// How attention kernels work, by generation: those of the libraries in library.cc, and
// FlashAttention-2.

// FlashAttention-2's block sizes for a head of 128; least rows of a matrix instruction (m16n8k16).
inline constexpr AttentionConstants kAttention = {
    .rows = 64, .columns = 64, .decode_rows = 16, .most_shared = 32, .score_clocks = 0.04};

// TensorRT-LLM on Ampere and Hopper: shares and times from its measured rows there. On Hopper
// prefill does not read its keys from the pages of an 8-bit cache.
inline constexpr AttentionConstants kAmpereAttention = {.rows = 64,
                                                        .columns = 64,
                                                        .decode_rows = 16,
                                                        .most_shared = 32,
                                                        .score_clocks = 0.04,
                                                        .paged = 0.8774};
inline constexpr AttentionConstants kHopperAttention = {.rows = 128,
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
// us later. Over paged caches prompts of up to 64 positions take 0.7 to 1.2 us for each block of a
// unit (59 rows).
inline constexpr AttentionConstants kAdaAttention = {.rows = 64,
                                                     .columns = 64,
                                                     .decode_rows = 16,
                                                     .most_shared = 32,
                                                     .least_head_8bit = 128,
                                                     .wide_8bit = 0.28,
                                                     .narrow_start_8bit = 6e-6,
                                                     .whole_tiles_8bit = true,
                                                     .resident = 2,
                                                     .contiguous_rows = 128,
                                                     .contiguous_start = 0.4,
                                                     .narrow_keys = 128,
                                                     .score_clocks = 0.13,
                                                     .splits_8bit = false,
                                                     .efficiency_8bit = 0.72,
                                                     .paged = 0.6,
                                                     .row_clocks = 1.8,
                                                     .block_overhead_8bit = 3.2e-6,
                                                     .fill = 18.5,
                                                     .fill_8bit = 6.439};

// FlashAttention-2 and its copies in frameworks, whatever the library. Of two head sizes on an A100
// (its paper: 73 % of the peak at most; 210 and 182 TFLOP/s in Dao-AILab/flash-attention, issue
// 307, whose board only an A100 fits) and an H100 (370 and 312, arXiv 2407.08608 and
// Dao-AILab/flash-attention, pull 2688).
inline constexpr AttentionConstants kFlashAttention2 = {.rows = 128,
                                                        .columns = 64,
                                                        .decode_rows = 16,
                                                        .most_shared = 32,
                                                        .score_clocks = 0.07,
                                                        .efficiency = 0.87,
                                                        .wide = 0.7,
                                                        .paged = 1};

}  // namespace dlcost
