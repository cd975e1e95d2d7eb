#include "estimator/plan/kernel_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "estimator/infer/memory.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

Bytes PeakOf(const InferredModel& model, Fusion fusion) {
  const std::vector<Bytes> live = LiveBytes(model, {.fusion = fusion});
  return *std::max_element(live.begin(), live.end());
}

SmallModel Layer() {
  return SmallModel().Input("x", {4, 8}).Weight("a", {8, 16}).Weight("b", {16, 2});
}

InferredModel GeluInOneNode() {
  return Layer()
      .Node("MatMul", {"x", "a"}, {"h"})
      .Node("Relu", {"h"}, {"g"})
      .Node("MatMul", {"g", "b"}, {"y"})
      .Output("y")
      .Infer();
}

InferredModel GeluInFiveNodes() {
  return Layer()
      .Weight("root", {1})
      .Weight("one", {1})
      .Weight("half", {1})
      .Node("MatMul", {"x", "a"}, {"h"})
      .Node("Div", {"h", "root"}, {"d"})
      .Node("Erf", {"d"}, {"e"})
      .Node("Add", {"e", "one"}, {"s"})
      .Node("Mul", {"h", "s"}, {"p"})
      .Node("Mul", {"p", "half"}, {"g"})
      .Node("MatMul", {"g", "b"}, {"y"})
      .Output("y")
      .Infer();
}

// x and the result of the activation: what the product hands on never leaves the kernel.
TEST(KernelMemory, WhatAKernelKeepsInsideHasNoBuffer) {
  EXPECT_EQ(PeakOf(GeluInOneNode(), Fusion::kDefault), Bytes(4 * (4 * 8 + 4 * 16)));
  EXPECT_EQ(PeakOf(GeluInFiveNodes(), Fusion::kDefault), Bytes(4 * (4 * 8 + 4 * 16)));
}

// Node by node, h is there while s and p are.
TEST(KernelMemory, WithoutFusionEveryValueHas) {
  EXPECT_EQ(PeakOf(GeluInOneNode(), Fusion::kNone), Bytes(4 * (2 * 4 * 16)));
  EXPECT_EQ(PeakOf(GeluInFiveNodes(), Fusion::kNone), Bytes(4 * (3 * 4 * 16)));
  EXPECT_EQ(PeakOf(GeluInFiveNodes(), Fusion::kNone), PeakActivations(GeluInFiveNodes()));
}

// What somebody else reads is written all the same.
TEST(KernelMemory, WhatLeavesAKernelHasABuffer) {
  const InferredModel model = Layer()
                                  .Node("MatMul", {"x", "a"}, {"h"})
                                  .Node("Relu", {"h"}, {"g"})
                                  .Node("MatMul", {"g", "b"}, {"y"})
                                  .Output("y")
                                  .Output("h")
                                  .Infer();
  EXPECT_EQ(PeakOf(model, Fusion::kDefault), Bytes(4 * (4 * 8 + 2 * 4 * 16)));
}

}  // namespace
}  // namespace dlcost
