#include "estimator/training/fused_attention.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "estimator/plan/kernel.h"
#include "tests/training/small_step.h"

namespace dlcost {
namespace {

TrainOptions Fused() {
  return {.optimizer = "sgd",
          .loss = "sum",
          .fuses_attention = [](DType, bool) { return true; },
          .joins_attention = true};
}

void Set(onnx::NodeProto& node, const char* name, std::int64_t value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

// x[2,6,16] w[16,48] as queries, keys and values of 4 heads of 4, masked, softmax, values.
SmallModel Spelled(bool trained_mask) {
  SmallModel model;
  model.Input("x", {2, 6, 16}).Weight("w", {16, 48});
  if (trained_mask) {
    model.Weight("mask", {4, 6, 6});
  } else {
    model.Input("mask", {6, 6});
  }
  model.Node("MatMul", {"x", "w"}, {"qkv"}).Ints("heads", {2, 6, 4, 4});
  Set(model.AddNode("Split", {"qkv"}, {"q", "k", "v"}), "axis", 2);
  for (const char* part : {"q", "k", "v"}) {
    const std::string p = part;
    model.Node("Reshape", {p, "heads"}, {p + "4"});
    auto* order = model.AddNode("Transpose", {p + "4"}, {p + "t"}).add_attribute();
    order->set_name("perm");
    order->set_type(onnx::AttributeProto::INTS);
    const bool keys = p == "k";
    for (const int axis : {0, 2, keys ? 3 : 1, keys ? 1 : 3}) order->add_ints(axis);
  }
  return model.Node("MatMul", {"qt", "kt"}, {"s"})
      .Node("Add", {"s", "mask"}, {"m"})
      .Node("Softmax", {"m"}, {"p"})
      .Node("MatMul", {"p", "vt"}, {"y"})
      .Output("y");
}

TEST(FusedAttention, KeepsARowSumInsteadOfScores) {
  const InferredModel step = StepOf(Spelled(false).Infer(), Fused());
  EXPECT_EQ(Find(step, "Softmax"), nullptr);
  EXPECT_EQ(Find(step, "Split"), nullptr);  // the kernel reads all heads where they lie
  const CountedNode* back = Find(step, "FusedAttentionGrad");
  ASSERT_NE(back, nullptr);
  // 2 * 4 heads, 6 x 6 scores, 4 numbers each: four products, as the graph keeps probabilities.
  EXPECT_EQ(back->cost.work.macs(), Macs(2 * 4 * 36 * 16));
  // x and the mask, queries, keys and values, the result and a sum per row.
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * (192 + 36 + 3 * 192 + 192 + 48)));
}

// Torch's exporter makes a mask of the sizes of what a parameter made, and multiplies queries and
// keys of a call by one number, which may be 1: their model scaled the queries before.
TEST(FusedAttention, IsCalledWithAMaskOfTheSizesOfATrainedTensor) {
  const auto fused = [](float of_keys, bool heads = true) {
    SmallModel model;
    using Extents = std::vector<SmallModel::Extent>;
    model.Input("x", heads ? Extents{2, 4, 6, 4} : Extents{8, 6, 4})
        .Weight("w", {4, 4})
        .Floats("half", {0.5F});
    model.Floats("q1", {1}).Floats("k1", {of_keys}).Floats("hide", {-1e9F});
    model.Node("MatMul", {"x", "w"}, {"h"}).Node("Mul", {"h", "half"}, {"scaled"});
    auto* order = model.AddNode("Transpose", {"h"}, {"ht"}).add_attribute();
    order->set_name("perm");
    order->set_type(onnx::AttributeProto::INTS);
    const std::vector<int> axes = {0, 1, 3, 2}, joined_axes = {0, 2, 1};
    for (const int axis : heads ? axes : joined_axes) order->add_ints(axis);
    model.Node("Mul", {"scaled", "q1"}, {"q"}).Node("Mul", {"ht", "k1"}, {"k"});
    model.Node("Shape", {"h"}, {"sizes"});
    Set(model.AddNode("Cast", {"sizes"}, {"numbers"}), "to", onnx::TensorProto::FLOAT);
    model.Node("ReduceSum", {"numbers"}, {"number"}).Node("Mul", {"number", "hide"}, {"mask"});
    model.Node("MatMul", {"q", "k"}, {"s"}).Node("Add", {"s", "mask"}, {"m"});
    model.Node("Softmax", {"m"}, {"p"}).Node("MatMul", {"p", "h"}, {"y"}).Output("y");
    TrainOptions options = Fused();
    options.fuses_attention = [](DType, bool called) { return called; };
    return Find(StepOf(model.Infer(), options), "FusedAttention") != nullptr;
  };
  EXPECT_TRUE(fused(1));
  EXPECT_FALSE(fused(2));
  // The call has no fused kernel for operands of three axes.
  EXPECT_FALSE(fused(1, false));
}

// Sums of sums have as many ways up as a power of two, and deep ones no end.
TEST(FusedAttention, LooksForScoresNoLongerThanItIsWorth) {
  for (const bool both : {true, false}) {
    SmallModel model;
    model.Input("x", {2, 4, 8, 8}).Weight("w", {8, 8}).Node("Relu", {"x"}, {"s0"});
    const int sums = both ? 60 : 100'000;
    for (int i = 0; i < sums; ++i) {
      const std::string sum = "s" + std::to_string(i);
      model.Node("Add", {sum, both ? sum : "s0"}, {"s" + std::to_string(i + 1)});
    }
    model.Node("Softmax", {"s" + std::to_string(sums)}, {"p"}).Node("MatMul", {"p", "w"}, {"y"});
    EXPECT_EQ(Find(StepOf(model.Output("y").Infer(), Fused()), "FusedAttention"), nullptr);
  }
}

// A Transpose that tells no order turns all axes around.
TEST(FusedAttention, LeavesItsResultAsATransposeWithoutAnOrderDoes) {
  SmallModel model;
  model.Input("x", {2, 3, 6, 4}).Weight("w", {4, 4}).Node("MatMul", {"x", "w"}, {"q"});
  auto* order = model.AddNode("Transpose", {"q"}, {"k"}).add_attribute();
  order->set_name("perm");
  order->set_type(onnx::AttributeProto::INTS);
  for (const int axis : {0, 1, 3, 2}) order->add_ints(axis);
  model.Node("MatMul", {"q", "k"}, {"s"}).Node("Softmax", {"s"}, {"p"});
  model.Node("MatMul", {"p", "q"}, {"z"}).Node("Transpose", {"z"}, {"y"});
  const InferredModel step = StepOf(model.Output("y").Infer(), Fused());
  ASSERT_NE(Find(step, "FusedAttention"), nullptr);
  const auto y = step.model->graph.outputs.front();
  EXPECT_EQ(*step.model->graph.tensors[static_cast<std::size_t>(y)].type.shape,
            Shape({4, 6, 3, 2}));
}

TEST(FusedAttention, StaysInProductsUnderATrainedMask) {
  const InferredModel step = StepOf(Spelled(true).Infer(), Fused());
  EXPECT_EQ(Find(step, "FusedAttention"), nullptr);
  EXPECT_NE(Find(step, "SoftmaxGrad_13"), nullptr);
}

TEST(FusedAttention, StaysInProductsWhereAPartIsRecomputed) {
  TrainOptions options = Fused();
  options.recompute = "selective:Softmax";
  const InferredModel step = StepOf(Spelled(false).Infer(), options);
  EXPECT_EQ(Find(step, "FusedAttention"), nullptr);
}

TEST(FusedAttention, StaysInProductsOnARuntimeThatHasNoKernelForIt) {
  TrainOptions options = Fused();
  options.fuses_attention = [](DType type, bool) { return Bits(type) <= 16; };
  EXPECT_EQ(Find(StepOf(Spelled(false).Infer(), options), "FusedAttention"), nullptr);
  // Mixed precision computes attention in half.
  options.precision = "amp-bf16";
  EXPECT_NE(Find(StepOf(Spelled(false).Infer(), options), "FusedAttention"), nullptr);
}

void SetOrder(onnx::NodeProto& node, std::vector<std::int64_t> axes) {
  SetInts(node, "perm", axes);
}

bool RunsForward(const InferredModel& step, const std::string& op) {
  return std::any_of(step.nodes.begin(), step.nodes.end(), [&](const CountedNode& counted) {
    return counted.node->op == op && counted.node->phase == Phase::kForward;
  });
}

// x[2,6,16] to four heads of queries and two of keys and values, as torch.onnx's dynamo exporter
// writes a grouped call: it turns keys with batch and heads in one axis.
TEST(FusedAttention, KeepsKeysThatGroupsShareOnce) {
  SmallModel model(18);
  model.Input("x", {2, 6, 16}).Weight("wq", {16, 16}).Weight("wk", {16, 8}).Weight("wv", {16, 8});
  model.Ints("heads", {2, 6, 4, 4}).Ints("shared", {2, 6, 2, 4}).Ints("axis", {2});
  model.Ints("groups", {2, 2, 2, 6, 4}).Ints("whole", {2, 4, 6, 4});
  model.Ints("rows", {8, 6, 4}).Ints("columns", {2, 4, 4, 6}).Floats("root", {0.7F});
  for (const std::string p : {"q", "k", "v"}) {
    model.Node("MatMul", {"x", "w" + p}, {p});
    model.Node("Reshape", {p, p == "q" ? "heads" : "shared"}, {p + "4"});
    SetOrder(model.AddNode("Transpose", {p + "4"}, {p + "t"}), {0, 2, 1, 3});
    if (p == "q") continue;
    model.Node("Unsqueeze", {p + "t", "axis"}, {p + "1"});
    model.Node("Expand", {p + "1", "groups"}, {p + "g"});
    model.Node("Reshape", {p + "g", p == "k" ? "rows" : "whole"}, {p + "h"});
  }
  SetOrder(model.AddNode("Transpose", {"kh"}, {"kr"}), {0, 2, 1});
  model.Node("Reshape", {"kr", "columns"}, {"kc"}).Node("Mul", {"kc", "root"}, {"ks"});
  model.Node("Mul", {"qt", "root"}, {"qs"}).Node("MatMul", {"qs", "ks"}, {"s"});
  model.Node("Softmax", {"s"}, {"p"}).Node("MatMul", {"p", "vh"}, {"y"}).Output("y");
  const InferredModel step = StepOf(model.Infer(), Fused());
  ASSERT_NE(Find(step, "FusedAttention"), nullptr);
  EXPECT_FALSE(RunsForward(step, "Expand"));
  // x, queries, keys and values of two heads, the result and a sum per row.
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * (192 + 192 + 96 + 96 + 192 + 48)));
}

