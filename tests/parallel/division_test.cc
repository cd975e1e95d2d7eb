// Whole experts and parts of sequences on devices: the graphs of one device, exactly.
#include "estimator/parallel/division.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "estimator/core/error.h"
#include "estimator/onnx/reader.h"
#include "estimator/training/step.h"
#include "models/networks/config_file.h"
#include "models/networks/networks.h"
#include "tests/infer/small_model.h"
#include "tests/parallel/two_sequences.h"

namespace dlcost {
namespace {

constexpr std::int64_t kBatch = 2, kWidth = 256, kInner = 512, kLayers = 2;
constexpr std::int64_t kExperts = 4, kActive = 2;

InferredModel Mixtral(const InferOptions& options = TwoSequences()) {
  const std::string config =
      R"({"model_type": "mixtral", "hidden_size": 256, "intermediate_size": 512,
          "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 4,
          "vocab_size": 1024, "num_local_experts": 4, "num_experts_per_tok": 2})";
  return Infer(ReadModelFromBytes(BuildNetworkOfConfig(config), "mixtral"), options);
}

InferredModel Network(const std::string& name, const NetworkOptions& network = {}) {
  return Infer(ReadModelFromBytes(BuildNetwork(name, network), name), TwoSequences());
}

std::int64_t MacsOfPart(const InferredModel& model, const std::string& part = "") {
  Macs macs;
  for (const CountedNode& counted : model.nodes) {
    if (counted.name.find(part) != std::string::npos) macs += counted.cost.work.macs();
  }
  return macs.value();
}

using ExchangeCounts = std::map<std::string, int>;

ExchangeCounts ExchangesOf(const InferredModel& model, bool backward = false) {
  ExchangeCounts count;
  for (const CountedNode& counted : model.nodes) {
    if (counted.node->domain != "dlcost.parallel" || counted.status == NodeStatus::kView) continue;
    if ((counted.node->phase != Phase::kForward) == backward) ++count[counted.node->op];
  }
  return count;
}

InferredModel TrainedDivision(const InferredModel& forward) {
  const TrainOptions train = {.optimizer = "adamw",
                              .fuses_attention = [](DType, bool) { return true; },
                              .joins_attention = true};
  return InferStep(BuildStep(forward, train), forward, TwoSequences());
}

