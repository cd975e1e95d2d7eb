#include "estimator/roofline/gemm_time.h"

#include <gtest/gtest.h>

#include <cmath>

#include "estimator/hardware/database.h"
#include "estimator/hardware/device.h"

namespace dlcost {
namespace {

// 100 units at 1 GHz, 100 TFLOP/s, 1 TB/s, no cache; constants that make every term exact.
TimingDevice PlainDevice() {
  TimingDevice d;
  d.units = 100;
  d.clock = 1e9;
  d.memory_rate = 1e12;
  d.cache = 0;
  TimingConstants& c = d.constants;
  c[Constant::kLaunchGraph] = 2e-6;
  c[Constant::kMemorySustained] = 1;
  c[Constant::kMemoryLatency] = 0;
  c[Constant::kTensorEfficiency] = 1;
  c[Constant::kTensorFill] = 400;
  c[Constant::kTensorDrain] = 400;
  c[Constant::kTileOverhead] = 0;
  c[Constant::kTileBusyArea] = 64;
  c[Constant::kTensorOverlap] = 10;
  return d;
}

GemmProblem Square(double m, double n, double k) {
  return {
      .m = m, .n = n, .k = k, .input_bytes = 2, .output_bytes = 2, .tensor = true, .peak = 100e12};
}

struct Tile {
  int rows, columns;
};

// 64 bytes of a row are one step of the main loop.
TileGrid GridOf(const GemmProblem& p, Tile tile, int split) {
  const auto count = [](double value) { return Count(static_cast<std::int64_t>(value)); };
  return {.batch = count(p.batch),
          .m = count(p.m),
          .n = count(p.n),
          .k = count(p.k),
          .tile_m = tile.rows,
          .tile_n = tile.columns,
          .tile_k = count(64 / p.input_bytes),
          .split_k = split};
}

GemmTime GemmWithTile(const TimingDevice& d, const GemmProblem& p, const Conditions& conditions,
                      Tile tile, int split) {
  return GemmTimer(d, p, conditions).Tiled(GridOf(p, tile, split));
}

TEST(GemmTime, TilesAndWavesByHand) {
  // 1000 x 1000 in tiles of 128 x 128: 8 x 8 tiles, one wave of 100 units; depth 1024 of 1000.
  const GemmTime t = GemmWithTile(PlainDevice(), Square(1000, 1000, 1000), {}, {128, 128}, 1);
  EXPECT_EQ(t.tiles, 64);
  EXPECT_EQ(t.waves, 1);
  // Executed 64 * 128 * 128 * 1024 multiply-adds for 10^9.
  EXPECT_NEAR(t.padding, 1 - 1e9 / (64.0 * 128 * 128 * 1024), 1e-12);
  // One tile: 2 * 128 * 128 * 1024 FLOP at 1 TFLOP/s of one unit.
  const double arithmetic = 2.0 * 128 * 128 * 1024 / 1e12;
  const double fill = 256.0 * 1024 * 2 / 400e9;
  EXPECT_NEAR(t.tile_seconds, Overlap(8, arithmetic, fill), 1e-15);
  // The result alone, without padding, leaves at the rate of all 100 units.
  EXPECT_NEAR(t.units_seconds - t.tile_seconds, 1e6 * 2 / (100 * 400e9), 1e-15);
  EXPECT_EQ(t.launch_seconds, 2e-6);
}

TEST(GemmTime, OnVectorUnitsOneTileDrainsWhileTheNextComputes) {
  TimingDevice d = PlainDevice();
  d.constants[Constant::kVectorEfficiency] = 1;
  d.constants[Constant::kTileOverhead] = 0;
  d.constants[Constant::kVectorDrain] = 1;
  GemmProblem p{.batch = 300,
                .m = 128,
                .n = 128,
                .k = 16,
                .input_bytes = 4,
                .energy_width = 4,
                .output_bytes = 4,
                .tensor = false,
                .peak = 100e12};
  // 64 KiB per tile at 1 B/clk; the products take a hundredth of that.
  const double drain = 128.0 * 128 * 4 / 1e9;
  const GemmTime t = GemmWithTile(d, p, {}, {128, 128}, 1);
  EXPECT_EQ(t.waves, 3);
  EXPECT_NEAR(t.units_seconds, 3 * drain, 0.02 * drain);
}

TEST(GemmTime, ColumnsBeyondTheMatrixCostWarpsNotTiles) {
  TimingDevice d = PlainDevice();
  d.constants[Constant::kVectorDrain] = 400;
  GemmProblem p{.m = 12800,
                .n = 40,
                .k = 4096,
                .input_bytes = 4,
                .energy_width = 4,
                .output_bytes = 4,
                .tensor = false,
                .peak = 100e12};
  const double ragged = GemmWithTile(d, p, {}, {128, 64}, 1).tile_seconds;
  p.n = 64;
  const double full = GemmWithTile(d, p, {}, {128, 64}, 1).tile_seconds;
  EXPECT_NEAR(ragged / full, 40.0 / 64, 0.05);
}

TEST(GemmTime, BlocksOfAClusterShareAnOperand) {
  TimingDevice d = PlainDevice();
  Library library = LibraryFor("generic");
  library.shared_loads = 1;
  d.library = &library;
  const GemmProblem p = Square(4096, 4096, 4096);
  const double alone = GemmWithTile(d, p, {}, {128, 256}, 1).cache_bytes;
  library.shared_loads = 2;
  EXPECT_NEAR(GemmWithTile(d, p, {}, {128, 256}, 1).cache_bytes, alone * 256 / 384, 1);
}

// 1000 x 1000 in tiles of 128 x 128 are one wave of 100 units: 2 us once.
TEST(GemmTime, TilesOfFourBitsLoadTheirScalesFirst) {
  TimingDevice hopper = PlainDevice(), blackwell = PlainDevice();
  hopper.library = &LibraryFor("Hopper 9.0");
  blackwell.library = &LibraryFor("Blackwell 10.0");
  GemmProblem p = Square(1000, 1000, 1024);
  const auto later = [&] {
    return GemmWithTile(blackwell, p, {}, {128, 128}, 1).units_seconds -
           GemmWithTile(hopper, p, {}, {128, 128}, 1).units_seconds;
  };
  p.input_bytes = 1;
  EXPECT_NEAR(later(), 0, 1e-12);
  p.input_bytes = 0.5;
  EXPECT_NEAR(later(), 2e-6, 1e-12);
}

TEST(GemmTime, LongSumsOfWeightsRunInKernelsOfSmallProducts) {
  TimingDevice d = PlainDevice();
  Library library = LibraryFor("generic");
  library.long_sums = {.from = 50000, .rate = 0.25};
  library.tile_start = 3e-6;
  d.library = &library;
  GemmProblem p = Square(2048, 2048, 50000);
  p.input_bytes = p.output_bytes = 4;
  p.linear = true;
  const auto efficiency = [&] { return GemmWithTile(d, p, {}, {128, 128}, 1).efficiency; };
  EXPECT_EQ(efficiency(), 0.25);
  p.k = 49999;
  EXPECT_EQ(efficiency(), 1);
  p.k = 50000;
  p.linear = false;  // a product of two activations
  EXPECT_EQ(efficiency(), 1);
  const double tile = GemmWithTile(d, p, {}, {128, 128}, 1).tile_seconds;
  library.tile_start = 0;
  EXPECT_NEAR(tile - GemmWithTile(d, p, {}, {128, 128}, 1).tile_seconds, 3e-6, 1e-12);
}

TEST(GemmTime, AVectorOnVectorUnitsStreamsTheMatrix) {
  const TimingDevice d = PlainDevice();
  GemmProblem p = Square(1, 4096, 4096);
  p.tensor = false;
  const Conditions cold{.kept_weights = 0, .kept_rest = 0};
  const GemmTime t = GemmTimer(d, p, cold).Vector();
  EXPECT_EQ(t.padding, 0);
  const double bytes = 4096.0 * 4096 * p.input_bytes + 4096 * (p.input_bytes + p.output_bytes);
  EXPECT_DOUBLE_EQ(t.memory_bytes, bytes);
  EXPECT_NEAR(t.seconds, t.launch_seconds + t.memory_seconds, 1e-12);
}

TEST(GemmTime, WeightsInFourBitsWidenForEachRowOfTiles) {
  TimingDevice d = PlainDevice();
  d.library = &LibraryFor("Ampere");
  d.constants[Constant::kTileSplit] = 1e-6;
  // 64 columns of tiles by 8192 / 64 steps along k are 81.92 steps for each of 100 units: 82.
  GemmProblem p = Square(16, 8192, 8192);
  p.linear = true;
  p.weight_bytes = 8192.0 * 8192 / 2;
  p.narrow_weight = 0.5;
  const TileGrid grid{.m = 16, .n = 8192, .k = 8192, .tile_m = 16, .tile_n = 128, .tile_k = 64};
  const GemmTime t = GemmTimer(d, p, {}).Tiled(grid);
  const double steps = 82;
  EXPECT_DOUBLE_EQ(t.waves, steps / 128);
  EXPECT_NEAR(t.widening_seconds, steps * 128 * 64 / 30.7e9, 1e-12);
  const double arithmetic = steps * 2 * 16 * 128 * 64 / (0.58 * 1e12);
  const double fill = steps * 64 * (16 * 2 + 128 * 0.5) / 400e9;
  const double drain = 16.0 * 8192 * 2 / (100 * 400e9);
  EXPECT_NEAR(t.units_seconds, Overlap(8, arithmetic + t.widening_seconds, fill) + drain, 1e-10);
  EXPECT_EQ(t.split_seconds, 1e-6);
  EXPECT_EQ(t.memory_bytes, 16.0 * 8192 * 2 + 8192.0 * 8192 / 2 + 16.0 * 8192 * 2);
  // 65 rows are two rows of tiles of 64, which both widen every weight.
  const auto seconds = [&](double rows) {
    p.m = rows;
    return GemmTimer(d, p, {}).Tiled(GridOf(p, {64, 256}, 1)).widening_seconds;
  };
  EXPECT_NEAR(seconds(65), 2 * seconds(64), 1e-8);
}

TEST(GemmTime, ABoardWithoutPowerForItsPeakSlowsDown) {
  TimingDevice d = PlainDevice();
  PoweredWork work{
      .tensor = true, .energy_width = 2, .flops = 100e12, .rate = 100e12, .seconds = 1};
  EXPECT_EQ(UnderPower(d, work), 1);  // power not public: no limit
  d.power = 100;
  d.process = 10;
  d.constants[Constant::kPowerTensor] = 2;  // pJ per FLOP: 50 TFLOP/s
  d.constants[Constant::kBurstTime] = 1e-3;
  EXPECT_NEAR(UnderPower(d, work), 2, 1e-9);
  d.process = 5;  // moving operands, which is most of it, costs the same in any process
  EXPECT_NEAR(UnderPower(d, work), 2, 1e-9);
  d.process = 10;
  work.seconds = 3;  // matrix units that wait draw little
  EXPECT_EQ(UnderPower(d, work), 3);
  work = {.tensor = true, .energy_width = 1, .flops = 100e12, .rate = 100e12, .seconds = 1};
  EXPECT_NEAR(UnderPower(d, work), 1, 1e-9);  // half the energy in 8 bits
  EXPECT_DOUBLE_EQ(EnergyWidth(DType::kFloat16), 2);
  EXPECT_DOUBLE_EQ(EnergyWidth(DType::kFloat8E4M3FN), 1);
  EXPECT_DOUBLE_EQ(EnergyWidth(DType::kInt8), 0.8);  // 0.4 of that of 16 bits: smaller multipliers
  work = {.tensor = true, .energy_width = 2, .flops = 100e6, .rate = 100e12, .seconds = 1e-6};
  EXPECT_NEAR(UnderPower(d, work), 1e-6, 1e-8);  // over before the clock comes down
  d.constants[Constant::kPowerVector] = 4;       // 40 pJ per fp32 FLOP: 2.5 TFLOP/s
  work = {.tensor = false, .energy_width = 4, .flops = 1e12, .rate = 5e12, .seconds = 3};
  EXPECT_NEAR(UnderPower(d, work), 6, 1e-9);  // half the clock, waiting or not
}

TEST(GemmTime, IntegersSustainWhat16BitsDo) {
  TimingDevice d = PlainDevice();
  d.constants[Constant::kTensorEfficiency8] = 0.5;
  GemmProblem p = Square(1280, 1280, 4096);
  p.input_bytes = 1;
  p.energy_width = EnergyWidth(DType::kInt8);
  EXPECT_EQ(GemmWithTile(d, p, {}, {128, 128}, 1).efficiency, d[Constant::kTensorEfficiency]);
  p.energy_width = EnergyWidth(DType::kFloat8E4M3FN);
  EXPECT_EQ(GemmWithTile(d, p, {}, {128, 128}, 1).efficiency, 0.5);
}

TEST(GemmTime, TheLastWaveCostsAsMuchAsAFullOne) {
  const TimingDevice d = PlainDevice();
  // 100 tiles of 128 x 128 fill one wave, 110 tiles need two.
  const GemmTime full = GemmWithTile(d, Square(1280, 1280, 4096), {}, {128, 128}, 1);
  const GemmTime tail = GemmWithTile(d, Square(1408, 1280, 4096), {}, {128, 128}, 1);
  EXPECT_EQ(full.waves, 1);
  EXPECT_EQ(tail.waves, 2);
  EXPECT_EQ(tail.tile_seconds, full.tile_seconds);
  const double drained = (1408 - 1280) * 1280.0 * 2 / (100 * 400e9);
  EXPECT_NEAR(tail.units_seconds, full.units_seconds + full.tile_seconds + drained, 1e-12);
}

// Two that share a matrix unit come in pairs: 220 tiles are four rounds of 100 units, 100 one.
TEST(GemmTime, TilesThatShareAUnitComeInPairs) {
  const TimingDevice d = PlainDevice();
  const auto waves = [&](const GemmProblem& p, int resident) {
    TileGrid grid = GridOf(p, {128, 128}, 1);
    grid.resident = resident;
    return GemmTimer(d, p, {}).Tiled(grid).waves;
  };
  const GemmProblem tail = Square(2816, 1280, 4096), one = Square(1280, 1280, 4096);
  EXPECT_EQ(waves(tail, 1), 3);
  EXPECT_EQ(waves(tail, 2), 4);
  EXPECT_EQ(waves(tail, 4), 3);
  EXPECT_EQ(waves(one, 2), 1);
  GemmProblem vector = tail;
  vector.tensor = false;
  EXPECT_EQ(waves(vector, 2), 3);
}

// 200 tiles of 8.39 us in two rounds of 100 units, whose results take 3.28 us. Where two share a
// unit the first ones leave beside the second products; not with k of 128, nor where a tile fills a
// unit.
TEST(GemmTime, ResultsOfTilesThatShareAUnitLeaveBesideOtherProducts) {
  TimingDevice d = PlainDevice();
  d.constants[Constant::kTensorDrain] = 20;
  const auto seconds = [&](double k, int resident) {
    const GemmProblem p = Square(1280, 2560, k);
    TileGrid grid = GridOf(p, {128, 128}, 1);
    grid.resident = resident;
    return GemmTimer(d, p, {}).Tiled(grid);
  };
  const double results = 1280.0 * 2560 * 2 / (100 * 20e9);
  const GemmTime shared = seconds(256, 2), alone = seconds(256, 1), shallow = seconds(128, 2);
  EXPECT_NEAR(alone.units_seconds, 2 * alone.tile_seconds + results, 1e-12);
  EXPECT_NEAR(shared.units_seconds,
              shared.tile_seconds + results / 2 + std::hypot(shared.tile_seconds, results / 2),
              1e-12);
  EXPECT_NEAR(shallow.units_seconds, 2 * shallow.tile_seconds + results, 1e-12);
}

TEST(GemmTime, SplittingKFillsIdleUnits) {
  const TimingDevice d = PlainDevice();
  const GemmProblem thin = Square(128, 128, 65536);
  const GemmTime whole = GemmWithTile(d, thin, {}, {128, 128}, 1);
  const GemmTime parts = GemmWithTile(d, thin, {}, {128, 128}, 32);
  EXPECT_EQ(whole.tiles, 1);
  EXPECT_EQ(parts.tiles, 32);
  EXPECT_LT(parts.units_seconds, whole.units_seconds / 20);
  EXPECT_GT(parts.split_seconds, 0);
  EXPECT_LT(parts.seconds, whole.seconds);
}

TEST(GemmTime, WithoutACacheEveryCompulsoryByteComesFromMemory) {
  const GemmTime t = GemmWithTile(PlainDevice(), Square(128, 4096, 4096), {}, {128, 128}, 1);
  EXPECT_EQ(t.memory_bytes, 2.0 * (128 * 4096 + 4096 * 4096 + 128 * 4096));
  EXPECT_EQ(t.reread_bytes, 0);  // one row of tiles reads each panel once
}

TEST(GemmTime, AWarmCacheSavesMemoryTimeAndAColdOneDoesNot) {
  TimingDevice d = PlainDevice();
  d.cache = 1e9;
  const GemmProblem p = Square(16, 4096, 4096);
  const double warm = GemmWithTile(d, p, {}, {64, 64}, 4).seconds;
  const double cold = GemmWithTile(d, p, {.kept_weights = 0, .kept_rest = 0}, {64, 64}, 4).seconds;
  EXPECT_LT(warm, cold);
  EXPECT_EQ(GemmWithTile(d, p, {}, {64, 64}, 4).memory_bytes, 0);
  // Enough copies of the weights in turns push each other out.
  EXPECT_GT(GemmWithTile(d, p, {.weight_copies = 60}, {64, 64}, 4).memory_bytes, 0);
}

// maxwell_sgemm_128x64 on a board with 24 units: 72 us, and 99 us for four products in one. The
// roofline says 5.6 us and 22 us. Nobody measured the architecture: its lanes fill as those of
// later ones do, which makes the first one a third too slow.
TEST(GemmTime, ASmallProductThatCannotFillTheDevice) {
  const Device device = DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("m40-24gb");
  const TimingDevice timing = MakeTimingDevice(device);
  GemmProblem p{.m = 512,
                .n = 64,
                .k = 512,
                .input_bytes = 4,
                .energy_width = 4,
                .output_bytes = 4,
                .tensor = false,
                .peak = 6.84e12};
  EXPECT_NEAR(GemmWithTile(timing, p, {}, {128, 64}, 1).seconds, 72e-6, 0.4 * 72e-6);
  p.n = 256;
  EXPECT_NEAR(GemmWithTile(timing, p, {}, {128, 64}, 1).seconds, 99e-6, 0.2 * 99e-6);
}

// 100 units with the sums of eight 128 x 32 tiles each run 800 blocks at a time. 1280 x 51200: 10
// rows of 1600 tiles each, so that half a row is in flight. No cache keeps a panel.
constexpr double kRows = 1280, kColumns = 51200, kDepth = 1000;
constexpr StridedLoads kNoDrift = {.sustained = 0.2, .columns_drift = 1e9, .rows_drift = 1e12};

GemmTime RowsTime(bool linear, bool wide, const StridedLoads& strided = kNoDrift) {
  Library library = LibraryFor("generic");
  library.row_by_row = true;
  library.strided = strided;
  TimingDevice d = PlainDevice();
  d.library = &library;
  GemmProblem p = Square(kRows, kColumns, kDepth);
  p.input_bytes = p.output_bytes = 4;
  p.tensor = false;
  p.linear = linear;
  TileGrid grid = GridOf(p, {128, 32}, 1);
  grid.wide = wide;
  return GemmTimer(d, p, {}).Tiled(grid);
}

TEST(GemmTime, BlocksStartRowByRow) {
  const double weights = kColumns * kDepth * 4, rows = kRows * kDepth * 4;
  const GemmTime t = RowsTime(false, false);
  // Each row of tiles reads the weights again, each half of a row its activations.
  EXPECT_NEAR(t.reread_bytes, weights * 9 + rows * 1, 1);
  EXPECT_NEAR(t.memory_seconds, t.memory_bytes / 1e12, 1e-12);
}

TEST(GemmTime, TransposedWeightsPassAtAShareOfTheBandwidth) {
  const double result = kRows * kColumns * 4;
  const GemmTime plain = RowsTime(false, false), strided = RowsTime(true, false);
  // Nothing drifts apart here, to a millionth.
  EXPECT_NEAR(strided.memory_bytes / plain.memory_bytes, 1, 1e-6);
  EXPECT_NEAR(strided.memory_seconds, ((strided.memory_bytes - result) / 0.2 + result) / 1e12,
              1e-9);
  EXPECT_NEAR(RowsTime(true, true).memory_seconds / plain.memory_seconds, 1, 1e-6);
}

// Rows of 1000 elements pass at 0.2 of the bandwidth and as much again where they are as long as
// short_rows, never faster than other loads. Blocks that do not drift apart share all they can.
TEST(GemmTime, ShortRowsPassFasterThanLongOnes) {
  const double result = kRows * kColumns * 4;
  const GemmTime plain = RowsTime(false, false);
  const auto strided = [](double short_rows) {
    return RowsTime(true, false, {.sustained = 0.2, .short_rows = short_rows});
  };
  EXPECT_EQ(strided(kDepth).memory_bytes, plain.memory_bytes);
  EXPECT_NEAR(strided(kDepth).memory_seconds, ((plain.memory_bytes - result) / 0.4 + result) / 1e12,
              1e-9);
  EXPECT_EQ(strided(10 * kDepth).memory_seconds, plain.memory_seconds);
}

TEST(GemmTime, BlocksThatDriftApartShareLess) {
  const double weights = kColumns * kDepth * 4, rows = kRows * kDepth * 4;
  // 16,000 blocks on 800 places: 20 rounds of 1000 steps. Each row of tiles reads the weights
  // already; of the 1600 columns of tiles, 800 of which share the activations, half read alone.
  const double half = kDepth * std::pow(20.0, 0.25);
  const GemmTime t =
      RowsTime(true, false, {.sustained = 0.2, .columns_drift = 20 * kDepth, .rows_drift = half});
  EXPECT_NEAR(t.reread_bytes, weights * 9 + rows * ((2 + 1600) / 2.0 - 1), 1e3);
  // Narrow blocks walk so much farther before they do; rounds may count less.
  const GemmTime narrow = RowsTime(true, false,
                                   {.sustained = 0.2,
                                    .columns_drift = 1e9,
                                    .rows_drift = kDepth,
                                    .rounds_power = 0,
                                    .narrow = 2});
  const double odds = std::pow(0.5, 1.5), lost = odds / (1 + odds);
  EXPECT_NEAR(narrow.reread_bytes, weights * 9 + rows * (2 + lost * 1598 - 1), 1e3);
}

TEST(GemmTime, FewThreadsLeaveVectorLanesIdle) {
  GemmProblem p = Square(64, 64, 1000);
  p.tensor = false;
  // One block of 64 threads; 6400 x 6400 are 100 of them on each unit.
  EXPECT_DOUBLE_EQ(GemmWithTile(PlainDevice(), p, {}, {64, 64}, 1).busy, std::tanh(64 / 150.0));
  // Threads of tiles with an extent below 64 hold half as many sums: 128 of them.
  EXPECT_DOUBLE_EQ(GemmWithTile(PlainDevice(), p, {}, {128, 32}, 1).busy, std::tanh(128 / 150.0));
  p.m = p.n = 6400;
  EXPECT_NEAR(GemmWithTile(PlainDevice(), p, {}, {64, 64}, 1).busy, 1, 1e-9);
}

TEST(GemmTime, BatchedKernelsComputeWholeTiles) {
  TimingDevice d = PlainDevice();
  GemmProblem p = Square(128, 8, 1000);
  p.tensor = false;
  const GemmTime one = GemmWithTile(d, p, {}, {128, 64}, 1);
  p.batch = 2;
  const GemmTime two = GemmWithTile(d, p, {}, {128, 64}, 1);
  // One wave each; a single product skips the warps of 56 of 64 columns.
  EXPECT_EQ(one.waves, two.waves);
  EXPECT_GT(two.tile_seconds, one.tile_seconds * 2);
}

}  // namespace
}  // namespace dlcost
