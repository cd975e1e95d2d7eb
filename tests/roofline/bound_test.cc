// Bounds by hand: operations over peaks, bytes over bandwidths, cold and warm.
#include "estimator/roofline/bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/hardware/database.h"

namespace dlcost {
namespace {

constexpr std::int64_t kMega = 1'000'000;

Device Find(const std::string& name) {
  return DeviceDatabase({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"}).Find(name);
}

// A product with `macs` multiply-accumulates in `type` that reads and writes so many bytes.
Kernel Product(DType type, std::int64_t macs, std::int64_t read, std::int64_t written) {
  Kernel kernel;
  kernel.nest = GemmNest{};
  kernel.math = type;
  kernel.work.Add(OpClass::kMac, type, macs);
  kernel.needed = kernel.work;
  kernel.bytes_read = Bytes(read);
  kernel.bytes_written = Bytes(written);
  return kernel;
}

Bound BoundOf(const Kernel& kernel, const Device& device, const BoundOptions& options) {
  return BoundKernel(kernel, kernel.needed, WorkKind::kMatrix, Bytes(0), device, options);
}

double RoofOf(const Bound& bound, const std::string& name) {
  for (const RoofTime& roof : bound.roofs) {
    if (roof.roof == name) return roof.time.value();
  }
  return -1;
}

TEST(Bound, IsTheSlowestOfUnitsAndLevels) {
  const Device a100 = Find("a100");
  const Bound compute = BoundOf(Product(DType::kFloat16, 156'000 * kMega, kMega, kMega), a100, {});
  EXPECT_EQ(compute.limiter, "tensor fp16");
  EXPECT_DOUBLE_EQ(compute.time.value(), 1e-3);
  const Bound memory = BoundOf(Product(DType::kFloat16, 1, 2000 * kMega, 39 * kMega), a100, {});
  EXPECT_EQ(memory.limiter, "device memory");
  EXPECT_DOUBLE_EQ(memory.time.value(), 1e-3);
  // fp32 stays on the vector units, unless tf32 is allowed.
  const Kernel fp32 = Product(DType::kFloat32, 9750 * kMega, kMega, kMega);
  EXPECT_DOUBLE_EQ(BoundOf(fp32, a100, {}).time.value(), 1e-3);
  EXPECT_DOUBLE_EQ(BoundOf(fp32, a100, {.math = MathMode::kTf32}).time.value(), 0.125e-3);
}

TEST(Bound, RestsOnTheClockThatBoardsReach) {
  // 4096^3 in bf16 took 0.772 ms on an RTX 4090 (cuBLASLt), less than the rated 165.2 TFLOP/s
  // allow: boards run at up to 2755 MHz instead of 2520.
  const Device rtx4090 = Find("rtx-4090");
  const Kernel product = Product(DType::kBfloat16, 4096LL * 4096 * 4096, kMega, kMega);
  const Bound bound = BoundOf(product, rtx4090, {});
  EXPECT_NEAR(bound.time.value(), 2 * 4096.0 * 4096 * 4096 / (165.2e12 * 2755 / 2520), 1e-9);
  EXPECT_LT(bound.time.value(), 0.772e-3);
  EXPECT_THAT(bound.notes, ::testing::ElementsAre(::testing::HasSubstr("up to 2755 MHz")));
  EXPECT_THAT(BoundOf(product, Find("a100"), {}).notes, ::testing::IsEmpty());
}

TEST(Bound, AWarmCacheKeepsBackWhatFits) {
  const Device a100 = Find("a100");
  const BoundOptions warm = {.cache = CacheState::kWarm};
  constexpr std::int64_t kL2 = 40 << 20;
  const Kernel large = Product(DType::kFloat16, 1, kL2 + 2039 * kMega, 0);
  EXPECT_DOUBLE_EQ(RoofOf(BoundOf(large, a100, warm), "device memory"), 1e-3);
  const Bound small = BoundOf(Product(DType::kFloat16, 1, kL2, 0), a100, warm);
  EXPECT_EQ(RoofOf(small, "device memory"), 0);
  // The cache itself is the next roof: 5120 bytes per clock.
  EXPECT_EQ(small.limiter, "L2");
  EXPECT_DOUBLE_EQ(small.time.value(), kL2 / 7219e9);
}

// ggml quantizes what it multiplies blocks by, so that a P40 multiplies integers: DP4A.
TEST(Bound, ProductsOfBlocksMayMultiplyIntegers) {
  const Device p40 = Find("p40");
  Kernel kernel = Product(DType::kFloat32, 4096 * kMega, kMega, kMega);
  kernel.nest = GemmNest{.m = 512, .n = 4000, .k = 2000, .b_is_weight = true};
  kernel.bytes_weights = Bytes(4 * kMega + kMega / 2);  // 4.5 bits each
  EXPECT_GT(RoofOf(BoundOf(kernel, p40, {}), "vector fp32"), 0);
  const Bound bound = BoundOf(kernel, p40, {.int8_blocks = true});
  EXPECT_DOUBLE_EQ(RoofOf(bound, "vector int8"), 8192e6 / 47e12);
  kernel.bytes_weights = Bytes(16 * kMega);  // halves
  EXPECT_LT(RoofOf(BoundOf(kernel, p40, {.int8_blocks = true}), "vector int8"), 0);
}

TEST(Bound, WhatKernelsPassOnMayStayOnTheChip) {
  const Device a100 = Find("a100");
  constexpr std::int64_t kL2 = 40 << 20;
  // 2039 MB from memory, 10 of 20 MB that the kernel before wrote, and a result for the next one.
  Kernel kernel = Product(DType::kFloat16, 1, 2059 * kMega, 10 * kMega);
  kernel.bytes_passed = Bytes(30 * kMega);
  EXPECT_DOUBLE_EQ(RoofOf(BoundOf(kernel, a100, {}), "device memory"), 1e-3);
  EXPECT_DOUBLE_EQ(RoofOf(BoundOf(kernel, a100, {.cache = CacheState::kCold}), "device memory"),
                   2069e6 / 2039e9);
  // What is read crosses the L2, wherever it comes from.
  EXPECT_DOUBLE_EQ(RoofOf(BoundOf(kernel, a100, {}), "L2"), 2059e6 / 7219e9);
  // No more than the L2 holds, in each of its runs.
  kernel.bytes_passed = kernel.bytes_read;
  EXPECT_DOUBLE_EQ(RoofOf(BoundOf(kernel, a100, {}), "device memory"), (2069e6 - kL2) / 2039e9);
  kernel.repeat = Count(3);
  EXPECT_DOUBLE_EQ(RoofOf(BoundOf(kernel, a100, {}), "device memory"),
                   (2069e6 - 3.0 * kL2) / 2039e9);
}

TEST(Bound, WeightsStayWhereAllOfTheModelFit) {
  const Device a100 = Find("a100");
  const Bytes room = a100.WarmCapacity();
  Kernel kernel = Product(DType::kFloat16, 1, 2039 * kMega + 10 * kMega, 0);
  kernel.bytes_weights = Bytes(10 * kMega);
  const auto memory = [&](const BoundOptions& options) {
    return RoofOf(BoundOf(kernel, a100, options), "device memory");
  };
  EXPECT_DOUBLE_EQ(memory({.weights = room}), 1e-3);
  EXPECT_DOUBLE_EQ(memory({.weights = room + Bytes(1)}), 2049e6 / 2039e9);
  EXPECT_DOUBLE_EQ(memory({}), 2049e6 / 2039e9);  // nothing runs before
  EXPECT_DOUBLE_EQ(memory({.cache = CacheState::kCold, .weights = room}), 2049e6 / 2039e9);
  // A compiler that places tensors starts each run without.
  EXPECT_FALSE(WeightsStay(Find("tpu-v4"), {.weights = Bytes(1)}));
}

TEST(Bound, WhatAStrideSkipsIsNotKept) {
  // A 1x1 filter with stride 2 reads a quarter of 8 x 64 x 56 x 56 halves.
  constexpr std::int64_t kInput = 2 * 8 * 64 * 56 * 56, kOutput = 2 * 8 * 128 * 28 * 28;
  constexpr std::int64_t kFilter = 2 * 64 * 128;
  Kernel kernel = Product(DType::kFloat16, 1, kInput + kFilter, kOutput);
  kernel.nest = ConvNest{.batch = 8,
                         .in_channels = 64,
                         .out_channels = 128,
                         .axes = {{.in = 56, .out = 28, .kernel = 1, .stride = 2},
                                  {.in = 56, .out = 28, .kernel = 1, .stride = 2}}};
  kernel.bytes_passed = Bytes(kInput);
  EXPECT_DOUBLE_EQ(RoofOf(BoundOf(kernel, Find("a100"), {}), "device memory"),
                   static_cast<double>(kFilter + kOutput) / 2039e9);
}

TEST(Bound, LevelsInsideKeepTrafficFromLevelsOutside) {
  // MI300X: 256 MiB of Infinity Cache at 17.2 TB/s around 32 MiB of L2.
  const Device mi300x = Find("mi300x");
  const std::int64_t bytes = std::int64_t{32 + 100} << 20;
  const Kernel kernel = Product(DType::kFloat16, 1, bytes, 0);
  const Bound warm = BoundOf(kernel, mi300x, {.cache = CacheState::kWarm});
  EXPECT_EQ(RoofOf(warm, "device memory"), 0);
  EXPECT_DOUBLE_EQ(RoofOf(warm, "Infinity Cache"), (100 << 20) / 17.2e12);
  const Bound cold = BoundOf(kernel, mi300x, {});
  EXPECT_DOUBLE_EQ(RoofOf(cold, "device memory"), static_cast<double>(bytes) / 5.3e12);
  EXPECT_DOUBLE_EQ(RoofOf(cold, "Infinity Cache"), static_cast<double>(bytes) / 17.2e12);
}

TEST(Bound, OnChipReadsAndWritesHavePathsOfTheirOwn) {
  const Bound bound = BoundOf(Product(DType::kFloat16, 1, 3000, 1000), Find("a100"), {});
  EXPECT_DOUBLE_EQ(RoofOf(bound, "L2"), 3000 / 7219e9);
  EXPECT_DOUBLE_EQ(RoofOf(bound, "device memory"), 4000 / 2039e9);
}

TEST(Bound, StridesBeyondTheKernelSkipInput) {
  // 1x1 with stride 2 over 56 x 56: a quarter of the rows and columns are read.
  Kernel kernel = Product(DType::kFloat16, 1, 2 * 256 * 56 * 56, 0);
  kernel.nest = ConvNest{.in_channels = 256,
                         .out_channels = 128,
                         .axes = {2, {.in = 56, .out = 28, .kernel = 1, .stride = 2}}};
  EXPECT_DOUBLE_EQ(RoofOf(BoundOf(kernel, Find("t4"), {}), "device memory"),
                   2 * 256 * 28 * 28 / 320e9);
}

TEST(Bound, WhatRunsOnAnotherUnitIsSaid) {
  const Bound bound = BoundOf(Product(DType::kBfloat16, 7850 * kMega, 1, 1), Find("v100"), {});
  EXPECT_DOUBLE_EQ(bound.time.value(), 1e-3);
  EXPECT_THAT(bound.notes, ::testing::ElementsAre(::testing::HasSubstr("bf16 runs as fp32")));
}

}  // namespace
}  // namespace dlcost
