// The cores of a processor: blocks by hand, and the expected times of products and convolutions
// against what oneDNN took on such cores (bench/processors).

#include "models/algorithms/blocked.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "estimator/core/integer.h"
#include "estimator/roofline/blocked_time.h"
#include "estimator/roofline/run.h"
#include "models/algorithms/convolution.h"
#include "tests/infer/small_model.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

constexpr CoreMachine kCoreMachine{.vector_bytes = 64,
                                   .registers = 32,
                                   .tile_rows = 16,
                                   .l2_rate = 32,
                                   .l3_rate = 8,
                                   .memory_share = 0.8,
                                   .kernel_time = 1e-6};
constexpr Cores kCores{.machine = kCoreMachine,
                       .count = 8,
                       .clock = 2e9,
                       .vector_per_clock = 2,
                       .l1 = 48 * 1024,
                       .l2 = 1024 * 1024,
                       .l3 = 16 * 1024 * 1024};

TEST(Blocked, MicroKernelsFollowFromRegisters) {
  // 32 registers: 6 rows of 4 registers, 4 of the second operand, one broadcast.
  const MicroKernel wide = MicroKernelFor(kCores, Pipe::kVector, DType::kFloat32, 4, 64);
  EXPECT_EQ(wide.rows, 6);
  EXPECT_EQ(wide.columns(), Count(64));
  EXPECT_EQ(wide.group, 1);
  EXPECT_DOUBLE_EQ(wide.per_clock, 2);
  EXPECT_DOUBLE_EQ(wide.Clocks(6, 4), 12);
  EXPECT_DOUBLE_EQ(wide.Clocks(1, 4), 2.5);  // five loads, two at a time
  // VNNI: four bytes of k in one lane.
  EXPECT_EQ(MicroKernelFor(kCores, Pipe::kVector, DType::kInt8, 1, 256).group, 4);
  // AVX2: 4 rows of 3 registers of 8.
  Cores narrow = kCores;
  narrow.machine.vector_bytes = 32;
  narrow.machine.registers = 16;
  const MicroKernel avx2 = MicroKernelFor(narrow, Pipe::kVector, DType::kFloat32, 4, 32);
  EXPECT_EQ(avx2.rows, 4);
  EXPECT_EQ(avx2.columns(), Count(24));
  // AMX: two by two tiles of 16 rows of 64 bytes: 32 x 32 outputs, 32 of k, in 64 clocks.
  const MicroKernel amx = MicroKernelFor(kCores, Pipe::kTensor, DType::kBfloat16, 2, 1024);
  EXPECT_EQ(amx.rows, 32);
  EXPECT_EQ(amx.columns(), Count(32));
  EXPECT_EQ(amx.group, 32);
  EXPECT_DOUBLE_EQ(amx.Clocks(32, 2), 64);
}

TEST(Blocked, BlocksFillHalfOfEachCache) {
  const MicroKernel kernel = MicroKernelFor(kCores, Pipe::kVector, DType::kFloat32, 4, 64);
  const CacheBlocks blocks = BlocksFor(kCores, kernel);
  EXPECT_EQ(blocks.kc, Count(96));                  // 24 KiB of 64 columns of 4 bytes
  EXPECT_EQ(blocks.mc, RoundUp(Count(1365), 6));    // 512 KiB of 96 elements
  EXPECT_EQ(blocks.nc, RoundUp(Count(21845), 64));  // 8 MiB
}

TEST(Blocked, EndsAreCutAndOnlyRegistersPad) {
  const MicroKernel kernel = MicroKernelFor(kCores, Pipe::kVector, DType::kInt8, 1, 256);
  const Execution gemm =
      BlockedGemm({.m = 7, .n = 33, .k = 10, .b_is_weight = true}, kernel, kCores);
  EXPECT_EQ(gemm.name, "blocked_gemm 6x64");
  // 33 columns take three registers, ten of k three groups of four.
  EXPECT_EQ(gemm.On(Pipe::kVector).fma, Count(7 * 48 * 12));
  EXPECT_EQ(gemm.workspace, Bytes(0));
  // Three channels in each of nine taps pad to four.
  const ConvNest conv{.in_channels = 3,
                      .out_channels = 16,
                      .axes = {{.in = 8, .out = 6, .kernel = 3}, {.in = 8, .out = 6, .kernel = 3}}};
  EXPECT_EQ(BlockedConv(conv, kernel, kCores).On(Pipe::kVector).fma, Count(36 * 16 * 9 * 4));
}

