#include "estimator/training/recompute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "estimator/core/error.h"
#include "estimator/training/step.h"
#include "models/networks/networks.h"
#include "tests/training/small_step.h"

namespace dlcost {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Again(const InferredModel& step) {
  std::vector<std::string> names;
  for (const CountedNode& counted : step.nodes) {
    if (counted.node->phase == Phase::kRecompute) names.push_back(counted.name);
  }
  return names;
}

// Two modules of a product and a Relu each: a chain of x, h, r, i, s.
SmallModel TwoModules() {
  SmallModel model;
  model.Input("x", {4, 8}).Weight("a", {8, 16}).Weight("b", {16, 32});
  model.AddNode("MatMul", {"x", "a"}, {"h"}).set_name("/layers/0/MatMul");
  model.AddNode("Relu", {"h"}, {"r"}).set_name("/layers/0/Relu");
  model.AddNode("MatMul", {"r", "b"}, {"i"}).set_name("/layers/1/MatMul");
  model.AddNode("Relu", {"i"}, {"s"}).set_name("/layers/1/Relu");
  model.AddNode("MatMul", {"s", "c"}, {"y"}).set_name("/head/MatMul");
  model.Weight("c", {32, 2}).Output("y");
  return model;
}

TEST(Recompute, NothingOfItself) {
  const InferredModel step = StepOf(TwoModules().Infer(), {.optimizer = "sgd", .loss = "sum"});
  EXPECT_THAT(Again(step), ElementsAre());
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * 4 * (8 + 16 + 32)));
}

// A module's result is the input of what follows: it stays, and nothing else is saved here.
TEST(Recompute, ModulesFromTheirInputs) {
  SmallModel model;
  model.Input("x", {4, 8}).Weight("a", {8, 16}).Weight("b", {16, 32});
  model.AddNode("MatMul", {"x", "a"}, {"h"}).set_name("/layers/0/up/MatMul");
  model.AddNode("Tanh", {"h"}, {"r"}).set_name("/layers/0/Tanh");
  model.AddNode("MatMul", {"r", "b"}, {"y"}).set_name("/layers/0/down/MatMul");
  model.Output("y");
  const InferredModel step =
      StepOf(model.Infer(), {.optimizer = "sgd", .loss = "sum", .recompute = "scopes"});
  // r, for which h is needed; y is read by nobody.
  EXPECT_THAT(Again(step), ElementsAre("/layers/0/up/MatMul/again", "/layers/0/Tanh/again"));
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * 4 * 8));
  EXPECT_THAT(RepeatedModules(step.model->graph), ElementsAre("layers/0"));
}

TEST(Recompute, WhatAPatternNames) {
  const InferredModel step = StepOf(
      TwoModules().Infer(), {.optimizer = "sgd", .loss = "sum", .recompute = "selective:Relu"});
  EXPECT_THAT(Again(step), ElementsAre("/layers/1/Relu/again", "/layers/0/Relu/again"));
  // x, h and i: what the Relus read stays instead.
  EXPECT_EQ(step.step->saved_bytes, Bytes(4 * 4 * (8 + 16 + 32)));
  EXPECT_THROW(StepOf(TwoModules().Infer(), {.optimizer = "sgd", .recompute = "selective:Conv"}),
               Error);
}

// The whole chain once more from x, in two stretches or one.
TEST(Recompute, AllInStretches) {
  const InferredModel step =
      StepOf(TwoModules().Infer(), {.optimizer = "sgd", .loss = "sum", .recompute = "full"});
  EXPECT_LT(step.step->saved_bytes, Bytes(4 * 4 * (8 + 16 + 32)));
  for (const CountedNode& counted : step.nodes) {
    if (counted.node->phase != Phase::kRecompute) continue;
    EXPECT_NE(counted.status, NodeStatus::kMetadata) << counted.name;
  }
}

