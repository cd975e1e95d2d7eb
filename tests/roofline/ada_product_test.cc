// Products on the matrix units of an L40S: recorded times of cuBLAS 12 (aiconfigurator's tables).
#include <gtest/gtest.h>

#include "estimator/roofline/run.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

KernelRun OnL40S(int rows, int columns, int k, DType type) {
  const Device l40s = DeviceOf("l40s");
  return Runner(&l40s, {}).Run(
      Alone(GemmNest{.m = rows, .n = columns, .k = k, .b_is_weight = true}, type));
}

Count Parts(int rows, int columns, int k, DType type = DType::kBfloat16) {
  return OnL40S(rows, columns, k, type).execution->Grid()->split_k;
}

// 33 x 2048 x 6144 took 35.0 us, 14 x 1536 x 3072 13.3, which parts of k would take in half of the
// time; 7 x 1024 x 4096, whose k is four times its columns, took 6.2, and all of k walks 18.
TEST(AdaProduct, FewRowsKeepSumsWhole) {
  EXPECT_EQ(Parts(33, 2048, 6144), Count(1));
  EXPECT_EQ(Parts(14, 1536, 3072), Count(1));
  EXPECT_GT(Parts(7, 1024, 4096), Count(1));
  EXPECT_GT(Parts(16, 768, 2048), Count(1));
  EXPECT_GT(Parts(128, 1536, 4096), Count(1));
  EXPECT_GT(Parts(33, 2048, 6144, DType::kFloat8E4M3FN), Count(1));
}

double MicrosecondsIn8Bits(int rows, int columns, int k) {
  const KernelRun run = OnL40S(rows, columns, k, DType::kFloat8E4M3FN);
  return 1e6 * (run.expected->time.expected - run.expected->launch);
}

// TensorRT-LLM's kernel for up to 8 rows of 8-bit floats: by hand, 65 clocks of one of 142 units at
// 2.52 GHz for each result, 0.022 for each of its products, and 0.9 us for each 2048 of k.
TEST(AdaProduct, FewRowsOf8BitFloatsTakeVectorUnits) {
  const KernelRun few = OnL40S(7, 12288, 512, DType::kFloat8E4M3FN);
  EXPECT_EQ(few.execution->On(Pipe::kTensor).fma, Count(0));
  EXPECT_EQ(few.execution->On(Pipe::kVector).fma, Count(7 * 12288) * (512 + 1));  // and a scale
  EXPECT_NEAR(MicrosecondsIn8Bits(7, 12288, 512), 18.33 + 0.9, 0.01);
  EXPECT_NEAR(MicrosecondsIn8Bits(6, 32, 10240), 0.16 + 5 * 0.9, 0.01);
  EXPECT_GT(OnL40S(9, 12288, 512, DType::kFloat8E4M3FN).execution->On(Pipe::kTensor).fma, Count(0));
  EXPECT_GT(OnL40S(7, 12288, 512, DType::kBfloat16).execution->On(Pipe::kTensor).fma, Count(0));
}

}  // namespace
}  // namespace dlcost
