// Products on the matrix units of an L40S: recorded times of cuBLAS 12 (aiconfigurator's tables).
#include <gtest/gtest.h>

#include "estimator/roofline/run.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

KernelRun OnL40S(int rows, int columns, int k, DType type) {
  const Device l40s = DeviceOf("l40s");
  return Runner(&l40s, {}).Run(Alone(GemmNest{.m = rows, .n = columns, .k = k}, type));
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

}  // namespace
}  // namespace dlcost
