// Products with weights of a few bits: adapters before them train, they do not.

#include <gtest/gtest.h>

#include "tests/training/small_step.h"

namespace dlcost {
namespace {

TEST(QuantizedWeight, GradientsGoBackThroughItInTheTypeOfTheResult) {
  SmallModel model;
  model.Input("x", {3, 16}).Weight("a", {16, 64}).Node("MatMul", {"x", "a"}, {"h"});
  model.Weight("q", {8, 2, 16}, onnx::TensorProto::UINT8).Weight("scales", {8, 2});
  onnx::NodeProto& product =
      model.AddNodeOf("com.microsoft", "MatMulNBits", {"h", "q", "scales"}, {"y"});
  SetInt(product, "K", 64);
  SetInt(product, "N", 8);
  SetInt(product, "bits", 4);
  SetInt(product, "block_size", 32);
  const InferredModel step =
      StepOf(model.Output("y").Infer(), {.optimizer = "sgd", .loss = "none"});
  EXPECT_EQ(step.step->trained, Count(16 * 64)) << "neither the weight nor its scales";
  const CountedNode* weight = Find(step, "DequantizeWeight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->cost.BytesRead(), Bytes(8 * 2 * 16 + 4 * 8 * 2));
  EXPECT_EQ(weight->cost.BytesWritten(), Bytes(4 * 8 * 64));
  Macs data, weights;
  for (const CountedNode& counted : step.nodes) {
    if (counted.node->phase == Phase::kBackwardData) data += counted.cost.work.macs();
    if (counted.node->phase == Phase::kBackwardWeights) weights += counted.cost.work.macs();
  }
  EXPECT_EQ(data, Macs(3 * 64 * 8));
  EXPECT_EQ(weights, Macs(3 * 16 * 64));
  // The product itself needs nothing of the forward pass.
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * 3 * 16));
}

}  // namespace
}  // namespace dlcost
