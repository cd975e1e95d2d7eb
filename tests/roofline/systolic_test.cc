// Machines of systolic arrays: the time of one kernel by hand, whole networks against their bound
// on every such device, and against what is published.

#include "models/algorithms/systolic.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "estimator/hardware/database.h"
#include "estimator/infer/retype.h"
#include "estimator/onnx/reader.h"
#include "estimator/roofline/run.h"
#include "estimator/roofline/systolic_time.h"
#include "models/networks/networks.h"

namespace dlcost {
namespace {

constexpr SystolicMachine kSystolicMachine{.rows = 128,
                                           .columns = 128,
                                           .arrays = 4,
                                           .switch_cycles = 128,
                                           .vector_rate = 4e12,
                                           .array_share = 0.5,
                                           .memory_share = 0.8,
                                           .kernel_time = 2e-6};
// 1 GHz of 4 x 128 x 128 multiply-accumulators.
constexpr SystolicRates kRates{.peak = 2e9 * 4 * 128 * 128, .memory = 1e12, .on_chip = 64e6};

TEST(SystolicTime, AddsArraysAndVectorUnitsUnderMemory) {
  const Execution gemm =
      SystolicGemm({.m = 512, .n = 4096, .k = 4096}, DType::kBfloat16, kSystolicMachine);
  const double bytes = 2.0 * (512 * 4096 + 4096 * 4096 + 512 * 4096);
  const SystolicTime t = ExpectedSystolic(
      kSystolicMachine, &gemm, kRates,
      {.vector_operations = 3 * 512 * 4096, .bytes = bytes, .bytes_read = bytes, .kernels = 1});
  EXPECT_DOUBLE_EQ(t.cycles, 256 * 512 + 256);
  EXPECT_DOUBLE_EQ(t.array, (256 * 512 + 256) * 1e-9 / 0.5);
  EXPECT_DOUBLE_EQ(t.vector, (3 + 1) * 512 * 4096 / 4e12);  // the product's results pass, too
  EXPECT_DOUBLE_EQ(t.bytes, bytes);
  EXPECT_DOUBLE_EQ(t.memory, bytes / 0.8e12);
  EXPECT_DOUBLE_EQ(t.seconds, t.array + t.vector + 2e-6);
}

TEST(SystolicTime, OperandsThatDoNotFitAreReadAgain) {
  const TileGrid grid{.m = 16384, .n = 16384, .k = 16384};
  const double side = 2.0 * 16384 * 16384;
  // 32 MB of 64 hold blocks of 2000 x 2000 outputs: nine across and nine down.
  EXPECT_DOUBLE_EQ(BytesReadAgain(grid, 2, 2 * side, 64e6), 8 * side + 8 * side);
  EXPECT_DOUBLE_EQ(BytesReadAgain(grid, 2, 2 * side, 2e9), 0);
  EXPECT_DOUBLE_EQ(BytesReadAgain({.m = 64, .n = 16384, .k = 16384}, 2, side, 64e6), 0);
  // A filter of 3 x 3 over an image reads the image, not its nine copies.
  const TileGrid conv{.m = 1000000, .n = 20000, .k = 9 * 1000};
  const double image = 2e9, filters = 2.0 * 20000 * 9000;
  EXPECT_DOUBLE_EQ(BytesReadAgain(conv, 2, image + filters, 64e6), image * 9 + filters * 499);
}

TEST(SystolicTime, StepsRunAsOftenAsTheyAreLaunched) {
  RecurrentNest nest{.steps = 1, .batch = 4, .input = 128, .hidden = 128, .gates = 4};
  const auto cycles = [&](std::int64_t steps) {
    nest.steps = steps;
    const Execution e = SystolicRecurrent(nest, DType::kBfloat16, kSystolicMachine);
    return ExpectedSystolic(kSystolicMachine, &e, kRates, {}).cycles;
  };
  EXPECT_DOUBLE_EQ(cycles(21) - cycles(11), 10 * (128 + 256));
}

// A result for each product fills no array: it is multiplied and added up on the vector units.
TEST(SystolicTime, DotProductsRunOnVectorUnits) {
  const Device device = DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("tpu-v4");
  Kernel kernel;
  kernel.nest = GemmNest{.batch = 65536, .m = 1, .n = 1, .k = 64};
  kernel.math = DType::kBfloat16;
  kernel.work.Add(OpClass::kMac, DType::kBfloat16, Count(65536 * 64));
  kernel.needed = kernel.work;
  kernel.bytes_read = Bytes(2 * 65536 * 64 * 2);
  kernel.bytes_written = Bytes(65536 * 2);
  const KernelRun run = Runner(&device, {.cache = CacheState::kCold}).Run(kernel);
  const SystolicMachine& m = *device.systolic;
  EXPECT_EQ(run.algorithm, "reduction");
  EXPECT_DOUBLE_EQ(run.expected->units, 2.0 * 65536 * 64 / m.vector_rate);
  EXPECT_DOUBLE_EQ(run.expected->device,
                   std::max(run.expected->units, run.expected->memory) + m.kernel_time);
}

// The elementwise work of an operator of several products, and what it passes on, count once.
TEST(SystolicTime, PartsShareElementwiseWork) {
  const Device device = DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("tpu-v4");
  const GemmNest nest{.m = 4096, .n = 4096, .k = 4096, .b_is_weight = true};
  Kernel kernel;
  kernel.nest = nest;
  kernel.math = DType::kBfloat16;
  kernel.work.Add(OpClass::kMac, DType::kBfloat16, MacsOf(nest) * 2);
  kernel.parts = {{"first", nest, DType::kBfloat16}, {"second", nest, DType::kBfloat16}};
  kernel.bytes_read = Bytes(3LL << 25);
  kernel.bytes_written = Bytes(1LL << 25);
  const auto run = [&](std::int64_t additions, std::int64_t passed) {
    Kernel with = kernel;
    with.work.Add(OpClass::kAdd, DType::kBfloat16, Count(additions));
    with.needed = with.work;
    with.bytes_passed = Bytes(passed);
    return *Runner(&device, {}).Run(with).expected;
  };
  EXPECT_NEAR(run(1 << 30, 0).units - run(0, 0).units, (1 << 30) / device.systolic->vector_rate,
              1e-12);
  const double rate = 1200e9 * device.systolic->memory_share;
  EXPECT_NEAR(run(0, 0).memory - run(0, 1 << 25).memory, (1 << 25) / rate, 1e-12);
}

class SystolicNetworks : public testing::Test {
 protected:
  struct Times {
    double bound = 0, expected = 0;
  };

