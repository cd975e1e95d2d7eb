#include <gtest/gtest.h>

#include <algorithm>

#include "estimator/hardware/database.h"
#include "estimator/roofline/call_queue.h"
#include "estimator/roofline/run.h"
#include "estimator/roofline/timing_device.h"

namespace dlcost {
namespace {

class ExpectedTest : public testing::Test {
 protected:
  std::optional<Expected> Run(const Kernel& kernel, RunOptions options = {}) {
    options.explain = true;
    return Runner(&device_, options).Run(kernel).expected;
  }

  static Kernel Gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
    Kernel kernel;
    kernel.nest = GemmNest{.m = m, .n = n, .k = k};
    kernel.math = DType::kFloat16;
    kernel.work.Add(OpClass::kMac, DType::kFloat16, Count(m) * n * k);
    kernel.needed = kernel.work;
    kernel.bytes_read = Bytes((Count(m) * k + Count(n) * k) * 2);
    kernel.bytes_written = Bytes(Count(m) * n * 2);
    return kernel;
  }

  const Device device_ = DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("a100-sxm4-80gb");
  const TimingDevice timing_ = MakeTimingDevice(device_);
};

TEST_F(ExpectedTest, StaysAboveTheBoundAndInsideItsRange) {
  for (const std::int64_t size : {1, 64, 1000, 4096, 16384}) {
    const Kernel kernel = Gemm(size, size, size);
    const auto expected = Run(kernel);
    ASSERT_TRUE(expected.has_value());
    const double bound = Runner(&device_, {}).Run(kernel).bound.time.value();
    EXPECT_GE(expected->time.low, bound) << size;
    EXPECT_LE(expected->time.low, expected->time.expected) << size;
    EXPECT_GE(expected->time.high, expected->time.expected) << size;
  }
}

// One row of halves: in whole tiles of 64 rows, and where weights have 4 bits in those of 8 rows of
// kernels that load them so.
TEST_F(ExpectedTest, WeightsInFourBitsAreLoadedInFourBits) {
  Kernel kernel = Gemm(1, 8192, 8192);
  std::get<GemmNest>(kernel.nest).b_is_weight = true;
  const KernelRun wide = Runner(&device_, {}).Run(kernel);
  kernel.bytes_read = Bytes(8192 * 2 + 8192 * 8192 / 2);
  const KernelRun narrow = Runner(&device_, {}).Run(kernel);
  EXPECT_EQ(wide.execution->Grid()->tile_m, Count(64));
  EXPECT_EQ(narrow.execution->Grid()->tile_m, Count(8));
  EXPECT_LT(narrow.expected->memory, 0.3 * wide.expected->memory);
  EXPECT_LT(narrow.expected->time.expected, 0.5 * wide.expected->time.expected);
}

// ggml's kernels on Apple take up to 8 rows as so many vectors, and more in tiles of 32.
TEST_F(ExpectedTest, FewRowsAreVectorsOnApple) {
  const Device apple = DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("m2-ultra-76c");
  const auto run = [&](std::int64_t rows) {
    return Runner(&apple, {}).Run(Gemm(rows, 8192, 8192));
  };
  EXPECT_EQ(run(8).execution->algorithm, Algorithm::kMatrixVector);
  EXPECT_EQ(run(9).execution->Grid()->tile_m, Count(32));
  EXPECT_EQ(run(33).execution->Grid()->tile_m, Count(64));
}

// Experts in 4 bits: two layers of four, a token through each.
TEST_F(ExpectedTest, LayersOfExpertsLoadWhatTheyStore) {
  const auto memory = [&](std::int64_t bits) {
    Kernel kernel = Gemm(1, 8192, 4096);
    const Bytes stored(4 * 8192 * 4096 * bits / 8);
    const GemmNest layer{.batch = 4, .m = 1, .n = 8192, .k = 4096, .b_is_weight = true};
    kernel.nest = layer;
    kernel.parts.assign(
        2, {.name = "fc", .nest = layer, .stored = stored, .stored_bits = static_cast<int>(bits)});
    kernel.bytes_read = stored * 2 + Bytes(2 * 4096 * 2);
    return Runner(&device_, {}).Run(kernel).expected->memory;
  };
  EXPECT_NEAR(memory(4) / memory(16), 0.25, 0.02);
}

// 4096^3 in fp16 on an A100: libraries reach 240 to 280 TFLOP/s.
TEST_F(ExpectedTest, ALargeProductRunsCloseToThePeak) {
  const auto expected = Run(Gemm(4096, 4096, 4096));
  ASSERT_TRUE(expected.has_value());
  const double rate = 2.0 * 4096 * 4096 * 4096 / expected->time.expected;
  EXPECT_GT(rate, 220e12);
  EXPECT_LT(rate, 300e12);
  EXPECT_EQ(expected->limiter, "compute");
  EXPECT_FALSE(expected->terms.empty());
}

// 75 W carry 3.2 of the 5.5 TFLOP/s of a P4, 250 W all of a P100's.
TEST_F(ExpectedTest, UnitsThatThePowerSlowsWaitForPower) {
  const auto limiter = [](const char* name) {
    const Device device = DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find(name);
    const GemmNest nest{.batch = 8, .m = 4096, .n = 4096, .k = 1024};
    Kernel kernel;
    kernel.nest = nest;
    kernel.nest_name = "gemm";
    kernel.math = DType::kFloat32;
    kernel.work.Add(OpClass::kMac, DType::kFloat32, MacsOf(nest));
    kernel.needed = kernel.work;
    kernel.bytes_read = kernel.bytes_written = Bytes(1 << 29);
    return Runner(&device, {}).Run(kernel).expected->limiter;
  };
  EXPECT_EQ(limiter("p4"), "power");
  EXPECT_EQ(limiter("p100-pcie-16gb"), "compute");
}

// Its libraries add halves up in fp32, though twice as fast a multiply-add of halves bounds them.
TEST_F(ExpectedTest, ProductsOfHalvesOnAP100TakeTheTimeOfFloats) {
  const Device device = DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("p100-pcie-16gb");
  const auto run = [&](DType type) {
    Kernel kernel = Gemm(4096, 4096, 4096);
    kernel.math = type;
    kernel.work = {};
    kernel.work.Add(OpClass::kMac, type, Count(4096) * 4096 * 4096);
    kernel.needed = kernel.work;
    return Runner(&device, {}).Run(kernel);
  };
  const KernelRun half = run(DType::kFloat16), full = run(DType::kFloat32);
  EXPECT_NEAR(half.expected->time.expected, full.expected->time.expected,
              0.1 * full.expected->time.expected);
  // 18.7 and 9.3 TFLOP/s.
  EXPECT_NEAR(2 * half.bound.compute.value(), full.bound.compute.value(), 1e-4);
}

TEST_F(ExpectedTest, ATinyKernelIsItsLaunch) {
  const auto graph = Run(Gemm(8, 8, 8));
  const auto eager = Run(Gemm(8, 8, 8), {.launch = Launch::kEager});
  ASSERT_TRUE(graph && eager);
  EXPECT_EQ(graph->limiter, "launch");
  EXPECT_LT(graph->time.expected, 8e-6);
  EXPECT_GT(eager->time.expected, 15e-6);
  EXPECT_FALSE(graph->advice.empty());
}

// The host's time before a kernel is that of its kind of call.
TEST_F(ExpectedTest, CallsOfSomeKindsAreSetUpLonger) {
  const double call = timing_[Constant::kLaunchCall];
  const auto prepared = [&](const LoopNest& nest, Selection selection,
                            Launch launch = Launch::kEager) {
    Kernel kernel = Gemm(64, 64, 64);
    kernel.nest = nest;
    return Run(kernel, {.launch = launch, .selection = selection})->prepared;
  };
  const ConvNest conv{.in_channels = 8, .out_channels = 8, .axes = {{.in = 8, .out = 8}}};
  const double layer = timing_[Constant::kLaunchLayer] * call;
  EXPECT_DOUBLE_EQ(prepared(conv, Selection::kFirst), layer);
  EXPECT_DOUBLE_EQ(prepared(conv, Selection::kCall), timing_[Constant::kLaunchConv]);
  EXPECT_DOUBLE_EQ(prepared(ElementwiseNest{.elements = 64, .normalizes = true}, Selection::kFirst),
                   layer);
  EXPECT_EQ(prepared(ElementwiseNest{.elements = 64}, Selection::kFirst), 0);
  EXPECT_DOUBLE_EQ(prepared(ElementwiseNest{.elements = 64, .activation = true}, Selection::kFirst),
                   0.4 * call);
  const GemmNest linear{.m = 64, .n = 64, .k = 64}, batched{.batch = 2, .m = 64, .n = 64, .k = 64};
  EXPECT_DOUBLE_EQ(prepared(linear, Selection::kFirst), timing_[Constant::kLaunchProduct]);
  EXPECT_EQ(prepared(batched, Selection::kFirst), 0);
  Kernel alone = Gemm(64, 64, 64);
  alone.nest = batched;
  EXPECT_DOUBLE_EQ(Run(alone, {.launch = Launch::kEager})->host,
                   timing_[Constant::kLaunchHost] + 0.27 * timing_[Constant::kLaunchProduct]);
  for (const LoopNest& nest : {LoopNest(conv), LoopNest(linear)}) {
    EXPECT_EQ(prepared(nest, Selection::kBuild), 0);
  }
  // A compiler calls libraries, without layers, and kernels of its own, which are ready.
  EXPECT_DOUBLE_EQ(prepared(conv, Selection::kCompiled), layer - 0.4 * call);
  EXPECT_DOUBLE_EQ(prepared(linear, Selection::kCompiled),
                   timing_[Constant::kLaunchProduct] - 0.4 * call);
  EXPECT_EQ(prepared(ElementwiseNest{.elements = 64, .normalizes = true}, Selection::kCompiled), 0);
  // An interpreter without Python calls no layers.
  EXPECT_DOUBLE_EQ(prepared(linear, Selection::kFirst, Launch::kScript),
                   timing_[Constant::kLaunchProduct] - 0.4 * call);
  EXPECT_EQ(prepared(ElementwiseNest{.elements = 64, .activation = true}, Selection::kFirst,
                     Launch::kScript),
            0);
}

// A softmax's call prepares 0.6 of a call, and a quarter of the call itself is over before its
// kernel runs beside the rest; a compiled one is called like any other.
TEST_F(ExpectedTest, PartOfACallAlongRowsPassesBeforeItsKernel) {
  const double call = timing_[Constant::kLaunchCall];
  Kernel kernel = Gemm(64, 64, 64);
  kernel.nest = ReduceNest{};
  kernel.work.Add(OpClass::kExp, DType::kFloat32, 64 * 64);
  const auto framework = Run(kernel, {.launch = Launch::kEager, .selection = Selection::kFirst});
  EXPECT_NEAR(framework->prepared, (0.6 + 0.25) * call, 1e-12);
  EXPECT_NEAR(framework->calls, 0.75 * call, 1e-12);
  const auto compiled = Run(kernel, {.launch = Launch::kEager, .selection = Selection::kBuild});
  EXPECT_EQ(compiled->prepared, 0);
  EXPECT_EQ(compiled->calls, call);
}

TEST_F(ExpectedTest, ExtraOperandsAndNarrowWeightsChangeTheTraffic) {
  Kernel kernel = Gemm(16, 16384, 16384);
  const double plain = Run(kernel)->time.expected;
  kernel.bytes_read += Bytes(std::int64_t{16384} * 16384);
  EXPECT_GT(Run(kernel)->time.expected, 1.3 * plain);
  kernel.bytes_read = Bytes(std::int64_t{16} * 16384 * 2 + std::int64_t{16384} * 16384 / 2);
  EXPECT_LT(Run(kernel)->time.expected, 0.7 * plain);
}

// A 4 MB result that the next kernel reads stays in 40 MB of cache; the weights do not come from
// it.
TEST_F(ExpectedTest, WhatTheNextKernelReadsNeedNotGoToMemory) {
  Kernel kernel = Gemm(16384, 128, 128);
  const auto alone = Run(kernel);
  kernel.bytes_passed = kernel.bytes() - Bytes(128 * 128 * 2);
  const auto between = Run(kernel);
  ASSERT_TRUE(alone && between);
  const double rate = timing_.memory_rate * timing_[Constant::kMemorySustained];
  const double weights = 128 * 128 * 2 / rate;  // and the first access, as long as that
  EXPECT_NEAR(between->memory, 2 * weights, 1e-9);
  EXPECT_GT(alone->memory, 100 * weights);
  EXPECT_LT(between->time.expected, alone->time.expected);
}

// 2 MB of weights: alone they come from memory; where those of the whole model fit they are in the
// cache, and where they nearly fill it some have left it again.
TEST_F(ExpectedTest, WeightsThatStayNeedNotGoToMemory) {
  Kernel kernel = Gemm(64, 1024, 1024);
  std::get<GemmNest>(kernel.nest).b_is_weight = true;
  kernel.bytes_weights = Bytes(1024 * 1024 * 2);
  kernel.bytes_passed = kernel.bytes() - kernel.bytes_weights;
  const double rate = timing_.memory_rate * timing_[Constant::kMemorySustained];
  const double weights = 1024 * 1024 * 2 / rate;
  const auto memory = [&](Bytes all) { return Run(kernel, {.weights = all})->memory; };
  const Bytes room = device_.WarmCapacity();
  EXPECT_GT(memory(Bytes(0)), weights);
  EXPECT_EQ(memory(Bytes(20 << 20)), 0);
  EXPECT_EQ(memory(room + Bytes(1)), memory(Bytes(0)));
  EXPECT_GE(memory(room), memory(Bytes(20 << 20)));
}

// What two kernels before have made comes from the cache, whatever the model's weights take.
TEST_F(ExpectedTest, AMaskBesideAProductIsNotItsOperand) {
  Kernel kernel = Gemm(64, 1024, 1024);
  kernel.bytes_weights = Bytes(1024);
  kernel.bytes_read += kernel.bytes_weights;
  kernel.bytes_passed = kernel.bytes() - kernel.bytes_weights;
  const auto memory = [&](Bytes all) { return Run(kernel, {.weights = all})->memory; };
  EXPECT_GT(memory(Bytes(0)), 0);
  EXPECT_EQ(memory(device_.WarmCapacity()), 0);
}

// 19.3 GFLOP on the 217 TFLOP/s that 350 W carry: 89 us, more than its waves take.
TEST_F(ExpectedTest, TellsWhenABoardWaitsForItsPower) {
  const Device l40s = DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("l40s");
  const TimingDevice timing = MakeTimingDevice(l40s);
  Kernel kernel = Gemm(4096, 3072, 768);
  kernel.bytes_passed = kernel.bytes() - Bytes(3072 * 768 * 2);  // all but the weights
  const auto told = [&](bool rested) {
    const auto e = Runner(&l40s, {.rested = rested, .explain = true}).Run(kernel).expected;
    const auto power = [](const TimeTerm& term) { return term.what == "waiting for power"; };
    return std::any_of(e->terms.begin(), e->terms.end(), power);
  };
  EXPECT_TRUE(told(false));
  EXPECT_FALSE(told(true));  // a timer that waits for each kernel leaves pauses
  const double seconds = Runner(&l40s, {}).Run(kernel).expected->time.expected;
  EXPECT_NEAR(
      seconds,
      timing[Constant::kLaunchGraph] + 2.0 * 4096 * 3072 * 768 / PowerLimit(timing, true, 2), 1e-9);
}

// A result for each product fills no tile of matrix units: vector units stream it, in halves as in
// floats.
TEST_F(ExpectedTest, DotProductsRunOnVectorUnits) {
  const Device a100 = DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("a100-sxm4-80gb");
  const GemmNest nest{.batch = 65536, .m = 1, .n = 1, .k = 64};
  const auto run = [&](DType type) {
    Kernel kernel;
    kernel.nest = nest;
    kernel.math = type;
    kernel.work.Add(OpClass::kMac, type, MacsOf(nest));
    kernel.needed = kernel.work;
    kernel.bytes_read = Bytes(2 * 65536 * 64 * Bits(type) / 8);
    kernel.bytes_written = Bytes(65536 * Bits(type) / 8);
    return Runner(&a100, {.cache = CacheState::kCold}).Run(kernel);
  };
  const KernelRun half = run(DType::kFloat16), whole = run(DType::kFloat32);
  EXPECT_EQ(half.algorithm, "matrix_vector");
  EXPECT_EQ(whole.algorithm, "matrix_vector");
  EXPECT_LT(half.expected->time.expected, whole.expected->time.expected);
  EXPECT_LT(half.expected->time.expected, 2 * half.bound.time.value());
}

TEST_F(ExpectedTest, CallsOfAFrameworkRunAheadOfTheDevice) {
  const auto call = [](double prepared, double device) {
    Expected e;
    e.host = 20e-6;
    e.prepared = prepared;
    e.calls = 10e-6;
    e.device = device;
    const double alone = e.host + prepared + std::max(e.calls, device);
    e.time = {0.9 * alone, alone, 1.1 * alone};
    return e;
  };
  // Long kernels: the device waits for the first call only.
  CallQueue busy(false);
  EXPECT_NEAR(busy.Add(call(5e-6, 1e-3), 1, 0).expected, 20e-6 + 5e-6 + 1e-3, 1e-12);
  EXPECT_NEAR(busy.Add(call(5e-6, 1e-3), 1, 0).expected, 1e-3, 1e-12);
  // Short kernels: one call after the other.
  CallQueue idle(false);
  EXPECT_NEAR(idle.Add(call(5e-6, 1e-6), 1, 0).expected, 20e-6 + 15e-6, 1e-12);
  EXPECT_NEAR(idle.Add(call(5e-6, 1e-6), 1, 0).expected, 15e-6, 1e-12);
  EXPECT_NEAR(idle.Add(call(0, 1e-6), 1, 0).expected, 10e-6, 1e-12);
  // A kernel that a loop calls four times is four calls.
  CallQueue once(false), looped(false);
  Expected four = call(4 * 5e-6, 4e-6);
  four.calls = 40e-6;
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += once.Add(call(5e-6, 1e-6), 1, 0).expected;
  EXPECT_NEAR(looped.Add(four, 4, 0).expected, sum, 1e-12);
  // Views and Python between two calls delay the next kernel, unseen beside a long one.
  Expected viewed = call(0, 1e-6);
  viewed.between = 7e-6;
  EXPECT_NEAR(idle.Add(viewed, 1, 0).expected, 10e-6, 1e-12);
  EXPECT_NEAR(idle.Add(call(0, 1e-6), 1, 0).expected, 17e-6, 1e-12);
  CallQueue hidden(false);
  viewed.device = 1e-3;
  EXPECT_NEAR(hidden.Add(viewed, 1, 0).expected, 20e-6 + 1e-3, 1e-12);
  EXPECT_NEAR(hidden.Add(call(0, 1e-3), 1, 0).expected, 1e-3, 1e-12);
  // A processor makes its calls itself: they pass before each of its kernels, and views after them.
  CallQueue own(true);
  EXPECT_NEAR(own.Add(call(5e-6, 1e-3), 1, 0).expected, 20e-6 + 15e-6 + 1e-3, 1e-12);
  EXPECT_NEAR(own.Add(viewed, 1, 0).expected, 10e-6 + 1e-3, 1e-12);
  EXPECT_NEAR(own.Add(call(0, 1e-6), 1, 0).expected, 17e-6 + 1e-6, 1e-12);
  // Never faster than the bound.
  EXPECT_GE(busy.Add(call(5e-6, 1e-6), 1, 2e-3).low, 2e-3);
}

// Every term that others make up is what they combine to, and the first is the expected time.
TEST_F(ExpectedTest, TermsAddUp) {
  std::vector<Kernel> kernels = {Gemm(64, 64, 64), Gemm(4096, 4096, 4096), Gemm(100, 70, 9000)};
  kernels.push_back(Gemm(512, 512, 512));
  kernels.back().repeat = 3;
  for (const LoopNest& nest : std::vector<LoopNest>{
           AttentionNest{
               .q_heads = 8, .kv_heads = 8, .q_len = 384, .kv_len = 384, .qk_dim = 64, .v_dim = 64},
           AttentionNest{.batch = 4,
           .q_heads = 32,
           .kv_heads = 8,
           .q_len = 1,
           .kv_len = 4096,
           .qk_dim = 128,
           .v_dim = 128},
           RecurrentNest{.directions = 2,
           .steps = 20,
           .batch = 16,
           .input = 256,
           .hidden = 512,
           .gates = 4,
           .cell = "LSTM"},
           ConvNest{.in_channels = 64,
           .out_channels = 64,
           .axes = {{.in = 56, .out = 56, .kernel = 3, .pad_begin = 1, .pad_end = 1},
                    {.in = 56, .out = 56, .kernel = 3, .pad_begin = 1, .pad_end = 1}}},
           ElementwiseNest{1 << 20}, ReduceNest{.outer = 512, .reduce = 384}}) {
    Kernel kernel = Gemm(1, 1, 1);
    kernel.nest = nest;
    kernel.math = DType::kFloat32;
    kernel.work = Work();
    kernel.work.Add(IsProduct(nest) ? OpClass::kMac : OpClass::kExp, DType::kFloat32,
                    IsProduct(nest) ? MacsOf(nest) : Count(1 << 20));
    kernel.needed = kernel.work;
    kernel.bytes_read = kernel.bytes_written = Bytes(4 << 20);
    kernels.push_back(kernel);
  }
  for (const Kernel& kernel : kernels) {
    for (const bool eager : {false, true}) {
      const auto expected = Run(kernel, {.launch = eager ? Launch::kEager : Launch::kGraph});
      ASSERT_TRUE(expected.has_value());
      ASSERT_FALSE(expected->terms.empty());
      EXPECT_DOUBLE_EQ(expected->terms[0].value, expected->time.expected);
      for (std::size_t i = 0; i < expected->terms.size(); ++i) {
        const TimeTerm& term = expected->terms[i];
        if (!term.IsTime()) continue;
        EXPECT_NEAR(Combined(expected->terms, i), term.value, 1e-9 * term.value)
            << kernel.nest.index() << " " << term.what;
      }
    }
  }
}

TEST_F(ExpectedTest, RoundsOfALoopCountEach) {
  Kernel kernel = Gemm(512, 512, 512);
  const double once = Run(kernel)->time.expected;
  kernel.repeat = 10;
  kernel.work.Scale(10);
  kernel.needed.Scale(10);
  kernel.bytes_read = kernel.bytes_read * 10;
  kernel.bytes_written = kernel.bytes_written * 10;
  EXPECT_NEAR(Run(kernel)->time.expected, 10 * once, 0.01 * once);
}

TEST_F(ExpectedTest, StreamsAndWhatCannotBeTimed) {
  Kernel kernel;
  kernel.nest = ElementwiseNest{Count(1) * 100000000};
  kernel.work.Add(OpClass::kAdd, DType::kFloat32, 100000000);
  kernel.bytes_read = Bytes(800000000);
  kernel.bytes_written = Bytes(400000000);
  const auto expected = Run(kernel);
  ASSERT_TRUE(expected.has_value());
  EXPECT_EQ(expected->limiter, "device memory");
  EXPECT_NEAR(expected->time.expected, 1.2e9 / (2039e9 * 0.9), 0.1e-3);
  kernel.repeat = 0;
  EXPECT_FALSE(Run(kernel).has_value());
  kernel.repeat = 1;
  kernel.unknown = true;
  EXPECT_FALSE(Run(kernel).has_value());
}

}  // namespace
}  // namespace dlcost
