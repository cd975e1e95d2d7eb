// T5 by its configurations and by name: parameters of published members, and multiplications by
// hand for each of its phases.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "estimator/core/error.h"
#include "estimator/infer/infer.h"
#include "estimator/onnx/reader.h"
#include "models/networks/config_file.h"
#include "models/networks/networks.h"
#include "tests/networks/configs.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;
using Dims = std::map<std::string, std::int64_t>;
using Json = nlohmann::json;

InferredModel Inferred(const std::string& bytes, const Dims& dims) {
  InferOptions infer;
  infer.bindings.dims = dims;
  return Infer(ReadModelFromBytes(bytes, "t5"), infer);
}

InferredModel Named(const std::string& name, const NetworkOptions& options, const Dims& dims) {
  return Inferred(BuildNetwork(name, options), dims);
}

InferredModel Described(const Json& config, const NetworkOptions& options, const Dims& dims) {
  return Inferred(BuildNetworkOfConfig(config.dump(), options), dims);
}

void ExpectKnown(const InferredModel& model) {
  for (const CountedNode& node : model.nodes) {
    EXPECT_TRUE(node.status == NodeStatus::kCounted || node.status == NodeStatus::kView ||
                node.status == NodeStatus::kMetadata)
        << node.name << " is " << Name(node.status);
  }
}

// Sizes of a member; `all` is the width of its heads together.
struct Sizes {
  std::int64_t layers, width, inner, all, vocabulary = 32'128;
};
constexpr Sizes kSmall = {6, 512, 2048, 512}, kBase = {12, 768, 3072, 768};

// Per source token: four projections, the feed-forward layers, scores and values.
std::int64_t EncoderMacs(const Sizes& t5, std::int64_t source) {
  return t5.layers * source *
         (4 * t5.width * t5.all + 2 * t5.width * t5.inner + 2 * source * t5.all);
}
// Per target token that looks at `seen` positions of its own and `source` encoded ones: six
// projections, the feed-forward layers, scores and values; and the logits.
std::int64_t DecoderMacs(const Sizes& t5, std::int64_t target, std::int64_t seen,
                         std::int64_t source) {
  const std::int64_t projections = 6 * t5.width * t5.all + 2 * t5.width * t5.inner;
  return target *
         (t5.layers * (projections + 2 * (seen + source) * t5.all) + t5.width * t5.vocabulary);
}
// Keys and values of the source.
std::int64_t CrossMacs(const Sizes& t5, std::int64_t source) {
  return t5.layers * source * 2 * t5.width * t5.all;
}

