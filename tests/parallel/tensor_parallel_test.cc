// Operators split among devices: Megatron's exchanges found in the graphs of BERT, GPT-2 and Llama,
// and counts of one device.
#include "estimator/parallel/tensor_parallel.h"

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

InferredModel Whole(const std::string& name, const NetworkOptions& network = {}) {
  InferOptions options = TwoSequences();
  if (name == "mobilenet-v2") options.bindings.dims.clear();
  return Infer(ReadModelFromBytes(BuildNetwork(name, network), name), options);
}

std::int64_t MacsOfNode(const InferredModel& model, const std::string& name) {
  for (const CountedNode& counted : model.nodes) {
    if (counted.name == name) return counted.cost.work.macs().value();
  }
  return 0;
}

// Exchanges by operator; gradients of parameters apart.
std::map<std::string, int> Exchanges(const InferredModel& model, bool backward = false) {
  std::map<std::string, int> count;
  for (const CountedNode& counted : model.nodes) {
    if (counted.node->domain != "dlcost.parallel" || counted.status == NodeStatus::kView) continue;
    if (counted.node->FindAttribute("parameter") != nullptr) continue;
    if ((counted.node->phase != Phase::kForward) == backward) ++count[counted.node->op];
  }
  return count;
}

InferredModel Trained(const InferredModel& whole, TensorParallel plan, bool regathers = false) {
  plan.trains = true;
  const InferredModel rank = InferRank(whole, plan, TwoSequences());
  return InferStep(BuildStep(rank, {.optimizer = "adamw", .regathers = regathers}), rank,
                   TwoSequences());
}

using Count = std::map<std::string, int>;

TEST(TensorParallel, LlamaDividesExactly) {
  const InferredModel whole = Whole("llama3-8b", {{"layers", "2"}});
  for (const int devices : {2, 4, 8}) {
    const InferredModel rank = InferRank(whole, {.devices = devices}, TwoSequences());
    EXPECT_EQ(MacsOf(rank).value() * devices, MacsOf(whole).value()) << devices;
    // Two for each layer and one for the embedding; the scores of the vocabulary are gathered.
    EXPECT_EQ(Exchanges(rank), (Count{{"AllReduce", 5}, {"AllGather", 1}})) << devices;
    // All but the weights of five normalizations, of 4096 each, and the 64 rotary frequencies.
    const std::int64_t alike = 5 * 4096 + 64;
    EXPECT_EQ((rank.parameters.value() - alike) * devices, whole.parameters.value() - alike);
  }
}

// A step over a cache leaves each device the keys and values of its heads, as it finds them.
TEST(TensorParallel, KeepsItsPartOfACache) {
  InferOptions options;
  options.bindings = {.dims = {{"past", 127}}, .batch = 4};
  for (const std::string name : {"llama3-8b", "gpt2"}) {
    const InferredModel whole =
        Infer(ReadModelFromBytes(BuildNetwork(name, {{"layers", "2"}, {"phase", "decode"}}), name),
              options);
    const InferredModel rank = InferRank(whole, {.devices = 4}, options);
    const bool vocabulary = name == "llama3-8b";  // 50,257 words of GPT-2 do not divide
    Count exchanges = {{"AllReduce", vocabulary ? 5 : 4}};
    if (vocabulary) exchanges["AllGather"] = 1;
    EXPECT_EQ(Exchanges(rank), exchanges) << name;
    int caches = 0;
    for (const TensorId id : rank.model->graph.outputs) {
      const Tensor& tensor = rank.model->graph.tensors[static_cast<std::size_t>(id)];
      if (!tensor.name.starts_with("present")) continue;
      ++caches;
      const Shape heads = vocabulary ? Shape({4, 2, 128, 128}) : Shape({4, 3, 128, 64});
      EXPECT_EQ(*tensor.type.shape, heads) << tensor.name;
    }
    EXPECT_EQ(caches, 4) << name;
  }
}

