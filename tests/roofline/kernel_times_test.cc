#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "estimator/hardware/database.h"
#include "estimator/roofline/attention_time.h"
#include "estimator/roofline/conv_time.h"
#include "estimator/roofline/elementwise_time.h"
#include "estimator/roofline/recurrent_time.h"
#include "estimator/roofline/run.h"
#include "estimator/roofline/time_range.h"
#include "models/algorithms/convolution.h"

namespace dlcost {
namespace {

TimingDevice UncachedDevice() {
  TimingDevice d;
  d.units = 100;
  d.clock = 1e9;
  d.memory_rate = 1e12;
  return d;
}

TEST(Overlap, OneAddsAndLargeTakesTheLongest) {
  EXPECT_DOUBLE_EQ(Overlap(1, 1, 2, 3), 6);
  EXPECT_NEAR(Overlap(200, 1, 2, 3), 3, 1e-9);
  EXPECT_NEAR(Overlap(2, 3e-9, 4e-9), 5e-9, 1e-18);
  EXPECT_EQ(Overlap(2, 0, 0), 0);
}

TEST(WithRange, NeverBelowTheBound) {
  const TimeRange range = WithRange(10e-6, 0.25, 9e-6);
  EXPECT_DOUBLE_EQ(range.low, 9e-6);
  EXPECT_DOUBLE_EQ(range.expected, 10e-6);
  EXPECT_GT(range.high, 12.8e-6);
  EXPECT_DOUBLE_EQ(WithRange(1e-6, 0.25, 9e-6).expected, 9e-6);
}

TEST(MissShare, FallsFromColdToWarm) {
  TimingDevice d = UncachedDevice();
  EXPECT_EQ(MissShare(d, {}, 1), 1);  // no cache
  d.cache = 1e6;
  d.constants[Constant::kCacheShare] = 0.5;
  EXPECT_EQ(MissShare(d, {}, 0.5e6), 0);
  EXPECT_NEAR(MissShare(d, {}, 0.55e6), 0.5, 1e-9);  // all gone when a fifth more passes
  EXPECT_NEAR(MissShare(d, {}, 0.6e6), 1, 1e-9);
  EXPECT_EQ(MissShare(d, {.kept_rest = 0}, 1), 1);
}

TEST(StreamTime, ByHand) {
  TimingDevice d = UncachedDevice();
  d.constants[Constant::kStreamSustained] = 0.8;
  d.constants[Constant::kMemoryLatency] = 1e-6;
  d.constants[Constant::kLaunchGraph] = 2e-6;
  // 800 MB at 0.8 TB/s, the first access, the launch.
  EXPECT_NEAR(ExpectedStream(d, {.bytes = 800e6}, {}).seconds, 1e-3 + 3e-6, 1e-12);
}

// A normalization reads its rows twice, a softmax over long rows three times; what the cache keeps
// of the rows that all units work on at once does not pass again.
TEST(StreamTime, RowsAreReadAgainWhereTheCacheLosesThem) {
  TimingDevice d = UncachedDevice();
  d.units = 100;
  d.threads = 2048;  // 16 rows of 128 threads, 2 of 1024
  const auto reread = [&](StreamKind kind, double rows, double row) {
    const double bytes = 2 * rows * row * 4;
    return ExpectedStream(d, {.kind = kind, .bytes = bytes, .rows = rows, .row_elements = row}, {})
        .reread_bytes;
  };
  EXPECT_EQ(reread(StreamKind::kElementwise, 1e6, 1000), 0);
  EXPECT_EQ(reread(StreamKind::kNormalization, 1e6, 1000), 4e9);
  EXPECT_EQ(reread(StreamKind::kNormGradient, 1e6, 1000), 8e9);  // rows of two tensors
  EXPECT_EQ(reread(StreamKind::kSoftmax, 1e6, 1024), 0);
  EXPECT_EQ(reread(StreamKind::kSoftmax, 1e5, 8192), 2 * 1e5 * 8192 * 4);
  d.cache = 100 * 16 * 4000 / 0.51;
  EXPECT_NEAR(reread(StreamKind::kNormalization, 1e6, 1000), 2e9, 1);
  EXPECT_NEAR(reread(StreamKind::kNormalization, 1, 1000), 0, 1e-3);
  d.cache = 100 * 2 * 8192 * 4 / 0.35;
  EXPECT_NEAR(reread(StreamKind::kSoftmax, 1e5, 8192), 1e5 * 8192 * 4, 1);
}

TEST(AttentionTime, ACausalMaskHalvesLongPrompts) {
  const TimingDevice d = UncachedDevice();
  AttentionProblem p{.batch = 4,
                     .query_length = 16384,
                     .key_length = 16384,
                     .heads = 32,
                     .key_value_heads = 32,
                     .head_size = 128,
                     .peak = 100e12};
  const double full = TimeOfAttention(d, p, {}).seconds;
  p.causal = true;
  EXPECT_NEAR(TimeOfAttention(d, p, {}).seconds / full, 0.5, 0.02);
}

// On Ada, with 8-bit queries: heads of 64 run in the kernel for heads of 128, and start later.
TEST(AttentionTime, BlocksOfNarrowHeadsStartLaterIn8Bits) {
  const auto later = [](double bytes, double head) {
    TimingDevice d = UncachedDevice();
    const AttentionProblem p{.query_length = 128,
                             .key_length = 1024,
                             .heads = 8,
                             .key_value_heads = 8,
                             .head_size = head,
                             .query_bytes = bytes,
                             .peak = 100e12};
    Library library = *d.library;
    d.library = &library;
    const double before = TimeOfAttention(d, p, {}).block_seconds;
    library.attention.narrow_start_8bit = LibraryFor("Ada").attention.narrow_start_8bit;
    return TimeOfAttention(d, p, {}).block_seconds - before;
  };
  EXPECT_NEAR(later(1, 64), 6e-6, 1e-12);
  EXPECT_EQ(later(1, 128), 0);
  EXPECT_EQ(later(2, 64), 0);
}

AttentionProblem Decode(double batch, double key_length, double heads, double key_value_heads) {
  return {.phase = AttentionPhase::kDecode,
          .batch = batch,
          .key_length = key_length,
          .heads = heads,
          .key_value_heads = key_value_heads,
          .head_size = 128,
          .peak = 100e12};
}

TEST(AttentionTime, DecodeReadsTheCacheOnceWhenQueriesShareIt) {
  const TimingDevice d = UncachedDevice();
  AttentionProblem p = Decode(64, 8192, 32, 8);
  p.shared = true;
  const AttentionTime shared = TimeOfAttention(d, p, {});
  EXPECT_EQ(shared.memory_bytes, 2.0 * 64 * 8 * 8192 * 128 * 2 + 2.0 * 64 * 32 * 128 * 2);
  p.key_value_heads = 32;
  p.shared = false;
  EXPECT_GT(TimeOfAttention(d, p, {}).seconds, 3 * shared.seconds);
}

// Each block of one query head reads its keys and values through the L2. What blocks take and what
// it delivers is one stream, beside device memory.
TEST(AttentionTime, DecodeTakesTheLongerOfUnitsAndCache) {
  const TimingDevice d = UncachedDevice();
  for (const double heads : {8.0, 32.0, 256.0}) {
    const AttentionTime t = TimeOfAttention(d, Decode(64, 8192, heads, 8), {});
    const double together = std::pow(std::max(t.units_seconds, t.cache_seconds), t.overlap) +
                            std::pow(t.memory_seconds, t.overlap);
    EXPECT_NEAR(std::pow(t.seconds - t.launch_seconds, t.overlap) / together, 1, 1e-9) << heads;
    const double through = 64 * heads * (2.0 * 8192 * 128 * 2 + 2 * 128 * 2);
    EXPECT_NEAR(t.cache_seconds, through / CacheRate(d), 1e-9 * t.cache_seconds);
  }
}

TEST(AttentionTime, DecodeSplitsTheKeysWhileUnitsAreIdle) {
  const TimingDevice d = UncachedDevice();
  AttentionProblem p = Decode(1, 65536, 8, 1);
  // sqrt(8 * 512) of the 512 pieces of 128 keys; 8 waves of 100 units over 20 blocks.
  EXPECT_EQ(KeyParts(d, p, true, 1), 64);
  EXPECT_EQ(KeyParts(d, p, true, 20), 40);
  // Blocks of one query head: as many as leave no unit idle, and 16 at most.
  EXPECT_EQ(KeyParts(d, p, false, 20), 5);
  EXPECT_EQ(KeyParts(d, p, false, 1), 16);
  p.key_length = 256;
  EXPECT_EQ(KeyParts(d, p, true, 20), 2);
  EXPECT_EQ(KeyParts(d, p, false, 20), 2);
}

// Four times one key-value head times 20 pieces of 128 keys do not cover 100 units, 25 pieces do.
TEST(AttentionTime, HeadsShareABlockWhereThatLeavesNoUnitsIdle) {
  const TimingDevice d = UncachedDevice();
  EXPECT_FALSE(PacksHeads(d, Decode(1, 20 * 128, 8, 1)));
  EXPECT_TRUE(PacksHeads(d, Decode(1, 25 * 128, 8, 1)));
  AttentionProblem narrow = Decode(1, 128, 8, 1);
  narrow.key_value_bytes = 1;
  EXPECT_TRUE(PacksHeads(d, narrow));
}

TEST(AttentionTime, LibrariesThatDoNotSplitNarrowCachesLeaveUnitsIdle) {
  TimingDevice d = UncachedDevice();
  AttentionProblem p = Decode(1, 65536, 8, 1);
  p.key_value_bytes = 1;
  p.shared = true;
  p.parts = KeyParts(d, p, true, 1);
  const double split = TimeOfAttention(d, p, {}).seconds;
  Library library = *d.library;
  library.attention.splits_8bit = false;
  d.library = &library;
  p.parts = KeyParts(d, p, true, 1);
  EXPECT_EQ(p.parts, 1);
  EXPECT_GT(TimeOfAttention(d, p, {}).seconds, 5 * split);
}

TEST(AttentionTime, HeadSizesArePaddedToPowersOfTwo) {
  const TimingDevice d = UncachedDevice();
  AttentionProblem p = Decode(2048, 4, 8, 1);
  p.head_size = 192;
  const double padded = TimeOfAttention(d, p, {}).block_seconds;
  p.head_size = 256;
  EXPECT_NEAR(TimeOfAttention(d, p, {}).block_seconds, padded, 0.1 * padded);
}

ConvNest Conv3x3(std::int64_t channels, std::int64_t filters, std::int64_t side) {
  const ConvAxis axis{.in = side, .out = side, .kernel = 3, .pad_begin = 1, .pad_end = 1};
  return {.batch = 32, .in_channels = channels, .out_channels = filters, .axes = {axis, axis}};
}

ConvProblem ProblemOf(const ConvNest& nest) {
  const auto side = static_cast<double>(nest.axes[0].in);
  return {.batch = nest.batch.AsDouble(),
          .channels = nest.in_channels.AsDouble(),
          .height = side,
          .width = side,
          .filters = nest.out_channels.AsDouble(),
          .kernel_height = 3,
          .kernel_width = 3,
          .out_height = side,
          .out_width = side,
          .peak = 10e12};
}

TEST(ConvTime, ProductsOfEachAlgorithm) {
  const TimingDevice d = UncachedDevice();
  const ConvNest nest = Conv3x3(64, 128, 28);
  const ConvProblem p = ProblemOf(nest);
  const Library& library = LibraryFor("Volta");
  const ConvOptions options{.tile = {.m = 128, .n = 64, .k = 8}};
  const ConvTime implicit = TimeOfConv(d, p, ImplicitGemmConv(nest, options, library), {});
  EXPECT_EQ(implicit.m, 32 * 28 * 28);
  EXPECT_EQ(implicit.n, 128);
  EXPECT_EQ(implicit.k, 576);
  const ConvTime fused = TimeOfConv(d, p, FusedWinogradConv(nest, 2, options, library), {});
  EXPECT_EQ(fused.batch, 16);
  EXPECT_EQ(fused.m, 32 * 14 * 16);  // 14 x 14 tiles of 4 images in groups of 1 x 8
  EXPECT_EQ(fused.k, 64);
  EXPECT_EQ(fused.tiles, 32 * 14 * 16 / 32 * 4);  // 32 tiles by 32 filters a block
  const ConvTime staged = TimeOfConv(d, p, NonfusedWinogradConv(nest, 4, options, library), {});
  EXPECT_EQ(staged.batch, 36);
  EXPECT_EQ(staged.m, 32 * 7 * 7);
  EXPECT_GT(staged.transform_seconds, 0);
  EXPECT_LT(fused.executed_flops, implicit.executed_flops / 1.5);
}

// An image's three channels are four of 8 bits and eight of 16, others sixteen and eight at a time;
// 3,200 clocks pass before the first of it multiplies.
TEST(ConvTime, MatrixUnitsPadChannelsAndStartLate) {
  TimingDevice d = UncachedDevice();
  d.library = &LibraryFor("Ampere");
  const ConvOptions options{.pipe = Pipe::kTensor, .tile = {.m = 128, .n = 64, .k = 32}};
  const auto run = [&](std::int64_t channels, double bytes) {
    const ConvNest nest = Conv3x3(channels, 128, 28);
    ConvProblem p = ProblemOf(nest);
    p.element_bytes = bytes;
    p.tensor = true;
    return TimeOfConv(d, p, ImplicitGemmConv(nest, options, *d.library), {});
  };
  EXPECT_EQ(run(3, 1).k, 9 * 4);
  EXPECT_EQ(run(3, 2).k, 9 * 8);
  EXPECT_EQ(run(24, 1).k, 9 * 32);
  EXPECT_EQ(run(24, 2).k, 9 * 24);
  const ConvTime started = run(24, 2);
  EXPECT_DOUBLE_EQ(started.start_seconds, 3200 / d.clock);
  Library library = *d.library;
  library.conv_tensor_start = 0;
  d.library = &library;
  EXPECT_NEAR(started.units_seconds - run(24, 2).units_seconds, 3200 / d.clock, 1e-12);
}

TEST(ConvTime, UnfoldingCostsTraffic) {
  const TimingDevice d = UncachedDevice();
  const ConvNest nest = Conv3x3(64, 128, 28);
  const ConvOptions options{.tile = {.m = 128, .n = 64, .k = 8}};
  const Library& library = LibraryFor("Volta");
  const ConvTime unfolded = TimeOfConv(d, ProblemOf(nest), Im2colConv(nest, options, library), {});
  const ConvTime implicit =
      TimeOfConv(d, ProblemOf(nest), ImplicitGemmConv(nest, options, library), {});
  EXPECT_GT(unfolded.seconds, implicit.seconds);
  EXPECT_GT(unfolded.transform_seconds, 2.0 * 32 * 28 * 28 * 576 * 4 / 1e12);
}

// Every second row of the input is passed over by a filter of one tap; sectors of a row are not.
TEST(ConvTime, AStrideSkipsRows) {
  const TimingDevice d = UncachedDevice();
  const ConvAxis axis{.in = 28, .out = 14, .kernel = 1, .stride = 2};
  const ConvNest nest{.batch = 32, .in_channels = 64, .out_channels = 128, .axes = {axis, axis}};
  ConvProblem p = ProblemOf(nest);
  p.kernel_height = p.kernel_width = 1;
  p.out_height = p.out_width = 14;
  p.rows_read = 0.5;
  const ConvTime t = TimeOfConv(
      d, p, ImplicitGemmConv(nest, {.tile = {.m = 128, .n = 64, .k = 8}}, *d.library), {});
  EXPECT_EQ(t.memory_bytes, 4.0 * (32 * 64 * 14 * 28 + 64 * 128 + 32 * 128 * 14 * 14));
}

// Of the tiles that walk all of k, which steps do, the fastest: one more sentence costs no less.
TEST(RecurrentTime, AStepTakesATileThatIsFastWithoutParts) {
  const Device l40s = DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("l40s");
  const auto seconds = [&](std::int64_t batch) {
    Kernel kernel;
    const RecurrentNest nest{
        .steps = 32, .batch = batch, .input = 1024, .hidden = 1024, .gates = 4, .cell = "LSTM"};
    kernel.nest = nest;
    kernel.math = DType::kFloat32;
    kernel.work.Add(OpClass::kMac, DType::kFloat32, MacsOf(kernel.nest));
    kernel.needed = kernel.work;
    kernel.bytes_read = kernel.bytes_written = Bytes(1 << 20);
    return Runner(&l40s, {}).Run(kernel).expected->time.expected;
  };
  EXPECT_LT(seconds(37), 1.01 * seconds(38));
  EXPECT_LT(seconds(33), 1.3 * seconds(32));
}

// However few its blocks are, a step takes no less than one of them walks along k.
TEST(RecurrentTime, AStepWalksAllOfItsState) {
  const TimingDevice d = UncachedDevice();
  const RecurrentProblem p{.gates = 4, .hidden = 1000, .batch = 16, .steps = 10};
  const double clocks = d.library->recurrent_clocks;
  EXPECT_DOUBLE_EQ(WalkSeconds(d, p), d[Constant::kLaunchGraph] + 1000 * clocks / d.clock);
}

}  // namespace
}  // namespace dlcost
