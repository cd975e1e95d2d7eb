// What one kernel reads of a value that it reads several times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/infer/small_model.h"
#include "tests/plan/plan_model.h"

namespace dlcost {
namespace {

// What the kernel reads that adds two parts of x [4,16], which the named nodes copy from it.
Bytes ReadOfSum(SmallModel small) {
  small.Node("Add", {"a", "b"}, {"y"}).Output("y");
  const Plan plan = PlanWith(small.Infer(), Fusion::kDefault);
  EXPECT_EQ(Labels(plan).size(), 1u);
  return plan.kernels.back().bytes_read;
}

SmallModel Cut() {
  SmallModel small;
  small.Input("x", {4, 16}).Ints("zero", {0}).Ints("eight", {8}).Ints("sixteen", {16});
  return small.Ints("one", {1});
}

TEST(Traffic, PartsThatAreCutAreReadEach) {
  const auto slices = [](const char* from, const char* to) {
    return ReadOfSum(Cut()
                         .Node("Slice", {"x", "zero", "eight", "one"}, {"a"})
                         .Node("Slice", {"x", from, to, "one"}, {"b"}));
  };
  EXPECT_EQ(slices("eight", "sixteen"), Bytes(4 * 16 * 4));
  SmallModel rows;
  rows.Input("x", {4, 16}).Scalar("first", 0).Scalar("last", 3);
  rows.Node("Gather", {"x", "first"}, {"a"}).Node("Gather", {"x", "last"}, {"b"});
  EXPECT_EQ(ReadOfSum(rows), Bytes(2 * 16 * 4));
}

// Rows that the data choose may be the same.
TEST(Traffic, OfPartsThatMayBeTheSameTheLargestIsRead) {
  SmallModel rows;
  rows.Input("x", {40, 16}).Input("i", {3}, onnx::TensorProto::INT64);
  rows.Input("j", {3}, onnx::TensorProto::INT64);
  rows.Node("Gather", {"x", "i"}, {"a"}).Node("Gather", {"x", "j"}, {"b"});
  EXPECT_EQ(ReadOfSum(rows), Bytes(3 * 16 * 4 + 2 * 3 * 8));
}

// A zero point for each scale: rows of 64 in blocks of 32.
TEST(Traffic, WeightsAreReadWithTheirZeroPoints) {
  SmallModel small(21);
  small.Input("x", {4, 64}).Weight("w", {64, 32}, onnx::TensorProto::UINT8);
  small.Weight("scale", {2, 32}).Weight("zero", {2, 32}, onnx::TensorProto::UINT8);
  onnx::NodeProto& node = small.AddNode("DequantizeLinear", {"w", "scale", "zero"}, {"wf"});
  SetInt(node, "axis", 0);
  SetInt(node, "block_size", 32);
  small.Node("MatMul", {"x", "wf"}, {"y"}).Output("y");
  const Plan plan = PlanWith(small.Infer(), Fusion::kDefault);
  EXPECT_EQ(KernelOf(plan, "mat_mul").bytes_read,
            Bytes(4 * 64 * 4 + 64 * 32 + 2 * 32 * 4 + 2 * 32));
}

}  // namespace
}  // namespace dlcost
