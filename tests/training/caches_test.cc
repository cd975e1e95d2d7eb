// Attention that hands out keys and values for the next token, in a step.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/small_step.h"

namespace dlcost {
namespace {

// 4 query heads and 2 of keys and values, 8 wide, over 3 tokens: [2,3,(4 + 2 * 2) 8] from w.
SmallModel Grouped(int past) {
  SmallModel model;
  model.Input("x", {2, 3, 16}).Weight("w", {16, 64}).Node("MatMul", {"x", "w"}, {"all"});
  model.Input("pk", {2, 2, past, 8}).Input("pv", {2, 2, past, 8});
  model.Input("lengths", {2}, onnx::TensorProto::INT32);
  model.Scalar("total", past + 3, onnx::TensorProto::INT32);
  model.Weight("cos", {64, 4}).Weight("sin", {64, 4});
  onnx::NodeProto& attention = model.AddNodeOf(
      "com.microsoft", "GroupQueryAttention",
      {"all", "", "", "pk", "pv", "lengths", "total", "cos", "sin"}, {"y", "k", "v"});
  SetInt(attention, "num_heads", 4);
  SetInt(attention, "kv_num_heads", 2);
  SetInt(attention, "do_rotary", 1);
  return model.Output("y").Output("k").Output("v");
}

TEST(Caches, LeaveAStepAndGroupedAttentionTrains) {
  for (const int past : {0, 5}) {
    const InferredModel step = StepOf(
        Grouped(past).Infer(), {.optimizer = "sgd", .loss = "sum", .frozen = {"cos", "sin"}});
    const std::int64_t product = 2 * 4 * 3 * (past + 3) * 8, weight = 2 * 3 * 16 * 64;
    EXPECT_EQ(MacsOf(step, Phase::kForward), Macs(weight + 2 * product));
    // The scores again, and two products for each of two.
    EXPECT_EQ(MacsOf(step, Phase::kBackwardData), Macs(5 * product));
    EXPECT_EQ(MacsOf(step, Phase::kBackwardWeights), Macs(weight));
    for (const CountedNode& counted : step.nodes) EXPECT_EQ(counted.why, "") << counted.name;
    // y and the gradient's update, neither keys nor values.
    for (const TensorId id : step.model->graph.outputs) {
      const std::string& name = step.model->graph.tensors[static_cast<std::size_t>(id)].name;
      EXPECT_TRUE(name != "k" && name != "v") << name;
    }
  }
}

// Sinks take part in the softmax: what ONNX's Attention does not have.
TEST(Caches, GroupedAttentionThatDoesMoreIsNamed) {
  SmallModel model = Grouped(0);
  onnx::NodeProto& attention = *model.proto().mutable_graph()->mutable_node(1);
  ASSERT_EQ(attention.op_type(), "GroupQueryAttention");
  SetInt(attention, "smooth_softmax", 1);
  const InferredModel step =
      StepOf(model.Infer(), {.optimizer = "sgd", .loss = "sum", .frozen = {"cos", "sin"}});
  const CountedNode* unknown = Find(step, "Gradient");
  ASSERT_NE(unknown, nullptr);
  EXPECT_THAT(unknown->why, testing::HasSubstr("GroupQueryAttention"));
}

}  // namespace
}  // namespace dlcost
