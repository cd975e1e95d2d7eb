#include "models/algorithms/systolic.h"

#include <gtest/gtest.h>

#include "models/algorithms/convolution.h"

namespace dlcost {
namespace {

// Four arrays of 128 x 128 that keep weights, as a TPU v5e has them.
constexpr SystolicMachine kWeights{
    .rows = 128, .columns = 128, .arrays = 4, .switch_cycles = 128, .vector_rate = 1e12};
// Two of 256 x 256 that keep outputs and take other shapes, as a Gaudi2 has them.
constexpr SystolicMachine kOutputs{.rows = 256,
                                   .columns = 256,
                                   .arrays = 2,
                                   .stationary = Stationary::kOutputs,
                                   .switch_cycles = 128,
                                   .least_side = 128,
                                   .vector_rate = 1e12};

TEST(Systolic, RowsStreamPastTilesOfWeights) {
  const SystolicPlacement place = PlaceProduct({.m = 512, .n = 4096, .k = 4096}, kWeights);
  EXPECT_EQ(place.tiles, Count(32 * 32));
  EXPECT_EQ(place.parts, Count(1));
  EXPECT_EQ(place.passes, Count(256));
  EXPECT_EQ(place.streamed, Count(512));
  EXPECT_EQ(place.cycles, Count(256 * 512 + 128 + 128));
}

TEST(Systolic, AVectorWaitsForTheNextTileOfWeights) {
  const SystolicPlacement place = PlaceProduct({.m = 1, .n = 4096, .k = 4096}, kWeights);
  EXPECT_EQ(place.streamed, Count(1));
  EXPECT_EQ(place.cycles, Count(256 * 128 + 256));  // not 256 x 1
}

TEST(Systolic, OneTileIsSharedByCuttingItsRows) {
  const SystolicPlacement place = PlaceProduct({.m = 1024, .n = 128, .k = 128}, kWeights);
  EXPECT_EQ(place.tiles, Count(1));
  EXPECT_EQ(place.parts, Count(4));
  EXPECT_EQ(place.streamed, Count(256));
  EXPECT_EQ(place.cycles, Count(256 + 256));
}

TEST(Systolic, BatchesAreTilesOfTheirOwn) {
  EXPECT_EQ(PlaceProduct({.batch = 12, .m = 384, .n = 384, .k = 64}, kWeights).tiles,
            Count(12 * 3 * 1));
}

TEST(Systolic, OutputsStayAndTheArrayTakesTheirShape) {
  const SystolicPlacement square = PlaceProduct({.m = 4096, .n = 4096, .k = 4096}, kOutputs);
  EXPECT_EQ(square.rows, Count(256));
  EXPECT_EQ(square.cycles, Count(128 * 4096 + 512));
  // One row: arrays of 128 x 512 need 28 tiles where those of 256 x 256 need 56.
  const SystolicPlacement row = PlaceProduct({.m = 1, .n = 14336, .k = 4096}, kOutputs);
  EXPECT_EQ(row.rows, Count(128));
  EXPECT_EQ(row.columns, Count(512));
  EXPECT_EQ(row.tiles, Count(28));
  EXPECT_EQ(row.cycles, Count(14 * 4096 + 640));
  SystolicMachine fixed = kOutputs;
  fixed.least_side = 0;
  EXPECT_EQ(PlaceProduct({.m = 1, .n = 14336, .k = 4096}, fixed).cycles, Count(28 * 4096 + 512));
}

TEST(Systolic, MorePaysForTheSamePlaceNever) {
  Count last;
  for (const std::int64_t m : {1, 64, 128, 129, 512, 4096}) {
    const Count cycles = PlaceProduct({.m = m, .n = 1000, .k = 1000}, kWeights).cycles;
    EXPECT_GE(cycles, last) << m;
    last = cycles;
  }
}

TEST(Systolic, ExecutesWhatFillsUpTiles) {
  const Execution execution =
      SystolicGemm({.m = 100, .n = 200, .k = 300}, DType::kBfloat16, kWeights);
  EXPECT_EQ(execution.algorithm, Algorithm::kSystolic);
  EXPECT_EQ(execution.name, "systolic_gemm 128x128");
  EXPECT_EQ(execution.Launches(), Count(1));
  EXPECT_EQ(execution.Of(TermKind::kProducts).fma, Count(100 * 200 * 300));
  // n 200 -> 256, k 300 -> 384; the rows that stream are not padded.
  EXPECT_EQ(execution.Of(TermKind::kPadding).fma, Count(100 * 256 * 384 - 100 * 200 * 300));
  EXPECT_EQ(execution.On(Pipe::kVector), Instructions{});
  // Outputs stationary pads m and n, not k.
  const Execution outputs =
      SystolicGemm({.m = 300, .n = 300, .k = 300}, DType::kBfloat16, kOutputs);
  EXPECT_EQ(outputs.On(Pipe::kTensor).fma, Count(384 * 512 * 300));
  EXPECT_EQ(outputs.name, "systolic_gemm 128x256");
}

TEST(Systolic, AFilterPerChannelRunsOnTheVectorUnits) {
  const ConvNest nest{
      .groups = 32,
      .in_channels = 32,
      .out_channels = 32,
      .axes = {2, {.in = 14, .out = 14, .kernel = 3, .pad_begin = 1, .pad_end = 1}}};
  const Execution execution = SystolicDepthwise(nest, DType::kBfloat16);
  EXPECT_EQ(execution.Grid(), nullptr);
  EXPECT_EQ(execution.On(Pipe::kTensor), Instructions{});
  EXPECT_EQ(execution.On(Pipe::kVector).fma, Count(32 * 14 * 14 * 9));
}

TEST(Systolic, AttentionIsTwoProductsAndAVectorStageBetween) {
  const AttentionNest nest{.batch = 1,
                           .q_heads = 32,
                           .kv_heads = 8,
                           .q_len = 512,
                           .kv_len = 512,
                           .qk_dim = 128,
                           .v_dim = 128};
  const Execution fused = SystolicAttention(nest, DType::kBfloat16, kWeights, false);
  EXPECT_EQ(fused.On(Pipe::kTensor).fma, Count(2 * 32 * 512 * 512) * Count(128));
  EXPECT_EQ(fused.On(Pipe::kVector).special, Count(32 * 512 * 512));
  EXPECT_EQ(fused.Launches(), Count(1));
  EXPECT_EQ(fused.ExtraRead(), Bytes(0));
  ASSERT_EQ(fused.stages.size(), 3u);
  EXPECT_EQ(fused.stages[0].grid->m, Count(4 * 512));  // four queries share a key
  EXPECT_EQ(fused.stages[0].grid->batch, Count(8));

  const Execution pieces = SystolicAttention(nest, DType::kBfloat16, kWeights, true);
  const Bytes scores(std::int64_t{2} * 32 * 512 * 512);
  EXPECT_EQ(pieces.Launches(), Count(3));
  EXPECT_EQ(pieces.ExtraRead(), scores + scores);
  EXPECT_EQ(pieces.ExtraWritten(), scores + scores);
  EXPECT_EQ(pieces.flops(), fused.flops());
}

TEST(Systolic, StepsOfARecurrenceAreProductsOneAfterTheOther) {
  const RecurrentNest nest{.steps = 10, .batch = 4, .input = 128, .hidden = 128, .gates = 4};
  const Execution execution = SystolicRecurrent(nest, DType::kBfloat16, kWeights);
  ASSERT_EQ(execution.stages.size(), 2u);
  EXPECT_EQ(execution.stages[0].On(Pipe::kTensor).fma, Count(10 * 4 * 512 * 128));
  EXPECT_EQ(execution.stages[1].On(Pipe::kTensor).fma, Count(10 * 4 * 512 * 128));
  EXPECT_EQ(execution.stages[1].launches, Count(10));
}

}  // namespace
}  // namespace dlcost