TEST(T5, MultipliesByHandInEachPhase) {
  const std::int64_t source = 48, target = 20, past = 31;
  for (const auto& [name, sizes] : std::map<std::string, Sizes>{
           {"t5-small", kSmall}, {"t5-base", kBase}, {"t5-3b", {24, 1024, 16'384, 4096}}}) {
    const std::int64_t encoder = EncoderMacs(sizes, source);
    const std::int64_t decoder =
        DecoderMacs(sizes, target, target, source) + CrossMacs(sizes, source);
    const Dims dims = {{"source", source}, {"target", target}};
    EXPECT_EQ(MacsOf(Named(name, {}, dims)), encoder + decoder) << name;
    EXPECT_EQ(MacsOf(Named(name, {{"phase", "encoder"}}, {{"source", source}})), encoder) << name;
    EXPECT_EQ(MacsOf(Named(name, {{"phase", "decoder"}}, dims)), decoder) << name;
    // One token and itself, with the source's keys and values at hand.
    EXPECT_EQ(MacsOf(Named(name, {{"phase", "decode"}}, {{"source", source}, {"past", past}})),
              DecoderMacs(sizes, 1, past + 1, source))
        << name;
  }
}

// What PyTorch multiplies for transformers' module, to the last digit.
TEST(T5, MultipliesAsItsModule) {
  const Dims dims = {{"source", 16}, {"target", 12}};
  EXPECT_EQ(MacsOf(Named("t5-small", {}, dims)), 817'594'368);
  EXPECT_EQ(MacsOf(Named("t5-base", {}, dims)), 3'081'535'488);
}

TEST(T5, GatesMultiplyOnceMore) {
  const Dims dims = {{"source", 8}, {"target", 8}};
  const NetworkOptions gated = {{"version", "1.1"}};
  EXPECT_EQ(MacsOf(Named("t5-small", gated, dims)) - MacsOf(Named("t5-small", {}, dims)),
            2 * 6 * 8 * 512 * 2048);
}

struct PublishedT5 {
  const char* name;
  std::int64_t parameters;
};
class T5Configuration : public ::testing::TestWithParam<PublishedT5> {};

// What the weight files on huggingface.co hold.
TEST_P(T5Configuration, HasItsParametersAndParts) {
  const Json config = Config(GetParam().name);
  const InferredModel whole = Described(config, {}, {{"source", 8}, {"target", 4}});
  EXPECT_EQ(whole.parameters.value(), GetParam().parameters);
  ExpectKnown(whole);
  const InferredModel encoder = Described(config, {{"phase", "encoder"}}, {{"source", 8}});
  const InferredModel decoder =
      Described(config, {{"phase", "decoder"}}, {{"source", 8}, {"target", 4}});
  const InferredModel decode =
      Described(config, {{"phase", "decode"}}, {{"source", 8}, {"past", 4}});
  for (const InferredModel* part : {&encoder, &decoder, &decode}) ExpectKnown(*part);
  EXPECT_EQ(MacsOf(encoder) + MacsOf(decoder), MacsOf(whole));
  // Both have the table of words.
  const std::int64_t width = config["d_model"], words = config["vocab_size"];
  EXPECT_EQ(encoder.parameters.value() + decoder.parameters.value() - width * words,
            GetParam().parameters);
  // Keys and values of the source are no weights of a step.
  const std::int64_t layers = config.value("num_decoder_layers", config["num_layers"]);
  const std::int64_t all =
      config["num_heads"].get<std::int64_t>() * config["d_kv"].get<std::int64_t>();
  EXPECT_EQ(decode.parameters.value(), decoder.parameters.value() - layers * 2 * width * all);
}

INSTANTIATE_TEST_SUITE_P(Networks, T5Configuration,
                         ::testing::Values(PublishedT5{"t5-large", 737'668'096},
                                           PublishedT5{"flan-t5-base", 247'577'856},
                                           PublishedT5{"mt5-small", 300'176'768}),
                         [](const auto& one) {
                           std::string name = one.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(T5, DecoderMayHaveOtherLayers) {
  Json config = Config("t5-large");
  config["num_decoder_layers"] = 2;
  const InferredModel model = Described(config, {}, {{"source", 8}, {"target", 4}});
  EXPECT_GT(MacsOf(model, "/encoder/block/23/"), 0);
  EXPECT_GT(MacsOf(model, "/decoder/block/1/"), 0);
  EXPECT_EQ(MacsOf(model, "/decoder/block/2/"), 0);
}

// A table of 32 distances for each of 6 heads, in each of 8 layers of encoder and decoder instead
// of the first ones'.
TEST(T5, LayersOfUmt5HaveTablesOfTheirOwn) {
  Json config = Config("mt5-small");
  const Dims dims = {{"source", 8}, {"target", 4}};
  const std::int64_t shared = Described(config, {}, dims).parameters.value();
  config["model_type"] = "umt5";
  config["tie_word_embeddings"] = false;
  const InferredModel own = Described(config, {}, dims);
  ExpectKnown(own);
  EXPECT_EQ(own.parameters.value() - shared, 2 * 7 * 32 * 6);
}

TEST(T5, DropoutIsKeptForTraining) {
  const InferredModel model =
      Named("t5-small", {{"dropout", "kept"}}, {{"source", 8}, {"target", 4}});
  int dropouts = 0;
  for (const CountedNode& node : model.nodes) dropouts += node.node->op == "Dropout" ? 1 : 0;
  // Of each branch, of each attention's weights and inside each feed-forward layer; before and
  // behind the layers of encoder and decoder.
  EXPECT_EQ(dropouts, 6 * (2 + 1 + 1) + 6 * (3 + 2 + 1) + 4);
}

std::string T5Error(const Json& config, const NetworkOptions& options = {}) {
  try {
    BuildNetworkOfConfig(config.dump(), options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(T5, BadConfigurationsNameTheKey) {
  Json config = Config("t5-large");
  EXPECT_THAT(T5Error(config, {{"phase", "decodr"}}), HasSubstr("did you mean 'decode"));
  config["feed_forward_proj"] = "gated-xielu";
  EXPECT_THAT(T5Error(config), HasSubstr("feed_forward_proj: no network is built with 'xielu'"));
  config["feed_forward_proj"] = "relu";
  config["relative_attention_num_buckets"] = 2;
  EXPECT_THAT(T5Error(config), HasSubstr("into 2 buckets"));
  config.erase("d_kv");
  EXPECT_THAT(T5Error(config), HasSubstr("no d_kv"));
}

}  // namespace
}  // namespace dlcost