std::string DivisionError(const InferredModel& model, const Division& division) {
  try {
    Divide(model, division, TwoSequences());
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

// --- experts in training ---

constexpr std::int64_t kTokens = kBatch * kSequence;
// Gate, value and result of every token's experts.
constexpr std::int64_t kExpertMacs = kTokens * kActive * 3 * kWidth * kInner;

TEST(GroupedExperts, TrainWithTwoProductsForOne) {
  const InferredModel step = TrainedDivision(Mixtral());
  EXPECT_EQ(MacsOfPart(step, "/MoE"), 3 * kLayers * kExpertMacs);
  for (const CountedNode& counted : step.nodes) {
    EXPECT_NE(counted.node->op, "Gradient") << counted.name;
    EXPECT_NE(counted.node->op, "MoE") << counted.name;
  }
  EXPECT_EQ(step.step->trained, Mixtral().parameters - Count(kWidth / 8 / 2));  // frequencies
}

// 2 * 127 tokens for 2 of 4 experts are 127 for each; 126 for 2 of 8 would be 31.5.
TEST(GroupedExperts, SayWhatUnevenTokensCost) {
  InferOptions odd = TwoSequences();
  odd.bindings.batch = 1;
  odd.bindings.dims["sequence"] = 127;
  const InferredModel model = Mixtral(odd);
  const Step step = BuildStep(model, {.optimizer = "sgd"});
  EXPECT_THAT(step.notes,
              testing::Contains(testing::HasSubstr(
                  "254 tokens for 4 experts: each gets 64, 0.8 % more than its share")));
}

// --- whole experts ---

TEST(ExpertParallel, ExchangesTokensTwiceForwardAndTwiceBackward) {
  const InferredModel whole = Mixtral();
  const DividedModel divided = Divide(whole, {.experts = {.devices = 4}}, TwoSequences());
  EXPECT_EQ(ExchangesOf(divided.model), (ExchangeCounts{{"AllToAll", 2 * kLayers}}));
  EXPECT_EQ(MacsOfPart(divided.model), MacsOfPart(whole));
  EXPECT_EQ(divided.experts.size(), static_cast<std::size_t>(2 * kLayers));
  // One expert of four.
  EXPECT_EQ(whole.parameters.value() - divided.model.parameters.value(),
            kLayers * (kExperts - 1) * 3 * kWidth * kInner);
  const InferredModel step = TrainedDivision(divided.model);
  EXPECT_EQ(ExchangesOf(step, true), (ExchangeCounts{{"AllToAll", 2 * kLayers}}));
  EXPECT_EQ(MacsOfPart(step), MacsOfPart(TrainedDivision(whole)));
  // All rows of a device leave it: each token's two.
  for (const CountedNode& counted : step.nodes) {
    if (counted.node->op != "AllToAll") continue;
    const auto id = static_cast<std::size_t>(counted.node->inputs[0]);
    EXPECT_EQ(counted.graph->tensors[id].type.shape->Elements(), Count(kTokens * kActive * kWidth));
  }
}

TEST(ExpertParallel, WaitsForTheBusiest) {
  const InferredModel whole = Mixtral();
  const DividedModel even = Divide(whole, {.experts = {.devices = 2}}, TwoSequences());
  const DividedModel busy =
      Divide(whole, {.experts = {.devices = 2, .load = 1.25}}, TwoSequences());
  EXPECT_EQ(MacsOfPart(busy.model) - MacsOfPart(even.model), kLayers * kExpertMacs / 4);
}

TEST(ExpertParallel, GoesWithSplitOperators) {
  const InferredModel whole = Mixtral();
  const Division both = {.tensor = {.devices = 2}, .experts = {.devices = 4, .stride = 2}};
  const DividedModel divided = Divide(whole, both, TwoSequences());
  EXPECT_EQ(MacsOfPart(divided.model, "/MoE") * 2, MacsOfPart(whole, "/MoE"));
  EXPECT_EQ(ExchangesOf(divided.model),
            (ExchangeCounts{
                {"AllReduce", 2 * kLayers + 1}, {"AllGather", 1}, {"AllToAll", 2 * kLayers}}));
}

// Biases are split as what they are added to; the last one's axis is the tokens' width, and whole.
TEST(ExpertParallel, SplitsBiasedExperts) {
  const std::string config =
      R"({"model_type": "gpt_oss", "hidden_size": 256, "intermediate_size": 512, "head_dim": 32,
          "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 4,
          "vocab_size": 1024, "num_local_experts": 4, "num_experts_per_tok": 2})";
  const InferredModel whole =
      Infer(ReadModelFromBytes(BuildNetworkOfConfig(config), "gpt_oss"), TwoSequences());
  const InferredModel split = Divide(whole, {.tensor = {.devices = 2}}, TwoSequences()).model;
  EXPECT_EQ(MacsOfPart(split, "/MoE") * 2, MacsOfPart(whole, "/MoE"));
  for (const Tensor& tensor : split.model->graph.tensors) {
    if (tensor.name.ends_with("gate_up_proj_bias")) {
      EXPECT_EQ(*tensor.type.shape, Shape({4, 512}));
    }
    if (tensor.name.ends_with("down_proj_bias")) {
      EXPECT_EQ(*tensor.type.shape, Shape({4, 256}));
    }
  }
  const Division both = {.tensor = {.devices = 2}, .experts = {.devices = 4, .stride = 2}};
  EXPECT_EQ(ExchangesOf(Divide(whole, both, TwoSequences()).model),
            (ExchangeCounts{
                {"AllReduce", 2 * kLayers + 1}, {"AllGather", 1}, {"AllToAll", 2 * kLayers}}));
}