  static InferredModel Load(const std::string& network, const NetworkOptions& options,
                            std::int64_t batch, const std::vector<std::string>& dims, DType type) {
    InferOptions infer;
    infer.bindings.batch = batch;
    for (const std::string& dim : dims) AddDimBinding(infer.bindings, dim);
    InferredModel model =
        Infer(ReadModelFromBytes(BuildNetwork(network, options), network + ".onnx"), infer);
    Retype(model, type);
    return model;
  }

  static Times Time(const InferredModel& model, const Device& device) {
    const Runner runner(&device, {.cache = CacheState::kCold});
    Times sum;
    ForEachKernel(model, {.fusion = Fusion::kDefault}, [&](const Kernel& kernel) {
      if (kernel.repeat == Count(0)) return;
      const KernelRun run = runner.Run(kernel);
      const Bound& bound = run.bound;
      const auto& expected = run.expected;
      ASSERT_TRUE(expected.has_value()) << kernel.label;
      EXPECT_GE(expected->time.expected, bound.time.value()) << kernel.label;
      EXPECT_LE(expected->time.low, expected->time.expected);
      // Nothing like it was measured: no narrower than a factor of two.
      if (expected->basis == TimingBasis::kAssumed) {
        EXPECT_GE(expected->time.high, 1.999 * expected->time.expected) << kernel.label;
      }
      sum.bound += bound.time.value();
      sum.expected += expected->time.expected;
    });
    return sum;
  }

