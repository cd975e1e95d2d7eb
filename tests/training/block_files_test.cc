#include "estimator/precision/block_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/core/error.h"
#include "estimator/precision/precision.h"
#include "models/networks/config_file.h"
#include "tests/training/small_step.h"

namespace dlcost {
namespace {

InferredModel InBlocks(const SmallModel& model, const std::string& precision) {
  return InPrecision(model.Infer(), FindPrecision(precision), {});
}

InferredModel OfConfig(const std::string& config, const std::string& precision) {
  InferOptions options;
  options.bindings.batch = 1;
  options.bindings.dims["sequence"] = 16;
  return InPrecision(Infer(ReadModelFromBytes(BuildNetworkOfConfig(config), "llama"), options),
                     FindPrecision(precision), options);
}

// Llama-2-7B as llama-bench prints the sizes of its files (ggml-org/llama.cpp, pull 3084 and 4766),
// in GiB.
TEST(BlockFiles, AreAsLargeAsPublished) {
  const std::string config =
      R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
          "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
          "vocab_size": 32000, "torch_dtype": "float16", "hidden_act": "silu"})";
  const std::pair<const char*, double> published[] = {
      {"q4_0", 3.56}, {"q8_0", 6.67}, {"q4_k_m", 3.80}, {"q5_k_m", 4.45}, {"q6_k", 5.15}};
  for (const auto& [name, size] : published) {
    const InferredModel model = OfConfig(config, name);
    EXPECT_NEAR(static_cast<double>(model.weight_bytes.value()) / (1 << 30), size, 0.006) << name;
    EXPECT_EQ(model.parameters, Count(6'738'415'616 + 64)) << name;
  }
}

// Two products of 256 and 64 numbers a row, the latter too few for blocks of 256: q5_0 instead of
// q4_k, which the last one would not be in anyway.
TEST(BlockFiles, ByHand) {
  const SmallModel model = SmallModel()
                               .Input("x", {4, 256})
                               .Weight("a", {256, 64})
                               .Weight("b", {64, 64})
                               .Weight("c", {64, 32})
                               .Node("MatMul", {"x", "a"}, {"h"})
                               .Node("MatMul", {"h", "b"}, {"g"})
                               .Node("MatMul", {"g", "c"}, {"y"})
                               .Output("y");
  EXPECT_EQ(InBlocks(model, "q4_k_m").weight_bytes, Bytes(64 * 144 + 64 * 2 * 22 + 32 * 2 * 34));
  EXPECT_EQ(InBlocks(model, "q8_0").weight_bytes, Bytes(64 * 8 * 34 + 64 * 2 * 34 + 32 * 2 * 34));
  EXPECT_EQ(InBlocks(model, "Q8_0").weight_bytes, InBlocks(model, "q8_0").weight_bytes);
}

// An embedding that is logits as well is stored once, as logits are.
TEST(BlockFiles, TiedEmbeddingsAreStoredOnce) {
  SmallModel model = SmallModel()
                         .Input("i", {4}, onnx::TensorProto::INT64)
                         .Weight("table", {512, 256})
                         .Node("Gather", {"table", "i"}, {"x"});
  SetInt(model.AddNode("Gemm", {"x", "table"}, {"y"}), "transB", 1);
  const InferredModel made = InBlocks(model.Output("y"), "q4_0");
  EXPECT_EQ(made.weight_bytes, Bytes(512 * 210));
  EXPECT_EQ(made.parameters, Count(512 * 256));
  EXPECT_EQ(made.nodes.front().cost.BytesRead(), Bytes(4 * 8 + 4 * 210));
}

// The first and last eighth of the layers and every third between: of eight, 0, 3, 6 and 7.
TEST(BlockFiles, SomeLayersHaveMoreBits) {
  SmallModel model = SmallModel().Input("x", {4, 256});
  std::string at = "x";
  for (int layer = 0; layer < 8; ++layer) {
    const std::string n = std::to_string(layer);
    model.Weight("w" + n, {256, 256});
    model.AddNode("MatMul", {at, "w" + n}, {"y" + n})
        .set_name("/layers." + n + "/mlp/down_proj/MatMul");
    at = "y" + n;
  }
  model.Weight("last", {256, 32}).Node("MatMul", {at, "last"}, {"y"});
  EXPECT_EQ(InBlocks(model.Output("y"), "q4_k_m").weight_bytes,
            Bytes(256 * (4 * 210 + 4 * 144) + 32 * 210));
}

TEST(BlockFiles, ExpertsAreRefused) {
  const std::string config =
      R"({"model_type": "mixtral", "hidden_size": 256, "intermediate_size": 512,
          "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
          "num_local_experts": 4, "num_experts_per_tok": 2, "vocab_size": 256})";
  try {
    OfConfig(config, "q4_k_m");
    FAIL() << "experts were packed";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("experts (/layers/0/mlp/experts/MoE)"));
  }
}

}  // namespace
}  // namespace dlcost