// With sp, what splits operators shares out experts too: each device sends the rows of its part of
// the sequence, and has whole experts.
TEST(ExpertParallel, FoldsDevicesThatSplitOperators) {
  const HybridPlan plan = ParsePlan("dp=2,tp=2,sp=1,ep=4");
  EXPECT_EQ(plan.sharers(), 4);
  const Division division = DivisionOf(plan, true);
  EXPECT_EQ(division.experts.stride, 1);
  const InferredModel whole = Mixtral();
  const InferredModel rank = Divide(whole, division, TwoSequences()).model;
  EXPECT_EQ(MacsOfPart(rank) * 2, MacsOfPart(whole));  // routes too
  EXPECT_GT(whole.parameters.value() - rank.parameters.value(),
            kLayers * (kExperts - 1) * 3 * kWidth * kInner);
  const InferredModel step = TrainedDivision(rank);
  int rows = 0;
  for (const CountedNode& counted : step.nodes) {
    if (counted.node->op != "AllToAll") continue;
    const auto id = static_cast<std::size_t>(counted.node->inputs[0]);
    EXPECT_EQ(counted.graph->tensors[id].type.shape->Elements(),
              Count(kTokens / 2 * kActive * kWidth));
    ++rows;
  }
  EXPECT_EQ(rows, 4 * kLayers);
  // No sums over both of what the other replicas add up.
  for (const CountedNode& counted : step.nodes) {
    const bool experts = counted.name.find("/MoE") != std::string::npos;
    EXPECT_FALSE(experts && counted.node->op == "AllReduce") << counted.name;
  }
  const DeviceGroup replicas =
      ExpertReplicas({.devices = 4, .stride = 2, .experts = 4, .folds = true});
  EXPECT_EQ(replicas.size, 2);
  EXPECT_EQ(replicas.stride, 4);
}

TEST(ExpertParallel, SaysWhatWouldDo) {
  EXPECT_THAT(DivisionError(Mixtral(), {.experts = {.devices = 3}}),
              testing::HasSubstr("the 4 experts of /layers/0/mlp/experts/MoE do not divide among "
                                 "so many devices; ep=2, ep=4 would do"));
  EXPECT_THAT(DivisionError(Network("bert-base"), {.experts = {.devices = 2}}),
              testing::HasSubstr("has no experts"));
}

// 16 tokens for 2 of 4 experts of 4 bits: 8 rows for each, 16 on a device of two with two experts.
TEST(ExpertParallel, SharesOutQuantizedExperts) {
  SmallModel model;
  model.Input("x", {16, 8}).Input("routes", {16, 4});
  model.Weight("up", {4, 16, 4}, onnx::TensorProto::UINT8).Weight("up_scale", {4, 16});
  model.Weight("down", {4, 8, 8}, onnx::TensorProto::UINT8).Weight("down_scale", {4, 8});
  auto& experts = model.AddNodeOf(
      "com.microsoft", "QMoE", {"x", "routes", "up", "up_scale", "", "down", "down_scale"}, {"y"});
  SetInt(experts, "k", 2);
  SetInt(experts, "expert_weight_bits", 4);
  model.Output("y");
  const InferredModel whole = model.Infer();
  const DividedModel rank = Divide(whole, {.experts = {.devices = 2}}, {});
  EXPECT_EQ(MacsOfPart(whole), 16 * 2 * 2 * 8 * 16);
  EXPECT_EQ(MacsOfPart(rank.model), MacsOfPart(whole));
  EXPECT_EQ(ExchangesOf(rank.model), (ExchangeCounts{{"AllToAll", 2}}));
  EXPECT_EQ(rank.experts, (std::set<std::string>{"up", "up_scale", "down", "down_scale"}));
  EXPECT_EQ(rank.model.weight_bytes * 2, whole.weight_bytes);
}

TEST(ExpertParallel, SaysWhatStandsInForExperts) {
  const auto routed = [] {
    SmallModel model;
    model.Input("x", {16, 8}).Input("routes", {16, 4}).Ints("two", {2});
    model.Node("TopK", {"routes", "two"}, {"shares", "chosen"});
    return model;
  };
  SmallModel batched = routed();
  batched.Weight("w", {4, 8, 8}).Node("MatMul", {"x", "w"}, {"y"}).Output("y");
  EXPECT_THAT(DivisionError(batched.Infer(), {.experts = {.devices = 2}}),
              testing::HasSubstr("n_y puts every token through all of 4 experts, in one product"));
  SmallModel loop = routed();
  for (const char* expert : {"e0", "e1", "e2", "e3"}) loop.Node("NonZero", {"chosen"}, {expert});
  loop.Output("e3");
  EXPECT_THAT(DivisionError(loop.Infer(), {.experts = {.devices = 2}}),
              testing::HasSubstr("n_e0 and others like it choose the tokens of one expert of 4"));
}

// --- parts of sequences ---

