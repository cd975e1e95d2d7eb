// Files as exporters wrote them, from the collection beside this project: multiply-accumulates of
// ONNX Runtime 1.31 running them without optimization (its profile).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <tuple>

#include "estimator/core/error.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

class RealModels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << folder_ << " is not here";
  }

  InferredModel InferFile(const std::string& name, const InferOptions& options = {}) const {
    return Infer(ReadModel((folder_ / (name + ".onnx")).string()), options);
  }
  static Macs MacsOf(const InferredModel& model) {
    Macs macs;
    for (const CountedNode& node : model.nodes) macs += node.cost.work.macs();
    return macs;
  }
  static InferOptions Dims(std::map<std::string, std::int64_t> dims) {
    InferOptions options;
    options.bindings.dims = std::move(dims);
    return options;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(DLCOST_SOURCE_DIR) / "../shared/models/real";
};

// torch.jit's while loops have the limit 2^63 - 1.
TEST_F(RealModels, AWhileLoopOnACounter) {
  EXPECT_EQ(MacsOf(InferFile("ts_while_counter", Dims({{"batch", 2}}))), Macs(896));
}

// The reason of an unknown loop ends in an option that makes it known.
TEST_F(RealModels, WhileLoopsOnData) {
  const struct {
    const char *file, *node;
    int trips, macs;
  } kCases[] = {{"ts_while_data", "/Loop", 11, 704}, {"loop_int64max", "loop", 3, 3 * 128}};
  for (const auto& [file, node, trips, macs] : kCases) {
    const InferredModel open = InferFile(file);
    const CountedNode& loop = NodeOf(open, node);
    EXPECT_EQ(loop.status, NodeStatus::kUnknown);
    const std::string option = "--trips '" + std::string(node) + "=16'";
    EXPECT_THAT(loop.why, ::testing::EndsWith(option));
    InferOptions options;
    AddTrips(options.control, std::string(node) + "=" + std::to_string(trips));
    EXPECT_EQ(MacsOf(InferFile(file, options)), Macs(macs)) << file;
  }
}

// The counter in its condition says 20 at most, which is what the run did.
TEST_F(RealModels, AWhileLoopOnDataAndACounter) {
  const InferredModel model = InferFile("hop_whiledata");
  EXPECT_EQ(MacsOf(model), Macs(2560));
  EXPECT_TRUE(NodeOf(model, "node_while_loop__1/node_matmul").upper_bound);
  InferOptions options;
  AddTrips(options.control, "node_while_loop__1=7");
  EXPECT_EQ(MacsOf(InferFile("hop_whiledata", options)), Macs(7 * 128));
}

TEST_F(RealModels, AnOpenIf) {
  EXPECT_EQ(MacsOf(InferFile("hop_cond")), Macs(2048));
  InferOptions options;
  AddBranch(options.control, "node_cond__0=then");
  EXPECT_EQ(MacsOf(InferFile("hop_cond", options)), Macs(128));
}

TEST_F(RealModels, NonMaxSuppressionWithoutALimit) {
  const InferredModel model = InferFile("nms_int64max");
  EXPECT_EQ(ShapeOf(model, "o"), Shape({450, 3}));
  EXPECT_TRUE(model.nodes.front().upper_bound);
}

// Both stages, with as many proposals as the detector passes on at most: 150, as in the run.
TEST_F(RealModels, FasterRCnn) {
  const InferredModel model = InferFile("det_fasterrcnn_mobilenet_v3_large_320_fpn");
  EXPECT_EQ(MacsOf(model), Macs(3'089'701'120));
  Macs marked;
  for (const CountedNode& node : model.nodes) {
    EXPECT_NE(node.status, NodeStatus::kUnknown) << node.name;
    if (node.upper_bound) marked += node.cost.work.macs();
  }
  EXPECT_EQ(marked, Macs(3'089'701'120 - 935'768'320)) << "the second stage";
}

// TensorFlow's LSTM: four loops over the tokens. A step is two products of 400 x 1600 in each, the
// first recurrent product one with zeros.
TEST_F(RealModels, LoopsOverTokens) {
  EXPECT_EQ(MacsOf(InferFile("piper_tts__nakdimon", Dims({{"unk__1916", 50}}))), Macs(269'580'000));
  for (const std::int64_t tokens : {8'000, 1'000'000}) {
    const InferredModel model = InferFile("piper_tts__nakdimon", Dims({{"unk__1916", tokens}}));
    const std::int64_t per_token = 8 * 400 * 1600 + 400 * 400 + 400 * (16 + 3 + 4);
    EXPECT_EQ(MacsOf(model), Macs(tokens * per_token + 8 * 400 * 1600)) << tokens;
    for (const CountedNode& node : model.nodes) EXPECT_NE(node.status, NodeStatus::kUnknown);
  }
}

// The rate chooses the branch of the outer If, and shapes those of the inner ones.
TEST_F(RealModels, IfsOnARateAndOnShapes) {
  for (const auto& [rate, samples, macs] :
       {std::tuple{16000, 576, 679'552}, {8000, 288, 383'616}}) {
    InferOptions options;
    options.bindings.inputs["input"] = {1, samples};
    options.bindings.inputs["state"] = {2, 1, 128};
    options.bindings.values["sr"] = {rate};
    const InferredModel model = InferFile("silero_vad__silero_vad", options);
    EXPECT_EQ(MacsOf(model), Macs(macs));
    for (const CountedNode& node : model.nodes) EXPECT_FALSE(node.upper_bound) << node.name;
  }
}

TEST_F(RealModels, WithoutControlFlow) {
  EXPECT_EQ(MacsOf(InferFile("captcha_recognizer__slider")), Macs(16'451'712'000));
}

}  // namespace
}  // namespace dlcost
