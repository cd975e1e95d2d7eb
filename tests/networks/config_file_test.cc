#include "models/networks/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "estimator/core/error.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"
#include "tests/networks/configs.h"

namespace dlcost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

InferredModel Built(const Json& config, const NetworkOptions& options,
                    const std::map<std::string, std::int64_t>& dims) {
  InferOptions infer;
  infer.bindings.batch = 1;
  infer.bindings.dims = dims;
  return Infer(ReadModelFromBytes(BuildNetworkOfConfig(config.dump(), options), "config.json"),
               infer);
}

std::int64_t MacsOfOperator(const InferredModel& model, const std::string& op = "") {
  Count total;
  for (const CountedNode& node : model.nodes) {
    if (op.empty() || node.node->op == op) total += node.cost.work.macs().count();
  }
  return total.value();
}

struct PublishedParameters {
  const char* name;
  std::int64_t parameters;
  std::int64_t angles;  // the rotary frequencies, which are no parameters there
};

class Published : public ::testing::TestWithParam<PublishedParameters> {};

// What the weight files on huggingface.co hold; of DeepSeek-V3 without the layer that predicts
// further tokens and without the 256 numbers per layer that balance its experts.
TEST_P(Published, HasItsParameters) {
  const Json config = Config(GetParam().name);
  const bool decoder = config["model_type"] != "bert";
  for (const char* phase : {"prefill", "decode"}) {
    if (!decoder && std::string(phase) == "decode") continue;
    const bool prefill = std::string(phase) == "prefill";
    const InferredModel model =
        Built(config, decoder ? NetworkOptions{{"phase", phase}} : NetworkOptions{},
              {{prefill ? "sequence" : "past", 128}});
    EXPECT_EQ(model.parameters.value(), GetParam().parameters + GetParam().angles) << phase;
    for (const CountedNode& node : model.nodes) {
      EXPECT_TRUE(node.status == NodeStatus::kCounted || node.status == NodeStatus::kView ||
                  node.status == NodeStatus::kMetadata)
          << node.name << " is " << Name(node.status);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Networks, Published,
    ::testing::Values(PublishedParameters{"bert-base", 109'482'240, 0},
                      PublishedParameters{"deepseek-v2-lite", 15'706'484'224, 32},
                      PublishedParameters{"deepseek-v3", 671'026'419'200 - 58 * 256, 32},
                      PublishedParameters{"falcon-40b", 41'303'293'952, 32},
                      PublishedParameters{"falcon-7b", 6'921'720'704, 32},
                      PublishedParameters{"gemma-2-9b", 9'241'705'984, 128},
                      PublishedParameters{"gemma-2b", 2'506'172'416, 128},
                      PublishedParameters{"gemma-3-1b", 999'885'952, 2 * 128},
                      PublishedParameters{"gpt2", 124'439'808, 0},
                      // Without 64 sinks in each of 36 layers.
                      PublishedParameters{"gpt-oss-120b", 116'829'156'672 - 64 * 36, 32},
                      PublishedParameters{"gpt-j-6b", 6'050'882'784, 32},
                      PublishedParameters{"llama-3-70b", 70'553'706'496, 64},
                      PublishedParameters{"mistral-7b", 7'241'732'096, 64},
                      PublishedParameters{"mixtral-8x7b", 46'702'792'704, 64},
                      PublishedParameters{"phi-2", 2'779'683'840, 16},
                      PublishedParameters{"phi-3-mini-4k", 3'821'079'552, 48},
                      PublishedParameters{"pythia-6.9b", 6'857'302'016, 16},
                      PublishedParameters{"qwen1.5-moe-a2.7b", 14'315'784'192, 64},
                      PublishedParameters{"qwen2.5-0.5b", 494'032'768, 32},
                      PublishedParameters{"qwen2.5-7b", 7'615'616'512, 64},
                      PublishedParameters{"qwen3-30b-a3b", 30'532'122'624, 64},
                      PublishedParameters{"qwen3-8b", 8'190'735'360, 64},
                      PublishedParameters{"stablelm-2-1.6b", 1'644'515'328, 8},
                      PublishedParameters{"starcoder2-3b", 3'030'371'328, 64}),
    [](const auto& one) {
      std::string name = one.param.name;
      for (char& c : name) {
        if (c == '-' || c == '.') c = '_';
      }
      return name;
    });

// By hand, a token: each layer q and o of 2880 x 4096, k and v of 2880 x 512, the router, four of
// 128 experts of 3 x 2880^2, and 64 heads of 64 over one key, twice; then the logits. The model
// card says 5.13 billion active parameters: these, the table of embeddings, norms and biases.
TEST(ConfigFile, GptOssMultipliesByHand) {
  const std::int64_t width = 2880;
  const std::int64_t layer = 2 * width * 4096 + 2 * width * 512 + width * 128 + 12 * width * width;
  EXPECT_EQ(MacsOfOperator(Built(Config("gpt-oss-120b"), {}, {{"sequence", 1}})),
            36 * (layer + 2 * 64 * 64) + width * 201088);
}

// By hand, 128 tokens: each layer 2 * 8192^2 (q, o), 2 * 8192 * 1024 (k, v), 3 * 8192 * 28672, and
// 64 heads of 128 over 128 x 128 scores, twice; then the logits.
TEST(ConfigFile, LlamaMultipliesByHand) {
  const std::int64_t layer = std::int64_t{2} * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672;
  const std::int64_t scores = std::int64_t{2} * 64 * 128 * 128 * 128;
  const std::int64_t logits = std::int64_t{8192} * 128256;
  EXPECT_EQ(MacsOfOperator(Built(Config("llama-3-70b"), {}, {{"sequence", 128}})),
            80 * (128 * layer + scores) + 128 * logits);
}

// By hand, 128 tokens: each layer four of 4096^2 and two of 4096 x 16384, and 16 heads of 256 over
// 128 x 128 scores, twice; then the logits.
TEST(ConfigFile, GptJMultipliesByHand) {
  const std::int64_t layer = std::int64_t{4} * 4096 * 4096 + 2 * 4096 * 16384;
  const std::int64_t scores = std::int64_t{2} * 16 * 128 * 128 * 256;
  EXPECT_EQ(MacsOfOperator(Built(Config("gpt-j-6b"), {}, {{"sequence", 128}})),
            28 * (128 * layer + scores) + std::int64_t{128} * 4096 * 50400);
}

// By hand, a token: each layer queries of 4544 and one key and value of 64, the output, a
// feed-forward layer of four times the width, and 71 heads of 64 over one key, twice.
TEST(ConfigFile, FalconSharesOneKeyAndValue) {
  const std::int64_t width = 4544;
  const std::int64_t layer = width * (width + 128) + width * width + 8 * width * width;
  EXPECT_EQ(MacsOfOperator(Built(Config("falcon-7b"), {}, {{"sequence", 1}})),
            32 * (layer + 2 * 71 * 64) + width * 65024);
}

// A token of DeepSeek-V2-Lite meets 6 of 64 experts and the two shared ones, in 26 of 27 layers:
// each layer 2048 * 16 * 192 (q) + 2048 * 576 (latent) + 512 * 16 * 256 (k, v) + 16 * 128 * 2048.
TEST(ConfigFile, LatentAttentionAndExpertsMultiplyByHand) {
  const std::int64_t attention =
      std::int64_t{2048} * 16 * 192 + 2048 * 576 + 512 * 16 * 256 + 16 * 128 * 2048;
  const std::int64_t experts = std::int64_t{3} * 2048 * 1408 * (6 + 2) + 2048 * 64;
  const std::int64_t dense = std::int64_t{3} * 2048 * 10944;
  const std::int64_t scores = std::int64_t{16} * 128 * 128 * (192 + 128);
  EXPECT_EQ(MacsOfOperator(Built(Config("deepseek-v2-lite"), {}, {{"sequence", 128}})),
            27 * (128 * attention + scores) + 128 * (26 * experts + dense) +
                std::int64_t{128} * 2048 * 102400);
  // One token over 127 cached ones: the keys' and values' projections move to the query and the
  // sum, so that 16 heads look at 128 latent vectors of 512 numbers and keys of 64 more.
  const InferredModel decode =
      Built(Config("deepseek-v2-lite"), {{"phase", "decode"}}, {{"past", 127}});
  EXPECT_EQ(MacsOfOperator(decode, "Attention"), std::int64_t{27} * 16 * 128 * (576 + 512));
  EXPECT_EQ(MacsOfOperator(decode), 27 * (attention + std::int64_t{16} * 128 * (576 + 512)) +
                                        26 * experts + dense + std::int64_t{2048} * 102400);
}

// Five of six layers of Gemma 3 see 512 positions.
TEST(ConfigFile, LayersHaveWindows) {
  const InferredModel model = Built(Config("gemma-3-1b"), {}, {{"sequence", 1024}});
  int windows = 0, all = 0;
  for (const CountedNode& node : model.nodes) {
    if (node.node->op != "Attention") continue;
    const bool has = node.node->FindAttribute("left_window_size") != nullptr;
    (has ? windows : all) += 1;
  }
  EXPECT_EQ(windows, 22);
  EXPECT_EQ(all, 4);
}

TEST(ConfigFile, SaysWhatTheNetworkLeavesOut) {
  const InferredModel model = Built(Config("deepseek-v3"), {}, {{"sequence", 8}});
  EXPECT_THAT(model.notes,
              ElementsAre("config.json stores weights quantized (fp8): counted here as bf16; "
                          "without the layers that predict further tokens"));
}

std::string ConfigError(const std::string& json, const NetworkOptions& options = {}) {
  try {
    BuildNetworkOfConfig(json, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string Changed(const char* key, const Json& value) {
  Json config = Config("llama-3-70b");
  config[key] = value;
  return config.dump();
}

TEST(ConfigFile, BadOnesAreOneLineThatNamesTheKey) {
  EXPECT_THAT(ConfigError("["), HasSubstr("not a JSON object"));
  EXPECT_THAT(ConfigError(R"({"model_type": "lama"})"), HasSubstr("did you mean 'llama'?"));
  EXPECT_THAT(ConfigError(R"({"model_type": "llama"})"), HasSubstr("no hidden_size"));
  EXPECT_THAT(ConfigError(R"({"model_type": "llava", "text_config": {}})"),
              HasSubstr("jq .text_config"));
  EXPECT_THAT(ConfigError(Changed("hidden_size", 18446744073709551615U)), HasSubstr("hidden_size"));
  EXPECT_THAT(ConfigError(Changed("hidden_size", "8192")), HasSubstr("is not a whole number"));
  EXPECT_THAT(ConfigError(Changed("num_attention_heads", 63)), HasSubstr("does not split"));
  EXPECT_THAT(ConfigError(Changed("num_key_value_heads", 7)), HasSubstr("no multiple of 7"));
  EXPECT_THAT(ConfigError(Changed("num_hidden_layers", 100000)),
              HasSubstr("more than 4096 layers"));
  EXPECT_THAT(ConfigError(Changed("hidden_act", "xielu")), HasSubstr("hidden_act"));
  EXPECT_THAT(ConfigError(Changed("torch_dtype", "float8")), HasSubstr("float8"));
  Json falcon = Config("falcon-7b");
  falcon["alibi"] = true;
  EXPECT_THAT(ConfigError(falcon.dump()), HasSubstr("alibi"));
  EXPECT_THAT(ConfigError(Changed("head_dim", 7)), HasSubstr("cannot rotate 7"));
  EXPECT_THAT(ConfigError(Changed("vocab_size", 1), {{"layers", "3"}}),
              HasSubstr("no option 'layers'"));
}

TEST(ConfigFile, IsToldFromReportsAndModels) {
  EXPECT_TRUE(IsNetworkConfig(R"( {"model_type": "bert"})"));
  EXPECT_FALSE(IsNetworkConfig(R"({"schema": "dlcost.report/1"})"));
  EXPECT_FALSE(IsNetworkConfig(R"({"nested": {"model_type": "bert"}})"));
  EXPECT_FALSE(IsNetworkConfig(R"({"model_type": )"));
  EXPECT_FALSE(IsNetworkConfig(""));
}

}  // namespace
}  // namespace dlcost