TEST(ContextParallel, GathersKeysAndValues) {
  const InferredModel whole = Network("llama3-8b", {{"layers", "3"}});
  for (const int devices : {2, 4}) {
    const DividedModel divided =
        Divide(whole, {.context = {.devices = devices, .trains = true}}, TwoSequences());
    EXPECT_EQ(MacsOfPart(divided.model) * devices, MacsOfPart(whole)) << devices;
    EXPECT_EQ(ExchangesOf(divided.model), (ExchangeCounts{{"AllGather", 2 * 3}}));
    EXPECT_EQ(divided.model.parameters, whole.parameters);
    const InferredModel step = TrainedDivision(divided.model);
    EXPECT_EQ(ExchangesOf(step, true), (ExchangeCounts{{"ReduceScatter", 2 * 3}}));
    EXPECT_EQ(MacsOfPart(step) * devices, MacsOfPart(TrainedDivision(whole))) << devices;
  }
}

// A piece of the begin and one of the end: what all devices look at is what one alone looks at.
TEST(ContextParallel, LooksAtHalfOfTheKeysUnderACausalMask) {
  const auto seen = [](const InferredModel& model) {
    Macs macs;
    for (const CountedNode& counted : model.nodes) {
      if (counted.node->op != "Attention" && counted.node->op != "FusedAttentionGrad") continue;
      macs += counted.cost.valid_macs;
    }
    return macs.value();
  };
  const InferredModel whole = Network("llama3-8b", {{"layers", "1"}});
  const Division four = {.context = {.devices = 4, .trains = true}};
  const InferredModel rank = Divide(whole, four, TwoSequences()).model;
  EXPECT_EQ(seen(rank) * 4, seen(whole));
  EXPECT_LT(seen(whole), MacsOfPart(whole, "/Attention"));
  EXPECT_EQ(seen(TrainedDivision(rank)) * 4, seen(TrainedDivision(whole)));
}

TEST(ContextParallel, SplitsAttentionInSeveralNodes) {
  for (const char* name : {"bert-base", "gpt2"}) {
    const InferredModel whole = Network(name, {{"layers", "2"}});
    const InferredModel rank = Divide(whole, {.context = {.devices = 2}}, TwoSequences()).model;
    const std::int64_t pooler = MacsOfPart(whole, "/pooler");  // of the first token
    EXPECT_EQ((MacsOfPart(rank) - pooler) * 2, MacsOfPart(whole) - pooler) << name;
  }
}

// Queries, keys and values in one tensor are taken apart: keys and values alone are gathered.
TEST(ContextParallel, TakesPackedAttentionApart) {
  SmallModel grouped;
  grouped.Input("x", {2, 128, 256}).Weight("w", {256, 512}).Ints("seen", {127, 127});
  grouped.Ints("total", {128}).Node("MatMul", {"x", "w"}, {"qkv"});
  auto& shared = grouped.AddNodeOf("com.microsoft", "GroupQueryAttention",
                                   {"qkv", "", "", "", "", "seen", "total"}, {"y"});
  SetInt(shared, "num_heads", 4);
  SetInt(shared, "kv_num_heads", 2);
  grouped.Output("y");
  SmallModel together;
  together.Input("x", {2, 128, 256}).Weight("w", {256, 768}).Ints("apart", {0, 0, 4, 3, 64});
  together.Node("MatMul", {"x", "w"}, {"flat"}).Node("Reshape", {"flat", "apart"}, {"qkv"});
  SetInt(together.AddNodeOf("com.microsoft", "MultiHeadAttention", {"qkv"}, {"y"}), "num_heads", 4);
  together.Output("y");
  for (const SmallModel* model : {&grouped, &together}) {
    const InferredModel whole = model->Infer();
    const DividedModel rank = Divide(whole, {.context = {.devices = 2}}, {});
    EXPECT_EQ(MacsOfPart(rank.model) * 2, MacsOfPart(whole));
    EXPECT_EQ(ExchangesOf(rank.model), (ExchangeCounts{{"AllGather", 2}}));
    for (const CountedNode& counted : rank.model.nodes) {
      if (counted.node->op != "AllGather") continue;
      const auto id = static_cast<std::size_t>(counted.node->outputs[0]);
      // Two heads of 64 of the first, four of the second.
      const std::int64_t width = model == &grouped ? 128 : 256;
      EXPECT_EQ(*counted.graph->tensors[id].type.shape, (Shape{2, 128, width}));
    }
  }
}