  static std::vector<Device> Machines() {
    std::vector<Device> machines;
    for (Device& device : DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).All()) {
      if (device.systolic) machines.push_back(std::move(device));
    }
    return machines;
  }
};

TEST_F(SystolicNetworks, EveryTpuGaudiAndNeuronDeviceIsOne) {
  for (const Device& device : DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).All()) {
    EXPECT_EQ(device.systolic.has_value(),
              device.kind == DeviceKind::kTpu || device.kind == DeviceKind::kNpu)
        << device.id;
    if (!device.systolic) continue;
    // The clock that the peak implies lies where clocks lie; no document says one for v6e and 7x.
    const SystolicMachine& m = *device.systolic;
    const Rate* bf16 = device.FindRate(UnitKind::kTensor, NumberFormat::kBf16);
    ASSERT_NE(bf16, nullptr) << device.id;
    const double clock = bf16->peak.value() / (2.0 * m.rows * m.columns * m.arrays);
    EXPECT_GT(clock, 0.6e9) << device.id;
    EXPECT_LT(clock, 4.6e9) << device.id;
  }
}

TEST_F(SystolicNetworks, StayWithinTenTimesTheirBound) {
  struct Case {
    const char* network;
    NetworkOptions options;
    std::int64_t batch;
    std::vector<std::string> dims;
  };
  const std::vector<Case> cases = {
      {"resnet50", {}, 1, {}},
      {"resnet50", {}, 64, {}},
      {"bert-base", {}, 1, {"sequence=128"}},
      {"bert-base", {}, 1, {"sequence=384"}},
      {"bert-base", {}, 32, {"sequence=384"}},
      {"llama3-8b", {}, 1, {"sequence=512"}},
      {"llama3-8b", {{"phase", "decode"}}, 1, {"past=512"}},
      {"llama3-8b", {{"phase", "decode"}}, 32, {"past=2048"}},
  };
  const std::vector<Device> machines = Machines();
  ASSERT_GE(machines.size(), 12u);
  for (const Case& c : cases) {
    const InferredModel model = Load(c.network, c.options, c.batch, c.dims, DType::kBfloat16);
    for (const Device& device : machines) {
      SCOPED_TRACE(fmt::format("{} batch {} on {}", c.network, c.batch, device.id));
      const Times times = Time(model, device);
      EXPECT_GE(times.expected, times.bound);
      EXPECT_LE(times.expected, 10 * times.bound)
          << times.expected * 1e3 << " ms, bound " << times.bound * 1e3;
    }
  }
}

// Fields of a line of CSV; quoted ones hold commas.
std::vector<std::string> Fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

TEST_F(SystolicNetworks, LieWithinAThirdOfWhatIsPublished) {
  std::ifstream file(DLCOST_SOURCE_DIR "/bench/published/systolic.csv");
  std::string line;
  std::getline(file, line);
  ASSERT_EQ(line, "device,network,phase,length,dtype,batch,time_ms,what,source");
  const DeviceDatabase database({DLCOST_SOURCE_DIR "/hw_specs"});
  int rows = 0;
  while (std::getline(file, line)) {
    const std::vector<std::string> f = Fields(line);
    ASSERT_EQ(f.size(), 9u) << line;
    SCOPED_TRACE(fmt::format("{} {} {} {} batch {}", f[0], f[1], f[2], f[3], f[5]));
    std::vector<std::string> dims;
    if (!f[3].empty()) dims.push_back((f[2] == "decode" ? "past=" : "sequence=") + f[3]);
    NetworkOptions options;
    if (!f[2].empty()) options["phase"] = f[2];
    const DType type = f[4] == "fp8" ? DType::kFloat8E4M3FN : DType::kBfloat16;
    const InferredModel model = Load(f[1], options, std::stoll(f[5]), dims, type);
    const double expected = Time(model, database.Find(f[0])).expected * 1e3;
    const double published = std::stod(f[6]);
    EXPECT_LE(expected, 1.35 * published);
    EXPECT_GE(expected, 0.65 * published);
    ++rows;
  }
  EXPECT_GE(rows, 11);
}

// A loop body or a longer network costs its parts: twice the layers, about twice the time.
TEST_F(SystolicNetworks, GrowWithTheNetwork) {
  const Device device = DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"}).Find("tpu-v5e");
  const auto layers = [&](const char* count) {
    return Time(Load("bert-base", {{"layers", count}}, 8, {"sequence=128"}, DType::kBfloat16),
                device)
        .expected;
  };
  const double two = layers("2"), four = layers("4"), six = layers("6");
  EXPECT_NEAR(six - four, four - two, 1e-3 * (four - two));
}

}  // namespace
}  // namespace dlcost
