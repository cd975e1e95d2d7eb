// Text generation against hand counts. The decoder has 2 heads of 4: per row and token 8 * 8 MACs
// to project, 8 * 10 to score 10 words, and 2 * 4 per key in attention.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

constexpr int kInt32 = onnx::TensorProto::INT32;

Macs MacsUnder(const InferredModel& model, const std::string& prefix) {
  Macs macs;
  for (const CountedNode& node : model.nodes) {
    if (node.name.rfind(prefix, 0) == 0) macs += node.cost.work.macs();
  }
  return macs;
}

// What follows the token ids: embedding, projection, new keys [rows, 2, tokens, 4] as "new",
// queries as "q", and a word's scores as "logits".
void AddTokens(SmallModel& graph, const std::string& ids) {
  graph.Weight("words", {10, 8}).Weight("project", {8, 8}).Weight("score", {8, 10});
  graph.Ints("heads", {0, 0, 2, 4});
  graph.Node("Gather", {"words", ids}, {"e"}).Node("MatMul", {"e", "project"}, {"h"});
  graph.Node("MatMul", {"h", "score"}, {"logits"}).Node("Reshape", {"h", "heads"}, {"split"});
  SetInts(graph.AddNode("Transpose", {"split"}, {"new"}), "perm", {0, 2, 1, 3});
}

// Attention of "new" to all keys [rows, 2, keys, 4].
void AddAttention(SmallModel& graph, const std::string& keys) {
  SetInts(graph.AddNode("Transpose", {keys}, {"turned"}), "perm", {0, 1, 3, 2});
  graph.Node("MatMul", {"new", "turned"}, {"looked"});
}

SmallModel Decoder() {
  SmallModel graph;
  graph.Input("input_ids", {"rows", "tokens"}, kInt32);
  graph.Input("position_ids", {"rows", "tokens"}, kInt32);
  graph.Input("attention_mask", {"rows", "keys"}, kInt32);
  graph.Input("past_0", {2, "rows", 2, "past", 4});
  AddTokens(graph, "input_ids");
  graph.Ints("front", {0});
  graph.Node("Unsqueeze", {"new", "front"}, {"one"});
  SetInt(graph.AddNode("Concat", {"one", "one"}, {"both"}), "axis", 0);
  SetInt(graph.AddNode("Concat", {"past_0", "both"}, {"present_0"}), "axis", 3);
  graph.Ints("first", {0});
  graph.Node("Gather", {"present_0", "first"}, {"with_axis"});
  graph.Node("Squeeze", {"with_axis", "front"}, {"keys"});
  AddAttention(graph, "keys");
  return graph.Output("logits").Output("present_0");
}

onnx::NodeProto& AddSearch(SmallModel& model, const std::string& op,
                           std::vector<std::string> inputs) {
  onnx::NodeProto& node = model.AddNode(op, std::move(inputs), {"sequences"});
  node.set_domain("com.microsoft");
  SetInt(node, "eos_token_id", 1);
  SetInt(node, "pad_token_id", 0);
  model.Output("sequences");
  return node;
}

// A prompt of 3 tokens, 2 beams.
SmallModel BeamSearch(std::vector<std::int64_t> max_length) {
  SmallModel model;
  model.Input("prompt", {1, 3}, kInt32).Ints("beams", {2}).Ints("one", {1});
  if (max_length.empty()) {
    model.Input("max_length", {1}, kInt32);
  } else {
    model.Ints("max_length", std::move(max_length));
  }
  SmallModel decoder = Decoder();
  SetGraph(AddSearch(model, "BeamSearch", {"prompt", "max_length", "one", "beams", "one"}),
           "decoder", decoder);
  return model;
}

// The prompt: 2 * 3 * 144 MACs and 2 rows * 2 heads * 3 * 3 * 4; then a token at a time.
TEST(Generation, RunsTheDecoderForThePromptAndForEveryTokenBehindIt) {
  const InferredModel model = BeamSearch({6}).Infer();
  EXPECT_EQ(ShapeOf(model, "sequences"), Shape({1, 1, 6}));
  EXPECT_EQ(MacsUnder(model, "n_sequences/prompt/"), Macs(864 + 144));
  EXPECT_EQ(MacsUnder(model, "n_sequences/decoder/"), Macs(2 * 288 + 16 * (4 + 5)));
  EXPECT_EQ(NodeOf(model, "n_sequences/decoder/n_looked").repeat, Count(2));
  EXPECT_EQ(NodeOf(model, "n_sequences/decoder/n_looked").cost.work.macs(), Macs(16 * 9));
  const CountedNode& search = NodeOf(model, "n_sequences");
  EXPECT_EQ(search.status, NodeStatus::kCounted);
  EXPECT_TRUE(search.upper_bound);
  EXPECT_THAT(search.cost.note, HasSubstr("3 tokens"));
  EXPECT_EQ(search.cost.work.Of(OpClass::kExp), Count(3 * 2 * 10)) << "log-softmax of the logits";
  EXPECT_EQ(model.parameters, Count(80 + 64 + 80)) << "both runs read the same weights";
}

TEST(Generation, ManyStepsAreSummedInClosedForm) {
  const InferredModel model = BeamSearch({1003}).Infer();
  const std::int64_t keys = (4 + 1002) * 999 / 2;
  EXPECT_EQ(MacsUnder(model, "n_sequences/decoder/"), Macs(999 * 288 + 16 * keys));
  EXPECT_EQ(NodeOf(model, "n_sequences/decoder/n_looked").repeat, Count(999));
}