// A number per head beside the scores of each query, dropped behind the softmax.
TEST(ContextParallel, SplitsAttentionWithSinks) {
  SmallModel model;
  model.Input("x", {2, 4, 128, 64});
  SetInts(model.AddNode("Transpose", {"x"}, {"k"}), "perm", {0, 1, 3, 2});
  model.Weight("sink", {1, 4, 1, 1}).Ints("all", {2, 4, 128, 1});
  model.Ints("first", {0}).Ints("last", {-1}).Ints("axis", {3});
  model.Node("MatMul", {"x", "k"}, {"scores"}).Node("Expand", {"sink", "all"}, {"sinks"});
  SetInt(model.AddNode("Concat", {"scores", "sinks"}, {"both"}), "axis", 3);
  model.Node("Softmax", {"both"}, {"shares"});
  model.Node("Slice", {"shares", "first", "last", "axis"}, {"kept"});
  model.Node("MatMul", {"kept", "x"}, {"y"}).Output("y");
  const InferredModel whole = model.Infer();
  const InferredModel rank = Divide(whole, {.context = {.devices = 2}}, {}).model;
  EXPECT_EQ(MacsOfPart(whole), 2 * 2 * 4 * 128 * 128 * 64);
  EXPECT_EQ(MacsOfPart(rank) * 2, MacsOfPart(whole));
  EXPECT_EQ(ExchangesOf(rank), (ExchangeCounts{{"AllGather", 2}}));
}

TEST(ContextParallel, NamesAttentionThatItDoesNotSplit) {
  SmallModel model;
  model.Input("x", {2, 128, 256}).Weight("w", {256, 768}).Weight("b", {768});
  SetInt(model.AddNodeOf("com.microsoft", "Attention", {"x", "w", "b"}, {"y"}), "num_heads", 4);
  model.Output("y");
  EXPECT_THAT(DivisionError(model.Infer(), {.context = {.devices = 2}}),
              testing::HasSubstr("n_y makes queries, keys and values itself"));
}

TEST(ContextParallel, GoesWithSplitOperatorsAndExperts) {
  const InferredModel whole = Mixtral();
  const Division all = {.tensor = {.devices = 2, .trains = true},
                        .context = {.devices = 2, .stride = 2, .trains = true},
                        .experts = {.devices = 4, .stride = 2}};
  const InferredModel rank = Divide(whole, all, TwoSequences()).model;
  // Routes are computed by both devices that split operators.
  const std::int64_t routes = kLayers * kTokens * kWidth * kExperts;
  EXPECT_EQ(MacsOfPart(rank) * 4, MacsOfPart(whole) + routes);
  EXPECT_EQ(ExchangesOf(rank), (ExchangeCounts{{"AllReduce", 2 * kLayers + 1},
                                               {"AllGather", 2 * kLayers},
                                               {"AllToAll", 2 * kLayers}}));
}

TEST(ContextParallel, SaysWhatWouldDo) {
  EXPECT_THAT(DivisionError(Network("llama3-8b", {{"layers", "1"}}), {.context = {.devices = 3}}),
              testing::HasSubstr("cp=3: a sequence of 128 does not divide into 6 pieces (two for "
                                 "each device, of its begin and its end); 132 would"));
  InferOptions picture;
  const InferredModel mobilenet =
      Infer(ReadModelFromBytes(BuildNetwork("mobilenet-v2", {}), "mobilenet"), picture);
  EXPECT_THAT(DivisionError(mobilenet, {.context = {.devices = 2}}),
              testing::HasSubstr("no attention"));
}

// --- plans ---

TEST(Division, PutsNeighboursWhereTheyExchangeMost) {
  const HybridPlan plan = ParsePlan("dp=4,tp=2,cp=2,ep=4,zero=1");
  EXPECT_EQ(plan.devices(), 16);
  EXPECT_EQ(ToString(plan), "dp=4,tp=2,cp=2,ep=4,pp=1,zero=1");
  const Division division = DivisionOf(plan, true);
  EXPECT_EQ(division.context.stride, 2);
  EXPECT_EQ(division.experts.stride, 2);
  const DeviceGroup replicas = ExpertReplicas({.devices = 8, .stride = 2, .experts = 4});
  EXPECT_EQ(replicas.size, 2);
  EXPECT_EQ(replicas.stride, 8);
}

}  // namespace
}  // namespace dlcost
