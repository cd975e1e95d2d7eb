#include "estimator/precision/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/core/error.h"
#include "estimator/plan/kernel.h"
#include "estimator/precision/precision.h"
#include "estimator/training/step.h"
#include "models/networks/networks.h"
#include "tests/training/small_step.h"

namespace dlcost {
namespace {

// Two products; nothing multiplies the results of the second.
SmallModel TwoProducts() {
  return SmallModel()
      .Input("x", {4, 64})
      .Weight("a", {64, 32})
      .Weight("b", {32, 16})
      .Node("MatMul", {"x", "a"}, {"h"})
      .Node("MatMul", {"h", "b"}, {"y"})
      .Output("y");
}

InferredModel As(const SmallModel& model, const std::string& precision) {
  return InPrecision(model.Infer(), FindPrecision(precision), {});
}

// The kernel with this many multiply-accumulates.
Kernel KernelOf(const InferredModel& model, Count macs) {
  for (const Kernel& kernel : MakePlan(model, {.fusion = Fusion::kDefault}).kernels) {
    if (kernel.work.Of(OpClass::kMac) == macs) return kernel;
  }
  ADD_FAILURE() << "no such kernel";
  return {};
}

// One byte for each number; the last product stays in bfloat16. One scale for all is a number of a
// formula, read but not stored.
TEST(Quantize, EightBitFloats) {
  const InferredModel model = As(TwoProducts(), "w8a8-fp8");
  EXPECT_EQ(model.weight_bytes, Bytes(64 * 32 + 2 * 32 * 16));
  const Kernel first = KernelOf(model, 4 * 64 * 32), last = KernelOf(model, 4 * 32 * 16);
  EXPECT_EQ(first.math, DType::kFloat8E4M3FN);
  EXPECT_EQ(last.math, DType::kBfloat16);
  // x in 8 bits, the weights and their scale, and the scale of x; results in bfloat16.
  EXPECT_EQ(first.bytes_read, Bytes(4 * 64 + 64 * 32 + 2 + 2));
  EXPECT_EQ(first.bytes_written, Bytes(2 * 4 * 32));
}

// Half a byte for each number, a byte for the scale of 16 along k, and a scale of the scales.
TEST(Quantize, FourBitFloats) {
  const InferredModel model = As(TwoProducts(), "w4a4-nvfp4");
  EXPECT_EQ(model.weight_bytes, Bytes(64 * 32 / 2 + 4 * 32 + 2 * 32 * 16));
  const Kernel first = KernelOf(model, 4 * 64 * 32);
  EXPECT_EQ(first.math, DType::kFloat4E2M1);
  EXPECT_EQ(first.bytes_written, Bytes(2 * 4 * 32));
}

// Weights alone are narrow: 4 bits and a scale of two bytes for 128 along k, here for all 64.
TEST(Quantize, FourBitWeightsAlone) {
  const InferredModel model = As(TwoProducts(), "w4a16-int4");
  EXPECT_EQ(model.weight_bytes, Bytes(64 * 32 / 2 + 2 * 32 + 2 * 32 * 16));
  const Kernel first = KernelOf(model, 4 * 64 * 32);
  EXPECT_EQ(first.math, DType::kFloat16);
  EXPECT_EQ(first.bytes_read, Bytes(2 * 4 * 64 + 64 * 32 / 2 + 2 * 32));
}

// A table that a lookup reads too stays as it is.
TEST(Quantize, TiedEmbeddingsStay) {
  const SmallModel tied = SmallModel()
                              .Input("x", {4, 64})
                              .Input("i", {4}, onnx::TensorProto::INT64)
                              .Weight("a", {64, 32})
                              .Weight("b", {32, 16})
                              .Node("MatMul", {"x", "a"}, {"h"})
                              .Node("MatMul", {"h", "b"}, {"y"})
                              .Node("Gather", {"a", "i"}, {"g"})
                              .Output("y")
                              .Output("g");
  EXPECT_EQ(As(tied, "w8a8-fp8").weight_bytes, Bytes(2 * (64 * 32 + 32 * 16)));
}

TEST(Quantize, TrainsInNoneOfThem) {
  EXPECT_THROW(StepOf(TwoProducts().Infer(), {.optimizer = "sgd", .precision = "w8a8-fp8"}), Error);
}

}  // namespace
}  // namespace dlcost
