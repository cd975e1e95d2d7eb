// ONNX's own annotations for several devices (IR version 11), which the installed onnx.proto does
// not know: written here byte by byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <functional>

#include "estimator/core/error.h"
#include "estimator/onnx/device_configuration.h"
#include "estimator/onnx/reader.h"
#include "estimator/parallel/step_profile.h"
#include "estimator/parallel/tensor_parallel.h"
#include "models/networks/networks.h"
#include "tests/infer/small_model.h"
#include "tests/parallel/two_sequences.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

std::string Varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes.push_back(static_cast<char>(value % 128 + 128));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
std::string Number(int field, std::int64_t value) {
  return Varint(static_cast<std::uint64_t>(field) << 3) + Varint(static_cast<std::uint64_t>(value));
}
std::string Text(int field, const std::string& bytes) {
  return Varint((static_cast<std::uint64_t>(field) << 3) + 2) + Varint(bytes.size()) + bytes;
}
std::string Configuration(const std::string& name, int devices) {
  return Text(26, Text(1, name) + Number(2, devices));
}
std::string Spec(const std::string& tensor, std::int64_t axis, int shards) {
  return Text(2, Text(1, tensor) + Text(4, Number(1, axis) + Text(2, Number(3, shards))));
}
std::string Annotation(const std::string& configuration, const std::string& rest) {
  return Text(10, Text(1, configuration) + rest);
}

// BERT, whose nodes get what `annotate` makes of them.
std::string Bert(const std::string& configurations,
                 const std::function<std::string(const onnx::NodeProto&)>& annotate) {
  onnx::ModelProto model;
  model.ParseFromString(BuildNetwork("bert-base", {{"layers", "2"}}));
  model.set_ir_version(11);
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    *node.mutable_unknown_fields() += annotate(node);
  }
  return model.SerializeAsString() + configurations;
}

// Columns of queries, keys, values and of the inner axis, as Megatron-LM splits them.
std::string Megatron(const onnx::NodeProto& node, int shards = 2) {
  if (node.op_type() != "MatMul") return "";
  const std::string& weight = node.input(1);
  for (const char* end : {".q.weight", ".k.weight", ".v.weight", "inner.weight"}) {
    if (weight.ends_with(end)) return Annotation("pair", Spec(weight, 1, shards));
  }
  return "";
}

DeviceConfiguration One(const std::string& bytes) {
  const std::vector<DeviceConfiguration> all = DeviceConfigurationsFromBytes(bytes, "bert");
  return all.at(0);
}

InferredModel Rank(const std::string& bytes, int devices) {
  const InferredModel whole = Infer(ReadModelFromBytes(bytes, "bert"), TwoSequences());
  const DeviceConfiguration annotations = One(bytes);
  return InferRank(whole, {.devices = devices, .annotations = &annotations}, TwoSequences());
}

std::string ErrorOf(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Annotated, ReadsConfigurationsAndShards) {
  const DeviceConfiguration read = One(
      Bert(Configuration("pair", 2), [](const onnx::NodeProto& node) { return Megatron(node); }));
  EXPECT_EQ(read.name, "pair");
  EXPECT_EQ(read.devices, 2);
  ASSERT_EQ(read.axes.size(), 8U);
  EXPECT_EQ(read.axes[0].tensor, "encoder.0.attention.q.weight");
  EXPECT_EQ(read.axes[0].axis, 1);
  EXPECT_EQ(read.axes[0].shards, 2);
  EXPECT_TRUE(DeviceConfigurationsFromBytes(BuildNetwork("bert-base"), "bert").empty());
}

TEST(Annotated, SplitsWhatBelongsToTheAnnotatedAxes) {
  const std::string bytes =
      Bert(Configuration("pair", 2), [](const onnx::NodeProto& node) { return Megatron(node); });
  const InferredModel rank = Rank(bytes, 2);
  const InferredModel whole = Infer(ReadModelFromBytes(bytes, "bert"), TwoSequences());
  const std::int64_t pooler = std::int64_t{2} * 768 * 768;
  EXPECT_EQ((MacsOf(rank).value() - pooler) * 2, MacsOf(whole).value() - pooler);
  int exchanges = 0;
  for (const CountedNode& counted : rank.nodes)
    exchanges += counted.node->op == "AllReduce" ? 1 : 0;
  EXPECT_EQ(exchanges, 4);  // two for each layer; the vocabulary is not annotated
}

TEST(Annotated, ContradictionsAreOneLine) {
  const auto none = [](const onnx::NodeProto&) { return std::string(); };
  const auto of_q = [](const std::string& annotation) {
    return [annotation](const onnx::NodeProto& node) {
      const bool q = node.op_type() == "MatMul" && node.input(1).ends_with("0.attention.q.weight");
      return q ? annotation : std::string();
    };
  };
  const auto rank = [](const std::string& bytes) { return ErrorOf([&] { Rank(bytes, 2); }); };
  const std::string pair = Configuration("pair", 2), q = "encoder.0.attention.q.weight";
  EXPECT_THAT(rank(Bert(Configuration("pear", 2), of_q(Annotation("pair", Spec(q, 1, 2))))),
              HasSubstr("'pair', which the file does not have"));
  EXPECT_THAT(rank(Bert(pair, of_q(Annotation("pair", Spec("nowhere", 1, 2))))),
              HasSubstr("split 'nowhere', which the graph does not have"));
  EXPECT_THAT(rank(Bert(pair, of_q(Annotation("pair", Spec(q, 2, 2))))),
              HasSubstr("split axis 2 of 'encoder.0.attention.q.weight', which has 2"));
  EXPECT_THAT(rank(Bert(pair, of_q(Annotation("pair", Spec(q, 1, 4))))),
              HasSubstr("annotated with 4 shards, others with 2"));
  EXPECT_THAT(rank(Bert(pair, of_q(Annotation("pair", Spec(q, 1, 2) + Spec(q, 0, 2))))),
              HasSubstr("annotations contradict each other: together they split"));
  EXPECT_THAT(rank(Bert(pair + "\xd2\x01\x7f", none)), HasSubstr("bert"));
  EXPECT_THAT(rank(Bert(Text(26, Text(1, "pair") + Number(2, 3) + Text(3, "gpu0")), none)),
              HasSubstr("3 devices, of which 1 are named"));
  EXPECT_THAT(rank(Bert(pair, of_q(Text(10, Text(1, "pair") + "\x12\x7f")))),
              HasSubstr("device annotations end in the middle"));
}

TEST(Annotated, StagesThatGoRoundInACircle) {
  const auto stages = [](int first, int second) {
    return [=](const onnx::NodeProto& node) {
      const bool late = node.name().find("/encoder/1/") != std::string::npos;
      return Annotation("pair", Number(3, late ? second : first));
    };
  };
  const auto read = [&](int first, int second) {
    const std::string bytes = Bert(Configuration("pair", 2), stages(first, second));
    const InferredModel whole = Infer(ReadModelFromBytes(bytes, "bert"), TwoSequences());
    StepProfile profile;
    profile.kernels = {{.name = "/encoder/0/attention/q/MatMul"},
                       {.name = "/encoder/1/attention/q/MatMul"}};
    return AnnotatedStages(whole, profile, One(bytes));
  };
  EXPECT_THAT(ErrorOf([&] { read(1, 0); }), HasSubstr("annotations go round in a circle: "));
  // The pooler behind the last layer is annotated for the first stage.
  EXPECT_THAT(ErrorOf([&] { read(0, 1); }), HasSubstr("/pooler"));
  EXPECT_THAT(read(3, 3), testing::ElementsAre(3, 3));
}

}  // namespace
}  // namespace dlcost