// Two convolutions, the first split by its filters, with a resizing between them whose scales are
// known on each device.
TEST(TensorParallel, LeavesTheScalesOfAResizingKnown) {
  SmallModel model;
  model.Input("x", {2, 16, 8, 8}).Weight("a", {32, 16, 3, 3}).Weight("b", {16, 32, 3, 3});
  model.Floats("scales", {1, 1, 2, 2}).Node("Conv", {"x", "a"}, {"c"});
  model.Node("Resize", {"c", "", "scales"}, {"r"}).Node("Conv", {"r", "b"}, {"y"}).Output("y");
  const InferredModel whole = model.Infer();
  const InferredModel rank = InferRank(whole, {.devices = 2, .trains = true}, {});
  for (const CountedNode& counted : rank.nodes) {
    EXPECT_NE(counted.status, NodeStatus::kUnknown) << counted.name << ": " << counted.why;
  }
  EXPECT_EQ(MacsOf(rank).value() * 2, MacsOf(whole).value());
}

// Each device has half of each expert's inner numbers; the routes, 256 tokens of 256 numbers to 4
// experts in each of two layers, are computed by both.
TEST(TensorParallel, SharesOutEveryExpert) {
  const std::string config =
      R"({"model_type": "mixtral", "hidden_size": 256, "intermediate_size": 512,
          "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 4,
          "vocab_size": 1024, "num_local_experts": 4, "num_experts_per_tok": 2})";
  const InferredModel whole =
      Infer(ReadModelFromBytes(BuildNetworkOfConfig(config), "mixtral"), TwoSequences());
  const InferredModel rank = InferRank(whole, {.devices = 2}, TwoSequences());
  const std::int64_t routes = std::int64_t{2} * 256 * 256 * 4;
  EXPECT_EQ(MacsOf(rank).value() * 2, MacsOf(whole).value() + routes);
  EXPECT_EQ(Exchanges(rank), (Count{{"AllReduce", 5}, {"AllGather", 1}}));
}

TEST(TensorParallel, BertLeavesThePooler) {
  const InferredModel whole = Whole("bert-base");
  const InferredModel rank = InferRank(whole, {.devices = 2}, TwoSequences());
  const std::int64_t pooler = std::int64_t{2} * 768 * 768;
  EXPECT_EQ(MacsOfNode(rank, "/pooler/dense/Gemm"), pooler);
  EXPECT_EQ((MacsOf(rank).value() - pooler) * 2, MacsOf(whole).value() - pooler);
  EXPECT_EQ(Exchanges(rank), (Count{{"AllReduce", 2 * 12 + 1}}));
  EXPECT_THAT(
      rank.notes,
      testing::Contains(testing::HasSubstr("1179648 MACs are computed by every device alike")));
}

// One product makes queries, keys and values: each device has its heads of all three.
TEST(TensorParallel, Gpt2SplitsOneProductIntoThree) {
  const InferredModel whole = Whole("gpt2", {{"layers", "1"}, {"vocabulary", "50304"}});
  const InferredModel rank = InferRank(whole, {.devices = 4}, TwoSequences());
  EXPECT_EQ(MacsOf(rank).value() * 4, MacsOf(whole).value());
  EXPECT_EQ(MacsOfNode(rank, "/h/0/attn/c_attn/MatMul"), 2 * kSequence * 768 * 2304 / 4);
  // 50,257 tokens divide among no devices: the table stays whole.
  const InferredModel odd = Whole("gpt2", {{"layers", "1"}});
  const InferredModel rest = InferRank(odd, {.devices = 4}, TwoSequences());
  EXPECT_EQ(MacsOfNode(rest, "/lm_head/Gemm"), 2 * kSequence * 768 * 50257);
  EXPECT_THAT(rest.notes, testing::Contains(testing::HasSubstr("padded to 50260")));
}

