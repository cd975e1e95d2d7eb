#include "models/networks/networks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

onnx::ModelProto Parse(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  return model;
}

std::map<std::string, std::vector<std::int64_t>> ConstantsOf(const onnx::GraphProto& graph) {
  std::map<std::string, std::vector<std::int64_t>> constants;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    constants[tensor.name()] = {tensor.int64_data().begin(), tensor.int64_data().end()};
  }
  return constants;
}

// Elements of all weights: the ConstantOfShape nodes whose shape is an initializer.
std::int64_t Parameters(const onnx::GraphProto& graph) {
  const auto constants = ConstantsOf(graph);
  std::int64_t total = 0;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() != "ConstantOfShape") continue;
    const auto shape = constants.find(node.input(0));
    if (shape == constants.end()) continue;  // a mask, whose shape the graph computes
    std::int64_t elements = 1;
    for (const std::int64_t dim : shape->second) elements *= dim;
    total += elements;
  }
  return total;
}

struct ExpectedParameters {
  const char* name;
  NetworkOptions options;
  std::int64_t parameters;
};

class ParametersOf : public ::testing::TestWithParam<ExpectedParameters> {};

TEST_P(ParametersOf, EqualThePublishedTotal) {
  const ExpectedParameters& expected = GetParam();
  const onnx::ModelProto model = Parse(BuildNetwork(expected.name, expected.options));
  EXPECT_EQ(Parameters(model.graph()), expected.parameters);
}