TEST(Blocked, CoresShareRowsAndColumns) {
  const MicroKernel kernel = MicroKernelFor(kCores, Pipe::kVector, DType::kFloat32, 4, 64);
  const GemmNest nest{.m = 480, .n = 512, .k = 960, .b_is_weight = true};
  const BlockedPlacement place = PlaceBlocked(nest, nest.m * nest.k, kernel, kCores);
  EXPECT_EQ(place.busy, Count(8));
  EXPECT_EQ(place.passes, Count(1));
  EXPECT_EQ(place.rows * place.columns, Count(480 * 512 / 8));
  // 24 instructions and ten blocks of k, each with 24 loads and 24 stores, two at a time.
  const double tiles = 480.0 * 512 / 8 / (6 * 64);
  EXPECT_DOUBLE_EQ(place.cycles, tiles * (960 * 12 + 10 * 24));
}

Kernel KernelOf(const LoopNest& nest, DType type, std::int64_t read, std::int64_t written) {
  Kernel kernel = Alone(nest, type);
  kernel.bytes_read = Bytes(read);
  kernel.bytes_written = Bytes(written);
  return kernel;
}

struct BlockedRow {
  std::vector<std::string> fields;
  std::int64_t Of(std::size_t i) const { return std::stoll(fields[i]); }
};

// Rows of numbers that pass once through elementwise work or a reduction.
Kernel StreamOf(const std::string& op, std::int64_t rows, std::int64_t columns) {
  static const std::map<std::string, const char*> operators = {{"relu", "Relu"},
                                                               {"gelu", "Gelu"},
                                                               {"softmax", "Softmax"},
                                                               {"layernorm", "LayerNormalization"}};
  SmallModel model(20);
  model.Input(
      "x", {Truncate<int>(static_cast<double>(rows)), Truncate<int>(static_cast<double>(columns))});
  if (op == "layernorm") {
    model.Weight("scale", {Truncate<int>(static_cast<double>(columns))});
    model.Node(operators.at(op), {"x", "scale"}, {"y"});
  } else {
    model.Node(operators.at(op), {"x"}, {"y"});
  }
  const Plan plan = PlanWith(Infer(model.Output("y").Read(), {}), Fusion::kDefault);
  EXPECT_EQ(plan.kernels.size(), 1u);
  return plan.kernels.at(0);
}

// op,dtype,cores,batch,rows,columns,depth,height,filter,stride,groups,weights,latency_us
Kernel KernelOf(const BlockedRow& row) {
  const std::string& dtype = row.fields[1];
  const DType type = dtype == "fp32"   ? DType::kFloat32
                     : dtype == "bf16" ? DType::kBfloat16
                                       : DType::kInt8;
  const std::int64_t bytes = Bits(type) / 8, batch = row.Of(3);
  if (row.fields[0] == "product") {
    const std::int64_t m = row.Of(4), n = row.Of(5), k = row.Of(6);
    const GemmNest nest{
        .batch = batch, .m = m, .n = n, .k = k, .b_is_weight = row.fields[11] == "yes"};
    const std::int64_t out = type == DType::kInt8 ? 4 : bytes;
    return KernelOf(nest, type, batch * (m + n) * k * bytes, batch * m * n * out);
  }
  if (row.fields[0] != "convolution") return StreamOf(row.fields[0], row.Of(4), row.Of(5));
  const std::int64_t filter = row.Of(8), stride = row.Of(9), in = row.Of(7);
  const std::int64_t out = (in + 2 * (filter / 2) - filter) / stride + 1;
  const ConvAxis axis{.in = in,
                      .out = out,
                      .kernel = filter,
                      .stride = stride,
                      .pad_begin = filter / 2,
                      .pad_end = filter / 2};
  const ConvNest nest{.batch = batch,
                      .groups = row.Of(10),
                      .in_channels = row.Of(6),
                      .out_channels = row.Of(5),
                      .axes = {axis, axis}};
  return KernelOf(nest, type, (InputElements(nest) + WeightElements(nest)).value() * bytes,
                  OutputElements(nest).value() * bytes);
}

