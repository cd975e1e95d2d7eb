#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/algorithms/attention.h"
#include "models/algorithms/convolution.h"
#include "models/algorithms/recurrent.h"
#include "models/algorithms/toom_cook.h"
#include "tests/algorithms/libraries.h"

namespace dlcost {
namespace {

Count All(const Instructions& i) { return i.fma + i.add + i.mul; }

TEST(ToomCook, CountsOfLavinAndGray) {
  // Instructions per one-dimensional transform; 2D: F(2x2,3x3) takes 32, 28 and 24.
  const ToomCook f23 = ToomCookOf(2, 3);
  EXPECT_EQ(f23.products, 4);
  EXPECT_EQ(All(f23.input), Count(4));
  EXPECT_EQ(All(f23.filter), Count(4));
  EXPECT_EQ(All(f23.output), Count(4));
  EXPECT_EQ(f23.input, (Instructions{.add = 4}));
  // F(4x4,3x3): input 12 and output 10 as published; the filter takes 9 here, 8 with a
  // subexpression that two pairs of rows share.
  const ToomCook f43 = ToomCookOf(4, 3);
  EXPECT_EQ(f43.products, 6);
  EXPECT_EQ(All(f43.input), Count(12));
  EXPECT_EQ(All(f43.filter), Count(9));
  EXPECT_EQ(All(f43.output), Count(10));
}

TEST(ToomCook, TrivialCasesCostNothing) {
  const ToomCook one = ToomCookOf(1, 1);
  EXPECT_EQ(one.products, 1);
  EXPECT_EQ(All(one.input) + All(one.filter) + All(one.output), Count(0));
  EXPECT_THROW(ToomCookOf(0, 3), Error);
  EXPECT_THROW(ToomCookOf(10, 5), Error);
}

TEST(ToomCook, EverySupportedPairExists) {
  for (int r = 1; r <= 7; ++r) {
    for (int m = 1; m + r - 1 <= kMostToomCookProducts; ++m) {
      EXPECT_EQ(ToomCookOf(m, r).products, m + r - 1);
    }
  }
}

ConvNest ThreeByThree(int channels, int filters, int extent) {
  return {.batch = 1,
          .in_channels = channels,
          .out_channels = filters,
          .axes = {2, {.in = extent, .out = extent, .kernel = 3, .pad_begin = 1, .pad_end = 1}}};
}

TEST(Convolution, ValidityRulesSayWhy) {
  ConvNest nest = ThreeByThree(64, 64, 56);
  const auto why = [&](Algorithm a, DType type = DType::kFloat32) {
    return WhyNot(a, nest, type).value_or("");
  };
  EXPECT_EQ(why(Algorithm::kWinograd), "");
  EXPECT_EQ(why(Algorithm::kWinograd, DType::kInt8), "type i8");
  EXPECT_EQ(why(Algorithm::kFft, DType::kFloat16), "type f16");
  EXPECT_EQ(why(Algorithm::kDepthwise), "more than one input channel per group");
  for (ConvAxis& axis : nest.axes) axis.stride = 2;
  EXPECT_EQ(why(Algorithm::kWinograd), "stride 2x2");
  EXPECT_THROW(FusedWinogradConv(nest, 2, {}, kAmpere), Error);
  for (ConvAxis& axis : nest.axes) axis = {.in = 56, .out = 56, .kernel = 5};
  EXPECT_EQ(why(Algorithm::kWinograd), "filter extent 5");
  EXPECT_EQ(why(Algorithm::kWinogradNonfused), "");
  nest.groups = 2;
  EXPECT_EQ(why(Algorithm::kFft), "2 groups");
  EXPECT_EQ(why(Algorithm::kImplicitGemm), "");
  EXPECT_THROW(WhyNot(Algorithm::kTiledGemm, nest, DType::kFloat32), Error);
}

TEST(Convolution, ProductsPlusPaddingAreThePaddedProduct) {
  const ConvNest nest = ThreeByThree(61, 67, 55);
  const Execution gemm = ImplicitGemmConv(nest, {.tile = {.m = 128, .n = 64, .k = 8}}, kAmpere);
  EXPECT_EQ(gemm.Of(TermKind::kProducts).fma, Count(3025LL * 67 * 549));
  EXPECT_EQ(gemm.Of(TermKind::kProducts).fma + gemm.Of(TermKind::kPadding).fma,
            Count(3072LL * 128 * 552));
  ASSERT_NE(gemm.Grid(), nullptr);
  EXPECT_EQ(gemm.Grid()->Blocks(), Count(24 * 2));
  EXPECT_EQ(gemm.Grid()->Waves(20), Count(3));
  EXPECT_NEAR(gemm.Grid()->PaddingShare(), 1 - 3025.0 * 67 * 549 / (3072.0 * 128 * 552), 1e-12);
}

TEST(Convolution, NonfusedWinogradNeedsAFourthOfTheProducts) {
  const ConvNest nest = ThreeByThree(64, 64, 56);
  const Execution winograd =
      NonfusedWinogradConv(nest, 4, {.tile = {.m = 64, .n = 64, .k = 8}}, kAmpere);
  // 14 x 14 tiles, 36 products each instead of 144.
  EXPECT_EQ(winograd.Of(TermKind::kProducts).fma, Count(196LL * 36 * 64 * 64));
  EXPECT_EQ(winograd.Launches(), Count(4));
  EXPECT_EQ(winograd.workspace, Bytes(4LL * 36 * (16 * 196 * 64 + 64 * 64 + 16 * 196 * 64)));
  EXPECT_EQ(winograd.ExtraRead(), winograd.ExtraWritten());
}

// 576 taps by 32 filters, sums over 3136 positions.
TEST(Convolution, GradientOfWeightsSumsOverPositions) {
  ConvNest nest = ThreeByThree(64, 32, 56);
  nest.of_weights = true;
  const Execution gemm =
      ImplicitGemmConv(nest, {.tile = {.m = 128, .n = 32, .k = 8}, .split_k = 7}, kAmpere);
  EXPECT_EQ(gemm.Of(TermKind::kProducts).fma, Count(576LL * 32 * 3136));
  ASSERT_NE(gemm.Grid(), nullptr);
  EXPECT_EQ(gemm.Grid()->m, Count(576));
  EXPECT_EQ(gemm.Grid()->k, Count(3136));
  EXPECT_EQ(gemm.Grid()->Blocks(), Count(5 * 7));
  // Parts beyond the first add their sums to the weights.
  EXPECT_EQ(gemm.ExtraWritten(), Bytes(4LL * 6 * 576 * 32));
  EXPECT_EQ(WhyNot(Algorithm::kWinograd, nest, DType::kFloat32), "the gradient of weights");
  // A product for each of nine taps: 64 channels leave half of each of its tiles empty.
  const Execution by_tap = ImplicitGemmConv(
      nest, {.tile = {.m = 128, .n = 128, .k = 32}, .split_k = 2, .by_tap = true}, kAmpere);
  EXPECT_EQ(by_tap.Grid()->batch, Count(9));
  EXPECT_EQ(by_tap.Grid()->m, Count(64));
  EXPECT_EQ(by_tap.Grid()->Blocks(), Count(9 * 2));
  EXPECT_EQ(by_tap.Of(TermKind::kProducts).fma, Count(576LL * 32 * 3136));
  // Both operands are channels first: the image and what comes back.
  const Execution converted = ImplicitGemmConv(nest, {.convert_layout = true}, kAmpere);
  EXPECT_EQ(converted.workspace, Bytes(4LL * 3136 * (64 + 32)));
}

// One tap and stride two reach a quarter of an image of 28 x 28: all of it is cleared before.
TEST(Convolution, WhatNoTapReachesIsCleared) {
  const ConvAxis axis{.in = 14, .out = 28, .kernel = 1, .stride = 2};
  ConvNest nest{.in_channels = 128, .out_channels = 64, .axes = {axis, axis}, .transposed = true};
  ASSERT_TRUE(LeavesGaps(nest));
  const Execution execution = ImplicitGemmConv(nest, {.clears = true}, kAmpere);
  EXPECT_EQ(execution.Grid()->m, Count(14 * 14));
  EXPECT_EQ(execution.ExtraWritten(), Bytes(4LL * 64 * 28 * 28));
  nest.axes[0].kernel = nest.axes[1].kernel = 3;
  EXPECT_FALSE(LeavesGaps(nest));
}

// Tiles of 4 x 4 outputs and 3 x 3 results: as many products as forward, but the batch is not
// padded to 16 images.
TEST(Convolution, NonfusedWinogradOfWeightsSumsOverTiles) {
  ConvNest nest = ThreeByThree(64, 32, 56);
  nest.of_weights = true;
  const Execution winograd =
      NonfusedWinogradConv(nest, 4, {.tile = {.m = 64, .n = 32, .k = 8}}, kAmpere);
  EXPECT_EQ(winograd.name, "winograd_nonfused F(3x3,4x4)");
  EXPECT_EQ(winograd.Of(TermKind::kProducts).fma, Count(36LL * 64 * 32 * 196));
  EXPECT_EQ(winograd.workspace, Bytes(4LL * 36 * (196 * 64 + 196 * 32 + 64 * 32)));
  // One product per frequency of a Fourier tile of 16: 14 x 14 positions each, 4 x 4 tiles.
  const Execution fourier = FftConv(nest, 16, {}, kAmpere);
  ASSERT_NE(fourier.Grid(), nullptr);
  EXPECT_EQ(fourier.Grid()->m, Count(64));
  EXPECT_EQ(fourier.Grid()->k, Count(16));
}

TEST(Convolution, Im2colWritesKColumnsPerPosition) {
  const ConvNest nest = ThreeByThree(64, 64, 56);
  const Execution execution = Im2colConv(nest, {.tile = {.m = 128, .n = 64, .k = 8}}, kAmpere);
  EXPECT_EQ(execution.workspace, Bytes(4LL * 3136 * 576));
  EXPECT_EQ(execution.ExtraWritten(), execution.workspace);
  ConvNest pointwise = nest;
  for (ConvAxis& axis : pointwise.axes) axis.kernel = 1;
  EXPECT_EQ(Im2colConv(pointwise, {.tile = {.m = 128, .n = 64, .k = 8}}, kAmpere).workspace,
            Bytes(0));
}

TEST(Convolution, DepthwiseHasNoPadding) {
  ConvNest nest = ThreeByThree(32, 32, 112);
  nest.groups = 32;
  const Execution execution = DepthwiseConv(nest, {});
  EXPECT_EQ(execution.flops(), Flops(2LL * 32 * 112 * 112 * 9));
  EXPECT_EQ(AsGemm(nest).batch, Count(32));
  EXPECT_EQ(AsGemm(nest).k, Count(9));
}

TEST(Attention, CausalMaskSkipsTilesAboveTheDiagonal) {
  const AttentionNest nest{.batch = 1,
                           .q_heads = 1,
                           .kv_heads = 1,
                           .q_len = 256,
                           .kv_len = 256,
                           .qk_dim = 64,
                           .v_dim = 64,
                           .causal = true};
  const Execution flash =
      FlashAttention(nest, {.pipe = Pipe::kTensor, .type = DType::kFloat16}, kAmpere);
  // Of 64 rows each, the first see one tile of 64 keys, the last four: 10 of 16.
  EXPECT_EQ(flash.On(Pipe::kTensor).fma, Count(10LL * 64 * 64 * 128));
  EXPECT_EQ(flash.Of(TermKind::kSkipped).fma, Count(-6LL * 64 * 64 * 128));
  EXPECT_EQ(VisibleScores(nest), Count(256LL * 257 / 2));
  EXPECT_EQ(flash.ExtraWritten(), Bytes(0));
}

// 256 keys before and at each query. The row blocks of 64 begin at key 64 t - 255 and end at 64 t +
// 63: 1, 2, 3, 4, and then 5 blocks of 64 keys each, 12 times.
TEST(Attention, WindowSkipsTilesBeforeIt) {
  const AttentionNest nest{.batch = 1,
                           .q_heads = 1,
                           .kv_heads = 1,
                           .q_len = 1024,
                           .kv_len = 1024,
                           .qk_dim = 64,
                           .v_dim = 64,
                           .causal = true,
                           .left = 255};
  const Execution flash =
      FlashAttention(nest, {.pipe = Pipe::kTensor, .type = DType::kFloat16}, kAmpere);
  EXPECT_EQ(flash.On(Pipe::kTensor).fma, Count(70LL * 64 * 64 * 128));
  EXPECT_EQ(VisibleScores(nest), Count(256LL * 257 / 2 + 768LL * 256));
}

TEST(Attention, WindowOfADecodedTokenIsAllThatItSees) {
  AttentionNest nest{.batch = 1,
                     .q_heads = 4,
                     .kv_heads = 4,
                     .q_len = 1,
                     .kv_len = 4096,
                     .qk_dim = 64,
                     .v_dim = 64,
                     .causal = true,
                     .left = 511};
  EXPECT_EQ(WithoutUnseenKeys(nest).kv_len, Count(512));
  EXPECT_EQ(VisibleScores(nest), Count(512));
  const AttentionOptions options{.pipe = Pipe::kTensor, .type = DType::kFloat16};
  const Execution windowed = FlashAttention(nest, options, kAmpere);
  nest.left = -1;
  nest.kv_len = 512;
  EXPECT_EQ(windowed.On(Pipe::kTensor).fma,
            FlashAttention(nest, options, kAmpere).On(Pipe::kTensor).fma);
}

TEST(Attention, DecodePacksHeadsThatShareKeys) {
  const AttentionNest nest{.batch = 2,
                           .q_heads = 32,
                           .kv_heads = 8,
                           .q_len = 1,
                           .kv_len = 1024,
                           .qk_dim = 128,
                           .v_dim = 128,
                           .causal = true};
  EXPECT_EQ(PhaseOf(nest), SequencePhase::kDecode);
  const Execution flash = FlashAttention(
      nest, {.pipe = Pipe::kTensor, .type = DType::kFloat16, .split_kv = 4}, kAmpere);
  // 16 key-value heads, 4 queries each padded to 16 rows.
  EXPECT_EQ(flash.On(Pipe::kTensor).fma, Count(16LL * 16 * 1024 * 256));
  EXPECT_EQ(flash.Of(TermKind::kProducts).fma, Count(2LL * 32 * 1024 * 256));
  EXPECT_EQ(flash.Launches(), Count(2));
  EXPECT_EQ(flash.ExtraRead(), Bytes(4LL * 16 * 4 * 4 * 130));
}

TEST(Attention, MaterializedScoresGoThroughMemoryFourTimes) {
  const AttentionNest nest{.batch = 1,
                           .q_heads = 12,
                           .kv_heads = 12,
                           .q_len = 128,
                           .kv_len = 128,
                           .qk_dim = 64,
                           .v_dim = 64};
  const Execution execution = MaterializedAttention(
      nest, {.type = DType::kFloat32, .tile = {.m = 64, .n = 64, .k = 8}}, kAmpere);
  const Bytes scores(4LL * 12 * 128 * 128);
  EXPECT_EQ(execution.ExtraRead(), scores * 2);
  EXPECT_EQ(execution.ExtraWritten(), scores * 2);
  EXPECT_EQ(execution.Of(TermKind::kProducts).fma, Count(2LL * 12 * 128 * 128 * 64));
}

TEST(Recurrent, ThreeWaysOneAmountOfProducts) {
  const RecurrentNest nest{
      .steps = 32, .batch = 128, .input = 1024, .hidden = 1024, .gates = 4, .cell = "LSTM"};
  const RecurrentOptions options{.tile = {.m = 128, .n = 128, .k = 8}};
  const Execution steps = RecurrentSteps(nest, options, kAmpere);
  const Execution input = RecurrentInputGemm(nest, options, kAmpere);
  const Execution persistent = RecurrentPersistent(nest, options, kAmpere);
  const Count products = Count(32) * 128 * 8 * 1024 * 1024;
  for (const Execution* e : {&steps, &input, &persistent}) {
    EXPECT_EQ(e->Of(TermKind::kProducts).fma, products);
  }
  EXPECT_EQ(steps.Launches(), Count(64));
  EXPECT_EQ(input.Launches(), Count(65));
  EXPECT_EQ(persistent.Launches(), Count(2));
  // Weights beyond the first read: 31 times both halves, 31 times one half, never.
  const Bytes half(4LL * 4 * 1024 * 1024);
  const Bytes gates(4LL * 32 * 128 * 4096);
  EXPECT_EQ(steps.ExtraRead(), half * 62 + gates);
  EXPECT_EQ(input.ExtraRead(), half * 31 + gates * 2);
  EXPECT_EQ(persistent.ExtraRead(), gates);
}

// One sample: a step is a matrix-vector product in every type, with no tile to pad to.
TEST(Recurrent, OneSampleHasNoTiles) {
  const RecurrentNest nest{
      .steps = 32, .batch = 1, .input = 1024, .hidden = 1000, .gates = 4, .cell = "LSTM"};
  for (const Pipe pipe : {Pipe::kVector, Pipe::kTensor}) {
    const RecurrentOptions options{
        .pipe = pipe, .type = DType::kFloat16, .tile = {.m = 128, .n = 128, .k = 32}};
    const Stage step = RecurrentInputGemm(nest, options, kAmpere).stages[1];
    EXPECT_FALSE(step.grid);
    EXPECT_EQ(step.terms[0].instructions.fma, Count(32LL * 4 * 1000 * 1000));
  }
}

TEST(Names, RoundTrip) {
  for (int i = 0; i <= static_cast<int>(Algorithm::kReduction); ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    EXPECT_EQ(ParseAlgorithm(Name(algorithm)), algorithm);
  }
  EXPECT_EQ(ParseAlgorithm("winnograd"), std::nullopt);
}

}  // namespace
}  // namespace dlcost