// Heads come to lie side by side in what the kernel writes: nothing keeps the result twice.
TEST(FusedAttention, OfOneNodeWritesItsResultTransposed) {
  SmallModel model(23);
  model.Input("x", {2, 4, 6, 4}).Weight("w", {4, 4}).Weight("o", {16, 16});
  model.Ints("same", {2, 4, 6, 4}).Ints("joined", {2, 6, 16});
  model.Node("MatMul", {"x", "w"}, {"q"}).Node("Attention", {"q", "q", "q"}, {"a"});
  model.Node("Reshape", {"a", "same"}, {"b"});
  SetOrder(model.AddNode("Transpose", {"b"}, {"t"}), {0, 2, 1, 3});
  model.Node("Reshape", {"t", "joined"}, {"r"}).Node("MatMul", {"r", "o"}, {"y"}).Output("y");
  TrainOptions options = Fused();
  const InferredModel step = StepOf(model.Infer(), options);
  const CountedNode* fused = Find(step, "FusedAttention");
  ASSERT_NE(fused, nullptr);
  EXPECT_EQ(fused->name, "n_a");
  EXPECT_FALSE(RunsForward(step, "Transpose"));
  // x, q, the result and a sum per row.
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * (192 + 192 + 192 + 48)));
  // It is recomputed as a whole, by its name.
  options.recompute = "selective:n_a";
  const InferredModel again = StepOf(model.Infer(), options);
  EXPECT_EQ(again.step->saved_bytes, Bytes(4 * (192 + 192)));
}

