// Products in float32 on an H100 and an H200: kernels of networks under PyTorch 2.11
// (bench/published/h200/kernels.csv).
#include <gtest/gtest.h>

#include "estimator/roofline/run.h"
#include "tests/infer/small_model.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

// A linear layer of `rows`, with its bias or without.
KernelRun Linear(int rows, int k, int n, bool biased) {
  SmallModel small;
  small.Input("x", {rows, k}).Weight("w", {k, n}).Output("y");
  if (biased) {
    small.Weight("b", {n}).Node("Gemm", {"x", "w", "b"}, {"y"});
  } else {
    small.Node("MatMul", {"x", "w"}, {"y"});
  }
  const Device device = DeviceOf("h200");
  const Plan plan = MakePlan(small.Infer(), {.fusion = Fusion::kDefault});
  return Runner(&device, {}).Run(plan.kernels.back());
}

double MicrosecondsOfLinear(int rows, int k, int n, bool biased) {
  const KernelRun run = Linear(rows, k, n, biased);
  return 1e6 * (run.expected->time.expected - run.expected->launch);
}

// The 197 positions of one image of ViT-B/16: a library with a bias to add keeps sums whole, where
// parts would take a third of the time.
TEST(HopperProduct, KeepsSumsWholeWhereItAddsABias) {
  EXPECT_EQ(Linear(197, 768, 768, true).execution->Grid()->split_k, Count(1));
  EXPECT_NEAR(MicrosecondsOfLinear(197, 768, 768, true), 25.6, 8);
  EXPECT_NEAR(MicrosecondsOfLinear(197, 768, 2304, true), 39.2, 8);
  EXPECT_NEAR(MicrosecondsOfLinear(197, 768, 3072, true), 45.8, 10);
  EXPECT_GT(Linear(197, 3072, 768, false).execution->Grid()->split_k, Count(1));
  EXPECT_LT(MicrosecondsOfLinear(197, 3072, 768, false), 70);
}

// Loads add to the arithmetic of a tile, most to that of a small one.
TEST(HopperProduct, LoadsAddToTheArithmetic) {
  EXPECT_NEAR(MicrosecondsOfLinear(6304, 768, 768, true), 191.7, 30);
  EXPECT_NEAR(MicrosecondsOfLinear(6304, 768, 3072, true), 653.6, 70);
  EXPECT_NEAR(MicrosecondsOfLinear(25088, 96, 384, true), 62.9, 12);
}

}  // namespace
}  // namespace dlcost