TEST(Blocked, ExpectsWhatOneDnnTook) {
  const Device whole = DeviceDatabase({DLCOST_SOURCE_DIR "/hw_specs"})
                           .Find(DLCOST_SOURCE_DIR "/bench/processors/zen5.yaml");
  std::ifstream file(DLCOST_SOURCE_DIR "/bench/processors/onednn.csv");
  std::string line;
  std::getline(file, line);
  std::map<std::string, std::vector<double>> errors;
  while (std::getline(file, line)) {
    BlockedRow row;
    std::stringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) row.fields.push_back(field);
    ASSERT_EQ(row.fields.size(), 13u) << line;
    const Kernel kernel = KernelOf(row);
    Device device = whole;
    device.units = Truncate<int>(std::stod(row.fields[2]));
    for (Rate& rate : device.rates) rate.peak = rate.peak * (*device.units / 2.0);
    // A measuring loop finds its operands where the run before left them.
    const KernelRun run = Runner(&device, {.cache = CacheState::kWarm}).Run(kernel);
    ASSERT_TRUE(run.expected.has_value()) << line;
    const double measured = std::stod(row.fields[12]) * 1e-6;
    const double ratio = run.expected->time.expected / measured;
    // This version's erf takes three times as many instructions as an exponential.
    const bool product = !row.fields[6].empty(), gelu = row.fields[0] == "gelu";
    EXPECT_GT(ratio, gelu ? 0.25 : product ? 0.5 : 0.4) << line;
    EXPECT_LT(ratio, product ? 1.25 : 1.45) << line;
    errors[row.fields[0] + " " + row.fields[1]].push_back(std::abs(ratio - 1));
  }
  const std::map<std::string, double> most = {
      {"relu fp32", 0.16}, {"softmax fp32", 0.16}, {"layernorm fp32", 0.36}, {"gelu fp32", 0.72}};
  ASSERT_EQ(errors.size(), 10u);
  for (const auto& [group, all] : errors) {
    double sum = 0;
    for (const double error : all) sum += error;
    const auto limit = most.find(group);
    EXPECT_GE(all.size(), limit == most.end() ? 26u : 5u) << group;
    EXPECT_LT(sum / static_cast<double>(all.size()), limit == most.end() ? 0.1 : limit->second)
        << group;
  }
}

// 8 MB of weights, in half of 60 MB and 40 L2 of 1.25: those of the model stay up to there.
TEST(Blocked, WeightsStayInHalfOfTheCaches) {
  const Device device = DeviceOf("xeon-platinum-8380");
  SmallModel small;
  small.Input("x", {16, 2048}).Weight("w", {2048, 1024});
  small.Node("MatMul", {"x", "w"}, {"y"}).Output("y");
  const InferredModel model = small.Infer();
  const Kernel kernel = PlanWith(model, Fusion::kDefault).kernels.front();
  const auto time = [&](std::int64_t weights) {
    return Runner(&device, {.weights = Bytes(weights)}).Run(kernel).expected->time.expected;
  };
  constexpr std::int64_t kRoom = (60 + 40 * 5 / 4) * 1024 * 1024 / 2;
  EXPECT_LT(time(kRoom), time(0));
  EXPECT_DOUBLE_EQ(time(kRoom + 1), time(0));
}

// Elementwise work is shared out by itself: what fusion leaves of the bytes says nothing about it.
TEST(Blocked, CoresShareElementwiseWorkByItsElements) {
  const MicroKernel kernel = MicroKernelFor(kCores, Pipe::kVector, DType::kFloat32, 4, 64);
  const auto vector = [&](const Execution* execution, double elements) {
    return ExpectedOnCores(execution, kernel, kCores, 1e12,
                           {.operations = 32e6, .elements = elements})
        .vector;
  };
  // Two registers of 16 lanes per clock, 2 GHz: half a millisecond of one core.
  EXPECT_DOUBLE_EQ(vector(nullptr, 1e6), 0.5e-3 / 8);
  EXPECT_DOUBLE_EQ(vector(nullptr, 65536), 0.5e-3 / 2);  // a core starts on 32768 elements
  EXPECT_DOUBLE_EQ(vector(nullptr, 1), 0.5e-3);
  // Behind a product by the cores that hold its blocks.
  const GemmNest nest{.batch = 3, .m = 1, .n = 16, .k = 64, .b_is_weight = true};
  const Execution product = BlockedGemm(nest, kernel, kCores);
  EXPECT_DOUBLE_EQ(vector(&product, 1), 0.5e-3 / 3);
}