// torchvision's published totals; with folded normalization less one per normalized channel, with
// kept normalization plus the running mean and variance, which torchvision does not count.
constexpr std::int64_t kResNet50 = 25'557'032;
constexpr std::int64_t kResNet50Channels = 26'560;
INSTANTIATE_TEST_SUITE_P(
    Vision, ParametersOf,
    ::testing::Values(
        ExpectedParameters{"alexnet", {}, 61'100'840},
        ExpectedParameters{"resnet18", {}, 11'689'512 - 4'800},
        ExpectedParameters{"resnet34", {}, 21'797'672 - 8'512},
        ExpectedParameters{"resnet50", {}, kResNet50 - kResNet50Channels},
        ExpectedParameters{"resnet50", {{"norm", "kept"}}, kResNet50 + 2 * kResNet50Channels},
        ExpectedParameters{"resnet101", {}, 44'549'160 - 52'672},
        ExpectedParameters{"resnet152", {}, 60'192'808 - 75'712},
        ExpectedParameters{"resnext50-32x4d", {}, 25'028'904 - 34'112},
        ExpectedParameters{"resnext101-32x4d", {}, 44'177'704 - 68'928},
        ExpectedParameters{"se-resnext101-32x4d", {}, 48'955'416 - 68'928},
        ExpectedParameters{"vgg16", {}, 138'357'544}, ExpectedParameters{"vgg19", {}, 143'667'240},
        ExpectedParameters{"mobilenet-v2", {}, 3'504'872 - 17'056},
        ExpectedParameters{"efficientnet-b0", {}, 5'288'548 - 21'008},
        ExpectedParameters{"efficientnet-b0", {{"norm", "kept"}}, 5'288'548 + 2 * 21'008},
        ExpectedParameters{"efficientnet-b4", {}, 19'341'616 - 62'600}));

// Hugging Face's totals for BertModel, T5ForConditionalGeneration and GPT2LMHeadModel;
// 8,030,261,248 for Llama-3-8B, here with the 64 rotary frequencies. Transformer by hand: per
// encoder layer 4 d² + 2 d f + f + 5 d, per decoder layer 8 d² + 2 d f + f + 7 d, embedding 37000
// d, positions 1024 d.
constexpr std::int64_t TransformerParameters(std::int64_t d, std::int64_t f) {
  return 6 * (12 * d * d + 4 * d * f + 2 * f + 12 * d) + (37000 + 1024) * d;
}
// LSTM by hand: per layer 4 h (h + h) weights and 8 h biases, embedding v h, projection v (h + 1).
constexpr std::int64_t LstmParameters(std::int64_t layers, std::int64_t h, std::int64_t v) {
  return layers * (8 * h * h + 8 * h) + v * (2 * h + 1);
}
INSTANTIATE_TEST_SUITE_P(
    Language, ParametersOf,
    ::testing::Values(
        ExpectedParameters{"bert-base", {}, 109'482'240},
        ExpectedParameters{"bert-large", {}, 335'141'888},
        ExpectedParameters{"t5-small", {}, 60'506'624},
        ExpectedParameters{"t5-small",
                           {{"version", "1.1"}, {"layers", "8"}, {"inner", "1024"}, {"heads", "6"}},
                           76'961'152},
        ExpectedParameters{"t5-base", {}, 222'903'552},
        ExpectedParameters{"t5-large", {}, 737'668'096},
        ExpectedParameters{"t5-3b", {}, 2'851'598'336}, ExpectedParameters{"gpt2", {}, 124'439'808},
        ExpectedParameters{"gpt2", {{"phase", "decode"}}, 124'439'808},
        ExpectedParameters{"llama3-8b", {}, 8'030'261'248 + 64},
        ExpectedParameters{"llama3-8b", {{"phase", "decode"}}, 8'030'261'248 + 64},
        ExpectedParameters{"transformer-base", {}, TransformerParameters(512, 2048)},
        ExpectedParameters{"transformer-big", {}, TransformerParameters(1024, 4096)},
        ExpectedParameters{"lstm", {}, LstmParameters(2, 1024, 10'000)},
        ExpectedParameters{"lstm", {{"layers", "4"}}, LstmParameters(4, 1024, 10'000)},
        ExpectedParameters{"lstm",
                           {{"layers", "1"}, {"hidden", "8"}, {"vocabulary", "5"}},
                           LstmParameters(1, 8, 5)}));

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const NetworkInfo& network : Networks()) names.push_back(network.name);
  return names;
}

class EveryNetwork : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryNetwork, IsSortedWithUniqueNamesAndNoPayload) {
  const std::string bytes = BuildNetwork(GetParam());
  EXPECT_LT(bytes.size(), 500'000u);
  const onnx::ModelProto model = Parse(bytes);
  std::set<std::string> known, nodes;
  for (const auto& input : model.graph().input()) known.insert(input.name());
  for (const auto& tensor : model.graph().initializer()) known.insert(tensor.name());
  for (const onnx::NodeProto& node : model.graph().node()) {
    EXPECT_TRUE(nodes.insert(node.name()).second) << node.name();
    for (const std::string& input : node.input()) {
      EXPECT_TRUE(input.empty() || known.count(input)) << node.name() << " reads " << input;
    }
    for (const std::string& output : node.output()) {
      EXPECT_TRUE(known.insert(output).second) << "made twice: " << output;
    }
  }
  for (const auto& output : model.graph().output()) EXPECT_TRUE(known.count(output.name()));
}

TEST_P(EveryNetwork, HasASymbolicBatch) {
  const onnx::ModelProto model = Parse(BuildNetwork(GetParam()));
  bool symbolic = false;
  for (const auto& dim : model.graph().input(0).type().tensor_type().shape().dim()) {
    symbolic |= dim.dim_param() == "batch";
  }
  EXPECT_TRUE(symbolic);
}

TEST_P(EveryNetwork, ComesInEveryType) {
  for (const auto& [text, number] :
       {std::pair{"f32", onnx::TensorProto::FLOAT}, std::pair{"f16", onnx::TensorProto::FLOAT16},
        std::pair{"bf16", onnx::TensorProto::BFLOAT16}}) {
    const onnx::ModelProto model = Parse(BuildNetwork(GetParam(), {{"dtype", text}}));
    for (const auto& output : model.graph().output()) {
      EXPECT_EQ(output.type().tensor_type().elem_type(), number) << text;
    }
    // Convolutions and pools take bf16 from operator set 22 on.
    if (number == onnx::TensorProto::BFLOAT16) {
      EXPECT_GE(model.opset_import(0).version(), 22);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, EveryNetwork, ::testing::ValuesIn(Names()),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(NetworkFiles, AreWhatTheCodeProduces) {
  const std::filesystem::path folder =
      std::filesystem::path(DLCOST_SOURCE_DIR) / "models" / "networks";
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const std::string name = entry.path().stem();
    // Not EXPECT_EQ: a difference would print the file.
    EXPECT_TRUE(bytes == BuildNetwork(name))
        << name << ".onnx is stale: dlcost network " << name << " -o " << entry.path().string();
    found.insert(name);
  }
  EXPECT_THAT(found, ::testing::IsSupersetOf({"alexnet", "bert-base", "gpt2", "llama3-8b", "lstm",
                                              "mobilenet-v2", "resnet50"}));
}

std::string MessageOf(const std::string& name, const NetworkOptions& options) {
  try {
    BuildNetwork(name, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(NetworkErrors, NameTheNearestSpelling) {
  EXPECT_THAT(MessageOf("resnet5O", {}), HasSubstr("did you mean 'resnet50'?"));
  EXPECT_THAT(MessageOf("gpt2", {{"phas", "decode"}}), HasSubstr("did you mean 'phase'?"));
  EXPECT_THAT(MessageOf("gpt2", {{"phase", "decod"}}), HasSubstr("did you mean 'decode'?"));
}

TEST(NetworkErrors, RefuseSizesThatCannotBeBuilt) {
  for (const char* text : {"0", "-1", "1.5", "", "99999999999999999999", "12x"}) {
    EXPECT_THAT(MessageOf("lstm", {{"layers", text}}), HasSubstr("is not a whole number")) << text;
  }
  EXPECT_THAT(MessageOf("gpt2", {{"heads", "7"}}), HasSubstr("does not split into 7 heads"));
  EXPECT_THAT(MessageOf("llama3-8b", {{"kv_heads", "5"}}), HasSubstr("kv_heads"));
}

}  // namespace
}  // namespace dlcost
