#include "estimator/precision/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "estimator/core/error.h"
#include "estimator/plan/kernel.h"
#include "estimator/precision/precision.h"
#include "estimator/training/step.h"
#include "models/networks/config_file.h"
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

// gpt-oss-120b: 114,661,785,600 numbers of experts in half a byte, with a byte for each 32 of them;
// 2,167,368,768 others and 32 frequencies in bfloat16. OpenAI publishes 60.8 GiB (arXiv
// 2508.10925).
TEST(Quantize, GptOssIsAsLargeAsPublished) {
  std::ifstream file(DLCOST_SOURCE_DIR "/tests/networks/configs/gpt-oss-120b.json");
  const std::string config{std::istreambuf_iterator<char>(file), {}};
  InferOptions options;
  options.bindings.batch = 1;
  options.bindings.dims["sequence"] = 16;
  const InferredModel model =
      Infer(ReadModelFromBytes(BuildNetworkOfConfig(config), "gpt-oss"), options);
  const InferredModel served = InPrecision(model, FindPrecision("w4a16-mxfp4"), options);
  EXPECT_EQ(served.weight_bytes,
            Bytes(114'661'785'600 / 2 + 114'661'785'600 / 32 + 2 * (2'167'368'768 + 32)));
  EXPECT_NEAR(static_cast<double>(served.weight_bytes.value()) / (1 << 30), 60.8, 0.05);
}

// A file in float16 stays in it beside what is narrow.
TEST(Quantize, HalvesOfTheFileStay) {
  const InferredModel model = As(SmallModel()
                                     .Input("x", {4, 64}, onnx::TensorProto::FLOAT16)
                                     .Weight("a", {64, 32}, onnx::TensorProto::FLOAT16)
                                     .Weight("b", {32, 16}, onnx::TensorProto::FLOAT16)
                                     .Node("MatMul", {"x", "a"}, {"h"})
                                     .Node("MatMul", {"h", "b"}, {"y"})
                                     .Output("y"),
                                 "w8a8-fp8");
  EXPECT_EQ(KernelOf(model, 4 * 64 * 32).math, DType::kFloat8E4M3FN);
  EXPECT_EQ(KernelOf(model, 4 * 32 * 16).math, DType::kFloat16);
}

// Matrices that are joined and transposed before the run, as exporters write query, key and value.
TEST(Quantize, JoinedMatrices) {
  SmallModel model = SmallModel()
                         .Input("x", {4, 64})
                         .Weight("q", {16, 64})
                         .Weight("k", {16, 64})
                         .Weight("b", {32, 16});
  SetInt(model.AddNode("Concat", {"q", "k"}, {"j"}), "axis", 0);
  const InferredModel made = As(model.Node("Transpose", {"j"}, {"t"})
                                    .Node("MatMul", {"x", "t"}, {"h"})
                                    .Node("MatMul", {"h", "b"}, {"y"})
                                    .Output("y"),
                                "w8a8-fp8");
  EXPECT_EQ(made.weight_bytes, Bytes(2 * 16 * 64 + 2 * 32 * 16));
  const Kernel first = KernelOf(made, 4 * 64 * 32);
  EXPECT_EQ(first.math, DType::kFloat8E4M3FN);
  EXPECT_EQ(first.bytes_read, Bytes(4 * 64 + 64 * 32 + 2 + 2));
}

// Only stored matrices become narrow: a product of two values that are computed stays.
TEST(Quantize, ComputedOperandsStay) {
  const SmallModel computed = SmallModel()
                                  .Input("x", {4, 64})
                                  .Input("z", {64, 32})
                                  .Weight("b", {32, 16})
                                  .Node("MatMul", {"x", "z"}, {"h"})
                                  .Node("MatMul", {"h", "b"}, {"y"})
                                  .Output("y");
  const InferredModel model = As(computed, "w8a8-fp8");
  EXPECT_EQ(model.weight_bytes, Bytes(2 * 32 * 16));
  EXPECT_EQ(KernelOf(model, 4 * 64 * 32).math, DType::kBfloat16);
}

TEST(Quantize, TrainsInNoneOfThem) {
  EXPECT_THROW(StepOf(TwoProducts().Infer(), {.optimizer = "sgd", .precision = "w8a8-fp8"}), Error);
}

}  // namespace
}  // namespace dlcost