TEST(TensorParallel, TrainsWithTwoExchangesForwardAndTwoBackInALayer) {
  const InferredModel whole = Whole("llama3-8b", {{"layers", "3"}});
  const InferredModel step = Trained(whole, {.devices = 4});
  EXPECT_EQ(Exchanges(step), (Count{{"AllReduce", 2 * 3 + 1}}));
  // One more for what goes into the vocabulary's product.
  EXPECT_EQ(Exchanges(step, true), (Count{{"AllReduce", 2 * 3 + 1}}));
  const InferredModel alone =
      InferStep(BuildStep(whole, {.optimizer = "adamw"}), whole, TwoSequences());
  EXPECT_EQ(MacsOf(step).value() * 4, MacsOf(alone).value());
}

TEST(TensorParallel, SequenceParallelGathersAndScatters) {
  const InferredModel whole = Whole("llama3-8b", {{"layers", "3"}});
  const InferredModel step = Trained(whole, {.devices = 4, .sequence = true});
  EXPECT_EQ(Exchanges(step), (Count{{"AllGather", 2 * 3 + 1}, {"ReduceScatter", 2 * 3 + 1}}));
  EXPECT_EQ(Exchanges(step, true), (Count{{"AllGather", 2 * 3 + 1}, {"ReduceScatter", 2 * 3 + 1}}));
  // Normalizations work on a quarter of the sequence.
  for (const CountedNode& counted : step.nodes) {
    if (counted.node->op != "RMSNormalization") continue;
    const Tensor& x = counted.graph->tensors[static_cast<std::size_t>(counted.node->inputs[0])];
    EXPECT_EQ(*x.type.shape, (Shape{2, kSequence / 4, 4096})) << counted.name;
  }
  // Their weights' gradients are parts of sums.
  int parameters = 0;
  for (const CountedNode& counted : step.nodes) {
    const bool reduces = counted.node->op == "AllReduce";
    parameters += reduces && counted.node->FindAttribute("parameter") != nullptr ? 1 : 0;
  }
  EXPECT_EQ(parameters, 2 * 3 + 1);
}

// Korthikanti et al., arXiv 2205.05198, section 4.2.2: a device keeps its part, and gathers once
// more.
TEST(TensorParallel, GathersAgainInsteadOfKeeping) {
  const InferredModel whole = Whole("llama3-8b", {{"layers", "3"}});
  const TensorParallel plan = {.devices = 4, .sequence = true};
  const InferredModel keeps = Trained(whole, plan), again = Trained(whole, plan, true);
  constexpr int kGathers = 2 * 3 + 1;
  EXPECT_EQ(Exchanges(again, true),
            (Count{{"AllGather", 2 * kGathers}, {"ReduceScatter", kGathers}}));
  // The other three quarters of each, in bfloat16.
  EXPECT_EQ(keeps.step->saved_bytes - again.step->saved_bytes,
            Bytes(std::int64_t{kGathers} * 2 * kSequence * 4096 * 2 / 4 * 3));
  EXPECT_EQ(MacsOf(again), MacsOf(keeps));
}

TEST(TensorParallel, SplitsChannelsOfConvolutions) {
  const InferredModel whole = Whole("mobilenet-v2");
  const InferredModel rank = InferRank(whole, {.devices = 2}, TwoSequences());
  EXPECT_EQ(MacsOf(rank).value() * 2, MacsOf(whole).value());
}

TEST(TensorParallel, SaysWhatWouldDo) {
  const auto fails = [](const std::string& network, TensorParallel plan, const std::string& says) {
    try {
      InferRank(Whole(network), plan, TwoSequences());
      ADD_FAILURE() << network;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(says));
    }
  };
  fails("bert-base", {.devices = 8},
        "along an axis of 12 (heads, groups or columns), which does not divide by 8; tp=2, tp=3, "
        "tp=4, tp=6, tp=12 would do");
  fails("llama3-8b", {.devices = 16}, "along an axis of 8 (heads, groups or columns), fewer than");
  fails("bert-base", {.devices = 3, .sequence = true}, "a sequence of 128 does not divide among");
}

}  // namespace
}  // namespace dlcost