// A layer of BERT keeps its input, [batch, sequence, width] in float32.
TEST(Recompute, ALayerOfATransformerKeepsItsInput) {
  Model model = ReadModelFromBytes(
      BuildNetwork("bert-base",
                   {{"layers", "4"}, {"width", "64"}, {"heads", "2"}, {"inner", "256"}}),
      "bert");
  InferOptions options;
  options.bindings.batch = 2;
  options.bindings.dims["sequence"] = 16;
  const InferredModel forward = Infer(std::move(model), options);
  std::map<std::string, Bytes> saved;
  std::map<std::string, Macs> again;
  for (const char* what : {"none", "scopes:1", "scopes:2", "scopes"}) {
    const InferredModel step =
        InferStep(BuildStep(forward, {.optimizer = "sgd", .loss = "sum", .recompute = what}),
                  forward, options);
    saved[what] = step.step->saved_bytes;
    for (const CountedNode& counted : step.nodes) {
      if (counted.node->phase == Phase::kRecompute) again[what] += counted.cost.work.macs();
    }
  }
  const Bytes layer = saved["scopes:1"] - saved["scopes:2"];
  // The mask, [batch, sequence] in float32, is now read by the backward pass too.
  EXPECT_EQ(saved["none"] - saved["scopes"], Bytes(layer.count() * 4) - Bytes(4 * 2 * 16));
  // All of a layer: four projections, scores and their weighted sum, both halves of the
  // feed-forward network, whose result the last normalization reads.
  const std::int64_t tokens = 2 * 16;
  const std::int64_t macs = tokens * (4 * 64 * 64 + 2 * 16 * 64 + 2 * 64 * 256);
  EXPECT_EQ(again["scopes"], Macs(4 * macs));
}

// Korthikanti et al., "Reducing activation recomputation in large Transformer models", arXiv
// 2205.05198, section 4: a layer keeps s b h (34 + 5 a s / h) bytes in half precision, and 2 s b h
// where it is computed again. Beside that, mean and deviation of two normalizations, in
// float32.
TEST(Recompute, ALayerOfGptKeepsWhatIsPublished) {
  constexpr std::int64_t s = 32, b = 2, h = 64, a = 4;
  // Scores and their softmax with its dropout, from queries and keys.
  const std::string core =
      "selective:*/attn/MatMul,*/attn/Mul,*/attn/Add,*/attn/Softmax,*/attn/Dropout";
  std::map<std::string, std::int64_t> saved[2];
  for (const int layers : {1, 2}) {
    Model model = ReadModelFromBytes(BuildNetwork("gpt2", {{"layers", std::to_string(layers)},
                                                           {"width", std::to_string(h)},
                                                           {"heads", std::to_string(a)},
                                                           {"vocabulary", "128"},
                                                           {"dropout", "kept"}}),
                                     "gpt2");
    InferOptions options;
    options.bindings.batch = b;
    options.bindings.dims["sequence"] = s;
    const InferredModel forward = Infer(std::move(model), options);
    for (const std::string& what : {std::string("none"), std::string("scopes"), core}) {
      const InferredModel step = InferStep(
          BuildStep(forward,
                    {.optimizer = "adam", .loss = "sum", .precision = "fp16", .recompute = what}),
          forward, options);
      saved[layers - 1][what] = step.step->saved_bytes.value();
    }
  }
  const std::int64_t statistics = 2 * 2 * 4 * s * b;
  EXPECT_EQ(saved[1]["none"] - saved[0]["none"], s * b * h * 34 + 5 * a * s * s * b + statistics);
  EXPECT_EQ(saved[1]["scopes"] - saved[0]["scopes"], 2 * s * b * h);
  EXPECT_EQ(saved[1][core] - saved[0][core], s * b * h * 34 + statistics);
}

TEST(Recompute, RefusesWhatItDoesNotKnow) {
  for (const char* what : {"some", "selective", "selective:", "scopes:x", "full:2"}) {
    EXPECT_THROW(StepOf(TwoModules().Infer(), {.optimizer = "sgd", .recompute = what}), Error)
        << what;
  }
}

}  // namespace
}  // namespace dlcost