TEST(Generation, AnOpenLengthIsNamedAndCanBeBound) {
  const SmallModel open = BeamSearch({});
  const InferredModel unknown = open.Infer();
  EXPECT_EQ(NodeOf(unknown, "n_sequences").status, NodeStatus::kUnknown);
  EXPECT_THAT(NodeOf(unknown, "n_sequences").why, HasSubstr("--value 'max_length=N'"));
  EXPECT_THAT(NodeOf(unknown, "n_sequences").why, HasSubstr("--trips 'n_sequences=16'"));
  Bindings bindings;
  AddValueBinding(bindings, "max_length=6");
  const InferredModel bound = open.Infer(bindings);
  EXPECT_EQ(MacsUnder(bound, "n_sequences/"), Macs(864 + 144 + 576 + 144));
  InferOptions options;
  AddTrips(options.control, "n_sequences=3");
  const InferredModel chosen = Infer(open.Read(), options);
  EXPECT_EQ(MacsUnder(chosen, "n_sequences/"), Macs(864 + 144 + 576 + 144));
  EXPECT_FALSE(NodeOf(chosen, "n_sequences").upper_bound);
}

TEST(Generation, GreedySearchHasOneRowPerPrompt) {
  SmallModel model;
  model.Input("prompt", {2, 3}, kInt32).Ints("max_length", {5});
  SmallModel decoder = Decoder();
  SetGraph(AddSearch(model, "GreedySearch", {"prompt", "max_length"}), "decoder", decoder);
  const InferredModel inferred = model.Infer();
  EXPECT_EQ(ShapeOf(inferred, "sequences"), Shape({2, 5}));
  EXPECT_EQ(MacsUnder(inferred, "n_sequences/"), Macs(864 + 144 + 288 + 16 * 4));
  EXPECT_EQ(NodeOf(inferred, "n_sequences").cost.work.Of(OpClass::kCompare), Count(2 * 2 * 9));
}

// Encoder and decoder: the encoder runs once at the batch, and makes the first token; then the
// decoder, batch * beams rows, attends to what it made and to the 7 words of the source.
TEST(Generation, AnEncoderRunsOnceAndMakesTheFirstToken) {
  SmallModel encoder;
  encoder.Input("encoder_input_ids", {"batch", "source"}, kInt32);
  encoder.Input("encoder_attention_mask", {"batch", "source"}, kInt32);
  encoder.Input("decoder_input_ids", {"batch", 1}, kInt32);
  encoder.Weight("source_words", {10, 8}).Weight("source_project", {8, 8});
  encoder.Node("Gather", {"source_words", "encoder_input_ids"}, {"s"});
  encoder.Node("MatMul", {"s", "source_project"}, {"encoder_hidden_states"});
  AddTokens(encoder, "decoder_input_ids");
  encoder.Node("Identity", {"new"}, {"present_key_self_0"});
  encoder.Node("Reshape", {"encoder_hidden_states", "heads"}, {"source_split"});
  SetInts(encoder.AddNode("Transpose", {"source_split"}, {"present_key_cross_0"}), "perm",
          {0, 2, 1, 3});
  encoder.Output("logits").Output("encoder_hidden_states").Output("present_key_self_0");
  encoder.Output("present_key_cross_0");

  SmallModel decoder;
  decoder.Input("input_ids", {"rows", 1}, kInt32);
  decoder.Input("encoder_attention_mask", {"rows", "source"}, kInt32);
  decoder.Input("encoder_hidden_states", {"rows", "source", 8});
  decoder.Input("past_key_self_0", {"rows", "heads", "past", "size"});
  decoder.Input("past_key_cross_0", {"rows", "heads", "source", "size"});
  AddTokens(decoder, "input_ids");
  SetInt(decoder.AddNode("Concat", {"past_key_self_0", "new"}, {"present_key_self_0"}), "axis", 2);
  AddAttention(decoder, "present_key_self_0");
  SetInts(decoder.AddNode("Transpose", {"past_key_cross_0"}, {"crossed"}), "perm", {0, 1, 3, 2});
  decoder.Node("MatMul", {"new", "crossed"}, {"looked_across"});
  decoder.Output("logits").Output("present_key_self_0");

  SmallModel model;
  model.Input("source", {3, 7}, kInt32).Ints("max_length", {4}).Ints("beams", {2}).Ints("one", {1});
  onnx::NodeProto& node =
      AddSearch(model, "BeamSearch", {"source", "max_length", "one", "beams", "one"});
  SetInt(node, "model_type", 1);
  SetGraph(node, "encoder", encoder);
  SetGraph(node, "decoder", decoder);
  const InferredModel inferred = model.Infer();
  EXPECT_EQ(MacsUnder(inferred, "n_sequences/encoder/"), Macs(3 * 7 * 64 + 3 * 144));
  // Two runs of 6 rows: 2 and 3 keys of their own, 7 of the source.
  EXPECT_EQ(MacsUnder(inferred, "n_sequences/decoder/"),
            Macs(2 * 6 * 144 + 6 * 8 * (2 + 3) + 2 * 6 * 8 * 7));
}

}  // namespace
}  // namespace dlcost
