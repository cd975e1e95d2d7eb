// What the reference networks cost, against published totals and formulas.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"
#include "models/networks/networks.h"
#include "tests/networks/configs.h"

namespace dlcost {
namespace {

InferredModel InferNetwork(const std::string& name,
                           const std::map<std::string, std::int64_t>& dims = {},
                           const NetworkOptions& options = {}) {
  InferOptions infer;
  infer.bindings.dims = dims;
  return Infer(ReadModelFromBytes(BuildNetwork(name, options), name), infer);
}

std::map<std::string, std::int64_t> DimsOf(const std::string& name) {
  for (const char* both : {"transformer", "t5"}) {
    if (name.starts_with(both)) return {{"source", 16}, {"target", 12}};
  }
  for (const char* language : {"lstm", "bert", "gpt2", "llama"}) {
    if (name.starts_with(language)) return {{"sequence", 16}};
  }
  return {};
}

TEST(NetworkCounts, EveryNodeIsKnown) {
  for (const NetworkInfo& network : Networks()) {
    const InferredModel model = InferNetwork(network.name, DimsOf(network.name));
    for (const CountedNode& node : model.nodes) {
      EXPECT_TRUE(node.status == NodeStatus::kCounted || node.status == NodeStatus::kView ||
                  node.status == NodeStatus::kMetadata)
          << network.name << ": " << node.name << " is " << Name(node.status);
    }
  }
}

// torchvision's and the papers' totals, to the last digit where they are published so.
TEST(NetworkCounts, VisionNetworksHaveTheirPublishedMacs) {
  const std::map<std::string, std::int64_t> expected = {
      {"resnet18", 1'814'073'344},
      {"resnet34", 3'663'761'408},
      {"resnet50", 4'089'184'256},
      {"resnet101", 7'801'405'440},
      {"resnet152", 11'513'626'624},
      {"vgg16", 15'470'264'320},
      {"vgg19", 19'632'062'464},
      {"mobilenet-v2", 300'774'272},
      // By PyTorch's hooks on torchvision's modules, and on those with squeezes added.
      {"resnext50-32x4d", 4'230'479'872},
      {"resnext101-32x4d", 7'969'996'800},
      {"se-resnext101-32x4d", 7'974'739'968},
  };
  for (const auto& [name, macs] : expected) EXPECT_EQ(MacsOf(InferNetwork(name)), macs) << name;
}

TEST(NetworkCounts, BatchScalesMacs) {
  EXPECT_EQ(MacsOf(InferNetwork("resnet50", {{"batch", 32}})), 32 * 4'089'184'256);
}

// Twice the MACs of each layer, as a profile of the network lists them.
TEST(NetworkCounts, AlexNetLayerByLayer) {
  const InferredModel model = InferNetwork("alexnet");
  const std::map<std::string, std::int64_t> flops = {
      {"/conv1/Conv", 140'553'600}, {"/conv2/Conv", 447'897'600}, {"/conv3/Conv", 224'280'576},
      {"/conv4/Conv", 299'040'768}, {"/conv5/Conv", 199'360'512}, {"/fc6/Gemm", 75'497'472},
      {"/fc7/Gemm", 33'554'432},    {"/fc8/Gemm", 8'192'000},
  };
  for (const auto& [name, expected] : flops) EXPECT_EQ(2 * MacsOf(model, name), expected) << name;
}

// One LSTM cell of equal input and hidden size h: 8 products of h x h, that is 8 h^2 MACs per step
// and sample, whatever its bias and elementwise work.
TEST(NetworkCounts, LstmCells) {
  const std::int64_t h = 1024, steps = 32, batch = 128, vocabulary = 10'000;
  for (const std::int64_t layers : {1, 2, 4}) {
    const InferredModel model = InferNetwork("lstm", {{"sequence", steps}, {"batch", batch}},
                                             {{"layers", std::to_string(layers)}});
    EXPECT_EQ(MacsOf(model, "/LSTM"), steps * batch * layers * 8 * h * h);
    EXPECT_EQ(MacsOf(model, "/decoder/"), steps * batch * h * vocabulary);
  }
}

// Per layer and sequence of length L: 12 L d^2 + 2 L^2 d MACs (projections 4, feed-forward 8;
// scores and values).
std::int64_t EncoderLayer(std::int64_t length, std::int64_t d) {
  return 12 * length * d * d + 2 * length * length * d;
}

TEST(NetworkCounts, TransformerEncoderLayer) {
  const InferredModel model = InferNetwork("transformer-base", {{"source", 30}, {"target", 25}});
  EXPECT_EQ(MacsOf(model, "/encoder/0/"), EncoderLayer(30, 512));
  EXPECT_EQ(MacsOf(model, "/encoder/"), 6 * EncoderLayer(30, 512));
  // A decoder layer attends twice, the second time to the 30 encoded positions.
  const std::int64_t d = 512, t = 25, s = 30;
  EXPECT_EQ(MacsOf(model, "/decoder/0/"),
            12 * t * d * d + 2 * t * t * d + 2 * t * d * d + 2 * s * d * d + 2 * t * s * d);
  EXPECT_EQ(MacsOf(model, "/projection/"), t * d * 37'000);
}

TEST(NetworkCounts, Bert) {
  const std::int64_t length = 128, d = 768;
  EXPECT_EQ(MacsOf(InferNetwork("bert-base", {{"sequence", length}})),
            12 * EncoderLayer(length, d) + d * d);
  EXPECT_EQ(MacsOf(InferNetwork("bert-large", {{"sequence", length}})),
            24 * EncoderLayer(length, 1024) + 1024 * 1024);
}

// The head of pre-training, of 20 positions or all: a transformation and the words, which share the
// embedding's table; and two classes for the pair of segments.
TEST(NetworkCounts, BertPretraining) {
  const std::int64_t length = 128, d = 768, words = 30'522;
  const std::int64_t encoder = 12 * EncoderLayer(length, d) + d * d;
  const auto head = [&](std::int64_t positions) { return positions * (d * d + d * words) + 2 * d; };
  EXPECT_EQ(MacsOf(InferNetwork("bert-base", {{"sequence", length}, {"predictions", 20}},
                                {{"head", "pretraining"}})),
            encoder + head(20));
  const InferredModel all =
      InferNetwork("bert-base", {{"sequence", length}}, {{"head", "pretraining-all"}});
  EXPECT_EQ(MacsOf(all), encoder + head(length));
  // BertForPreTraining has 110,106,428.
  EXPECT_EQ(all.parameters, Count(109'482'240 + d * d + d + 2 * d + words + 2 * d + 2));
  EXPECT_EQ(all.parameters, Count(110'106'428));
}

TEST(NetworkCounts, Gpt2PrefillAndDecode) {
  const std::int64_t length = 64, d = 768, vocabulary = 50'257;
  EXPECT_EQ(MacsOf(InferNetwork("gpt2", {{"sequence", length}})),
            12 * EncoderLayer(length, d) + length * d * vocabulary);
  // One query against the cache and itself.
  EXPECT_EQ(MacsOf(InferNetwork("gpt2", {{"past", length}}, {{"phase", "decode"}})),
            12 * (12 * d * d + 2 * (length + 1) * d) + d * vocabulary);
}

TEST(NetworkCounts, LlamaDecodesOneToken) {
  const std::int64_t d = 4096, kv = 1024, inner = 14'336, layers = 32, past = 512;
  const std::int64_t projections = layers * (2 * d * d + 2 * d * kv + 3 * d * inner);
  const InferredModel model = InferNetwork("llama3-8b", {{"past", past}}, {{"phase", "decode"}});
  EXPECT_EQ(MacsOf(model, "/MatMul"), projections + d * 128'256);
  EXPECT_EQ(MacsOf(model, "/Attention"), layers * 2 * (past + 1) * d);
}

TEST(NetworkCounts, ParametersAreTheWeightsThatTheFileMakes) {
  EXPECT_EQ(InferNetwork("resnet50").parameters, Count(25'557'032 - 26'560));
  EXPECT_EQ(InferNetwork("bert-base", {{"sequence", 8}}).parameters, Count(109'482'240));
  EXPECT_EQ(InferNetwork("gpt2", {{"sequence", 8}}).parameters, Count(124'439'808));
  EXPECT_EQ(InferNetwork("llama3-8b", {{"sequence", 8}}).parameters, Count(8'030'261'248 + 64));
  // Two bytes each, but for the rotary frequencies.
  EXPECT_EQ(InferNetwork("llama3-8b", {{"sequence", 8}}).weight_bytes,
            Bytes(2 * std::int64_t{8'030'261'248} + 4 * 64));
}

}  // namespace
}  // namespace dlcost
