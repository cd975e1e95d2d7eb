// Products of weights in blocks, as ggml multiplies them.
#include <gtest/gtest.h>

#include "estimator/roofline/run.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

// rows x 4096 x 4096 in halves on an RTX 3090, weights in 4.5 bits.
KernelRun InBlocks(int rows, bool int8) {
  constexpr int kSide = 4096;
  const Device rtx3090 = DeviceOf("rtx-3090");
  Kernel kernel =
      Alone(GemmNest{.m = rows, .n = kSide, .k = kSide, .b_is_weight = true}, DType::kFloat16);
  const Bytes whole = SizeOf(DType::kFloat16, Count(kSide) * kSide);
  kernel.bytes_weights = Bytes(kSide * kSide * 9 / 16);
  kernel.bytes_read = kernel.bytes_read - whole + kernel.bytes_weights;
  return Runner(&rtx3090, {.math = MathMode::kFp16Accumulate, .int8_blocks = int8}).Run(kernel);
}

// A fifth of the peak of 284 TOP/s (at 1.695 GHz): 302 us for 2 x 512 x 4096 x 4096, in 128 tiles
// of 128 x 128 on 82 units, of which two waves leave a part idle.
TEST(BlockProducts, RunOnMatrixUnitsOfBytes) {
  const KernelRun run = InBlocks(512, true);
  EXPECT_EQ(run.execution->Grid()->tile_n, Count(128));
  const double arithmetic = 2.0 * 512 * 4096 * 4096 / (0.2 * 284e12);
  EXPECT_GT(run.expected->time.expected, arithmetic * 5 / 6);
  EXPECT_LT(run.expected->time.expected, 1.5 * arithmetic);
  EXPECT_GT(run.expected->time.expected, InBlocks(512, false).expected->time.expected);
}

// Up to eight rows weights are streamed, whatever multiplies them.
TEST(BlockProducts, OfFewRowsAreStreamed) {
  EXPECT_EQ(InBlocks(8, true).expected->time.expected, InBlocks(8, false).expected->time.expected);
  EXPECT_NE(InBlocks(9, true).expected->time.expected, InBlocks(9, false).expected->time.expected);
  EXPECT_EQ(InBlocks(9, true).execution->Grid()->tile_m, Count(16));
}

}  // namespace
}  // namespace dlcost