TEST(Blocked, FusionDoesNotMakeAttentionSlower) {
  const Device device = DeviceOf("epyc-9654");
  const AttentionNest nest{.batch = 4,
                           .q_heads = 4,
                           .kv_heads = 4,
                           .q_len = 512,
                           .kv_len = 512,
                           .qk_dim = 64,
                           .v_dim = 64};
  Kernel kernel = KernelOf(nest, DType::kFloat32, 3 << 21, 1 << 21);
  kernel.work.Add(OpClass::kExp, DType::kFloat32, Count(16 * 512 * 512));
  kernel.needed = kernel.work;
  const auto time = [&] { return Runner(&device, {}).Run(kernel).expected->time.expected; };
  const double moved = time();
  kernel.bytes_read = kernel.bytes_written = Bytes(2);
  EXPECT_LE(time(), moved);
}

// A result for each product: a reduction, as multiplication and sum are.
TEST(Blocked, DotProductsAreReductions) {
  const Device device = DeviceOf("epyc-9654");
  const Kernel kernel = KernelOf(GemmNest{.batch = 65536, .m = 1, .n = 1, .k = 64}, DType::kFloat32,
                                 2 * 65536 * 64 * 4, 65536 * 4);
  const KernelRun run = Runner(&device, {}).Run(kernel);
  EXPECT_EQ(run.algorithm, "reduction");
  EXPECT_EQ(run.execution->On(Pipe::kVector).fma, Count(65536 * 64));
  // Memory alone: a line of the result is read before it is written.
  EXPECT_NEAR(run.expected->memory, (2 * 64 + 2) * 65536 * 4 / (460.8e9 * 0.8), 1e-9);
  EXPECT_LT(run.expected->time.expected, 1.1 * run.expected->memory);
}

// The elementwise work of an operator of several products is done once.
TEST(Blocked, PartsShareElementwiseWork) {
  const Device device = DeviceOf("epyc-9654");
  const GemmNest nest{.m = 4096, .n = 4096, .k = 4096, .b_is_weight = true};
  Kernel kernel = KernelOf(nest, DType::kFloat32, 3LL << 26, 1LL << 26);
  kernel.work = Work();
  kernel.work.Add(OpClass::kMac, DType::kFloat32, MacsOf(nest) * 2);
  kernel.parts = {{"first", nest, DType::kFloat32}, {"second", nest, DType::kFloat32}};
  const auto units = [&](std::int64_t additions) {
    Kernel with = kernel;
    with.work.Add(OpClass::kAdd, DType::kFloat32, Count(additions));
    with.needed = with.work;
    return Runner(&device, {}).Run(with).expected->units;
  };
  const Cores cores = CoresOf(device);
  const double rate = cores.count * cores.lanes() * cores.vector_per_clock * cores.clock;
  EXPECT_NEAR(units(1 << 30) - units(0), (1 << 30) / rate, 1e-9);
}

// The cores of a processor make a framework's calls themselves, before they compute.
TEST(Blocked, CallsAndKernelsTakeTurns) {
  const Device device = DeviceOf("epyc-9654");
  const GemmNest nest{.m = 1024, .n = 1024, .k = 1024, .b_is_weight = true};
  const Kernel kernel = KernelOf(nest, DType::kFloat32, 2 << 22, 1 << 22);
  const Expected e =
      *Runner(&device, {.launch = Launch::kEager, .explain = true}).Run(kernel).expected;
  EXPECT_EQ(e.host, 0);
  EXPECT_GT(e.calls, 0);
  EXPECT_DOUBLE_EQ(e.time.expected, e.prepared + e.calls + e.device);
  EXPECT_NEAR(Combined(e.terms, 0), e.time.expected, 1e-12);
}

}  // namespace
}  // namespace dlcost