TEST(FusedAttention, IsOneKernelBack) {
  const InferredModel step = StepOf(Spelled(false).Infer(), Fused());
  std::size_t kernels = 0;
  ForEachKernel(step, {.fusion = Fusion::kDefault}, [&](const Kernel& kernel) {
    const auto* nest = std::get_if<AttentionNest>(&kernel.nest);
    if (nest == nullptr || !nest->backward) return;
    ++kernels;
    EXPECT_EQ(kernel.label, "attention_backward");
    EXPECT_FALSE(nest->counts_scores);
    EXPECT_EQ(MacsOf(*nest), Count(2 * 4 * 36 * 16));
  });
  EXPECT_EQ(kernels, 1U);
}

// Single nodes make the scores again in any case: five products.
TEST(FusedAttention, CountsTheScoresOfASingleNodeAgain) {
  SmallModel model(23);
  model.Input("x", {2, 6, 16}).Weight("w", {16, 16}).Node("MatMul", {"x", "w"}, {"q"}).Output("y");
  onnx::NodeProto& attention = model.AddNode("Attention", {"q", "q", "q"}, {"y"});
  for (const char* heads : {"q_num_heads", "kv_num_heads"}) Set(attention, heads, 4);
  TrainOptions options = Fused();
  options.joins_attention = false;
  const InferredModel step = StepOf(model.Infer(), options);
  const CountedNode* back = Find(step, "FusedAttentionGrad");
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->cost.work.macs(), Macs(2 * 4 * 36 * 20));
}

}  // namespace
}  // namespace dlcost
