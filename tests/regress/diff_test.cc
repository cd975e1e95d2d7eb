#include "estimator/regress/diff.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/regress/render_diff.h"
#include "estimator/regress/wording.h"
#include "tests/regress/variants.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using variants::FindNode;
using variants::Network;
using variants::ReportOf;

// "where: what", without the cost.
std::vector<std::string> Changes(const ReportDiff& diff) {
  std::vector<std::string> texts;
  for (const Change& change : diff.changes) texts.push_back(change.where + ": " + change.what);
  return texts;
}

Cost CostOfAll(const ReportDiff& diff) {
  Cost cost;
  for (const Change& change : diff.changes) {
    cost += change.cost;
    cost += change.follower_cost;
  }
  return cost;
}

// The parts that the changes are said to cost add up to the difference of the totals: to the last
// unit for counts, to the last digits for times.
void ExpectExplained(const ReportDiff& diff) {
  const Cost all = TotalCost(*diff.after) - TotalCost(*diff.before), changes = CostOfAll(diff);
  EXPECT_EQ(changes.macs, all.macs);
  EXPECT_EQ(changes.flops, all.flops);
  EXPECT_EQ(changes.bytes, all.bytes);
  EXPECT_EQ(changes.parameters, all.parameters);
  EXPECT_EQ(changes.weight_bytes, all.weight_bytes);
  EXPECT_NEAR(changes.bound, all.bound, 1e-12 * diff.after->totals.bound.value());
  if (diff.after->totals.expected) {
    EXPECT_NEAR(changes.expected, all.expected, 1e-12 * diff.after->totals.expected->value());
  }
  EXPECT_TRUE(diff.rest.IsZero());
  Cost shares;
  for (const Change& change : diff.changes) {
    for (const NodeShare& share : change.shares) shares += share.cost;
  }
  EXPECT_EQ(shares.macs, all.macs);
  EXPECT_EQ(shares.bytes, all.bytes);
  EXPECT_EQ(shares.weight_bytes, all.weight_bytes);
}

TEST(Diff, AModelAgainstItself) {
  const Report report = ReportOf(Network("resnet50"));
  const ReportDiff diff = DiffReports(report, report);
  EXPECT_THAT(diff.changes, IsEmpty());
  EXPECT_EQ(diff.same, 122);
  EXPECT_EQ(diff.renamed, 0);
  EXPECT_EQ(Headline(diff), "no difference");
}

TEST(Diff, AnotherExportOfTheSameModel) {
  onnx::ModelProto renamed = Network("resnet50");
  variants::RenameAll(renamed);
  renamed.mutable_opset_import(0)->set_version(13);
  const Report before = ReportOf(Network("resnet50")), after = ReportOf(renamed);
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(Changes(diff), IsEmpty());
  EXPECT_EQ(diff.same, 122);
  EXPECT_EQ(diff.renamed, 122);
  EXPECT_EQ(Headline(diff), "no difference");
}

TEST(Diff, ABlockMadeWider) {
  onnx::ModelProto wide = Network("resnet50");
  variants::SetWeightShape(wide, "layer1.1.conv1.weight", {128, 256, 1, 1});
  variants::SetWeightShape(wide, "layer1.1.conv1.bias", {128});
  variants::SetWeightShape(wide, "layer1.1.conv2.weight", {128, 128, 3, 3});
  variants::SetWeightShape(wide, "layer1.1.conv2.bias", {128});
  variants::SetWeightShape(wide, "layer1.1.conv3.weight", {256, 128, 1, 1});
  const Report before = ReportOf(Network("resnet50")), after = ReportOf(wide);
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(Changes(diff),
              ::testing::ElementsAre("layer1/1: conv1 and conv2 widened from 64 to 128 output "
                                     "channels; conv3 reads 128 instead of 64"));
  // 56x56 positions times the products that the three convolutions gained.
  EXPECT_EQ(CostOfAll(diff).macs, 56 * 56 * (64 * 256 + (128 * 128 - 64 * 64) * 9 + 64 * 256));
  EXPECT_EQ(CostOfAll(diff).parameters, 64 * 256 + 64 + (128 * 128 - 64 * 64) * 9 + 64 + 64 * 256);
  EXPECT_EQ(diff.changes[0].followers, 2);  // the two activations between them
  EXPECT_EQ(diff.changes[0].kind, ChangeKind::kChanged);
  ExpectExplained(diff);
  EXPECT_THAT(Sentence(diff.changes[0], before), HasSubstr("+449.6 MMAC (+11.0 %)"));
}

TEST(Diff, AStrideChanged) {
  onnx::ModelProto model = Network("resnet50");
  variants::SetInts(FindNode(model, "/layer4/0/conv2/Conv"), "strides", {1, 1});
  variants::SetInts(FindNode(model, "/layer4/0/downsample/0/Conv"), "strides", {1, 1});
  const Report before = ReportOf(Network("resnet50")), after = ReportOf(model);
  const ReportDiff diff = DiffReports(before, after);
  // One act, though the two have other channels.
  EXPECT_THAT(Changes(diff), ::testing::ElementsAre(
                                 "/layer4/0/conv2/Conv and /layer4/0/downsample/0/Conv: strides "
                                 "2,2 -> 1,1 (output 7x7 -> 14x14)"));
  EXPECT_GT(diff.changes[0].followers, 15);
  ExpectExplained(diff);
}

TEST(Diff, AnActivationFusedIntoItsConvolution) {
  onnx::ModelProto model = Network("resnet50");
  onnx::NodeProto& conv = FindNode(model, "/layer2/1/conv1/Conv");
  const std::string relu_output = "/layer2/1/Relu_output_0";
  ASSERT_EQ(FindNode(model, "/layer2/1/Relu").output(0), relu_output);
  variants::Remove(model, "/layer2/1/Relu");
  FindNode(model, "/layer2/1/conv1/Conv").set_op_type("FusedConv");
  FindNode(model, "/layer2/1/conv1/Conv").set_domain("com.microsoft");
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain("com.microsoft");
  opset.set_version(1);
  static_cast<void>(conv);
  const Report before = ReportOf(Network("resnet50")), after = ReportOf(model);
  const ReportDiff diff = DiffReports(before, after);
  ASSERT_EQ(diff.changes.size(), 1u);
  EXPECT_EQ(diff.changes[0].kind, ChangeKind::kReplaced);
  EXPECT_EQ(Changes(diff)[0], "/layer2/1/conv1/Conv: Relu fused into Conv, now FusedConv");
  const ReportDiff back = DiffReports(after, before);
  ASSERT_EQ(back.changes.size(), 1u);
  EXPECT_EQ(Changes(back)[0], "/layer2/1/conv1/Conv: Relu taken out of FusedConv, now Conv");
  ExpectExplained(diff);
}

// What exporters write differently and no run does.
TEST(Diff, ASumOfTwoIsAnAddition) {
  onnx::ModelProto model = Network("resnet18");
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() == "Add") node.set_op_type("Sum");
  }
  const Report before = ReportOf(Network("resnet18")), after = ReportOf(model);
  EXPECT_THAT(Changes(DiffReports(before, after)), IsEmpty());
}

// Every name, the opset and the normalizations at once: one thing was done.
TEST(Diff, AnotherExporterThatKeepsNormalizations) {
  onnx::ModelProto model = Network("resnet50", {{"norm", "kept"}});
  variants::RenameAll(model);
  const Report before = ReportOf(model), after = ReportOf(Network("resnet50"));
  const ReportDiff diff = DiffReports(before, after);
  ASSERT_EQ(diff.changes.size(), 1u);
  EXPECT_EQ(diff.changes[0].what, "BatchNormalization folded into the convolution, 53 times");
  ExpectExplained(diff);
}

TEST(Diff, NormalizationsFolded) {
  const Report before = ReportOf(Network("resnet50", {{"norm", "kept"}}));
  const Report after = ReportOf(Network("resnet50"));
  const ReportDiff diff = DiffReports(before, after);
  ASSERT_EQ(diff.changes.size(), 1u);
  EXPECT_EQ(diff.changes[0].what, "BatchNormalization folded into the convolution, 53 times");
  ExpectExplained(diff);
  const ReportDiff back = DiffReports(after, before);
  ASSERT_EQ(back.changes.size(), 1u);
  EXPECT_EQ(back.changes[0].what, "BatchNormalization taken out of the convolution, 53 times");
  ExpectExplained(back);
}

TEST(Diff, AnotherPrecision) {
  const Report before = ReportOf(Network("resnet50"));
  const Report after = ReportOf(Network("resnet50", {{"dtype", "f16"}}));
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(Changes(diff), ::testing::ElementsAre("precision: f32 -> f16 in all 122 nodes"));
  EXPECT_EQ(2 * CostOfAll(diff).weight_bytes, -before.model.weight_bytes.value());
  ExpectExplained(diff);
}

TEST(Diff, AnotherBatchSize) {
  Bindings eight;
  eight.batch = 8;
  const Report before = ReportOf(Network("resnet50"));
  const Report after = ReportOf(Network("resnet50"), "a100", eight);
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(Changes(diff), ::testing::ElementsAre("input image: 1x3x224x224 -> 8x3x224x224"));
  EXPECT_THAT(diff.Notes(), ::testing::ElementsAre("dimension batch: 1 before, 8 after"));
  ExpectExplained(diff);
}

TEST(Diff, AnotherDevice) {
  const Report before = ReportOf(Network("resnet50"), "a100");
  const Report after = ReportOf(Network("resnet50"), "h100");
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(Changes(diff), IsEmpty());
  EXPECT_EQ(Headline(diff), "the same model under other conditions");
}

TEST(Diff, ALayerInserted) {
  onnx::ModelProto model = Network("resnet50");
  onnx::NodeProto softmax;
  softmax.set_op_type("Softmax");
  softmax.set_name("/layer2/attention/Softmax");
  softmax.add_output("attended");
  const std::string after_node = FindNode(model, "/layer2/1/Relu_2").output(0);
  softmax.add_input("placeholder");
  variants::InsertAfter(model, after_node, softmax);
  FindNode(model, "/layer2/attention/Softmax").set_input(0, after_node);
  const Report before = ReportOf(Network("resnet50")), after = ReportOf(model);
  EXPECT_THAT(Changes(DiffReports(before, after)),
              ::testing::ElementsAre("/layer2/attention/Softmax: Softmax added"));
  EXPECT_THAT(Changes(DiffReports(after, before)),
              ::testing::ElementsAre("/layer2/attention/Softmax: Softmax removed"));
  ExpectExplained(DiffReports(before, after));
  ExpectExplained(DiffReports(after, before));
}

TEST(Diff, MoreLayersOfATransformer) {
  const Report before =
      ReportOf(Network("bert-base", {{"layers", "2"}}), "a100", {.dims = {{"sequence", 16}}});
  const Report after =
      ReportOf(Network("bert-base", {{"layers", "3"}}), "a100", {.dims = {{"sequence", 16}}});
  const ReportDiff diff = DiffReports(before, after);
  ASSERT_EQ(diff.changes.size(), 1u);
  EXPECT_EQ(diff.changes[0].kind, ChangeKind::kAdded);
  EXPECT_THAT(Changes(diff)[0], HasSubstr("MatMul"));
  ExpectExplained(diff);
}

TEST(Diff, TheWholeNetworkWider) {
  const auto gpt = [](const char* width) {
    return ReportOf(Network("gpt2", {{"layers", "2"}, {"width", width}}), "a100",
                    {.dims = {{"sequence", 16}}});
  };
  const Report before = gpt("768"), after = gpt("1536");
  const ReportDiff diff = DiffReports(before, after);
  ASSERT_FALSE(diff.changes.empty());
  EXPECT_LE(diff.changes.size(), 3u);  // one act, not one per node
  ExpectExplained(diff);
}

// Whatever two models have in common, however nodes are fused, with times and without: the changes
// account for the whole difference.
TEST(Diff, ThePartsAddUpToTheTotals) {
  struct Version {
    const char* name;
    NetworkOptions options;
  };
  const std::pair<Version, Version> pairs[] = {
      {{"resnet18", {}}, {"resnet34", {}}},
      {{"resnet50", {{"norm", "kept"}}}, {"resnet101", {}}},
      {{"resnet50", {}}, {"resnet50", {{"norm", "kept"}, {"dtype", "f16"}}}},
      {{"vgg16", {}}, {"vgg19", {}}},
      {{"mobilenet-v2", {}}, {"resnet18", {}}},
      {{"lstm", {}}, {"lstm", {{"layers", "1"}, {"hidden", "512"}}}},
      {{"bert-base", {{"layers", "2"}}}, {"bert-base", {{"layers", "3"}, {"width", "384"}}}},
      {{"gpt2", {{"layers", "2"}}}, {"gpt2", {{"layers", "1"}, {"dtype", "bf16"}}}},
      {{"transformer-base", {}}, {"transformer-base", {{"layers", "4"}}}},
  };
  for (const auto& [one, other] : pairs) {
    for (const Fusion fusion : {Fusion::kNone, Fusion::kDefault, Fusion::kIdeal}) {
      for (const char* gpu : {"", "a100"}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", one.name, other.name, Name(fusion), gpu));
        const auto report = [&](const Version& version) {
          const onnx::ModelProto model = Network(version.name, version.options);
          return ReportOf(model, gpu, variants::Sizes(model, 16), fusion);
        };
        const Report before = report(one), after = report(other);
        ExpectExplained(DiffReports(before, after));
        ExpectExplained(DiffReports(after, before));
      }
    }
  }
}

// Nobody changed the model: what another device makes of it is no node's doing.
TEST(Diff, AnotherDeviceIsTheRest) {
  onnx::ModelProto wide = Network("resnet18");
  variants::SetInts(FindNode(wide, "/layer2/0/conv1/Conv"), "strides", {1, 1});
  variants::SetInts(FindNode(wide, "/layer2/0/downsample/0/Conv"), "strides", {1, 1});
  const Report before = ReportOf(Network("resnet18")), after = ReportOf(wide, "t4");
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_EQ(diff.rest.macs, 0);
  EXPECT_GT(diff.rest.bound, 0);
  EXPECT_THAT(RenderDiffText(diff, {}), HasSubstr("the other conditions: +"));
  EXPECT_NEAR(CostOfAll(diff).bound + diff.rest.bound,
              after.totals.bound.value() - before.totals.bound.value(), 1e-15);
}

TEST(Diff, FromAPromptToOneToken) {
  const onnx::ModelProto one = Network("gpt2", {{"layers", "2"}});
  const onnx::ModelProto other = Network("gpt2", {{"layers", "2"}, {"phase", "decode"}});
  const Report before = ReportOf(one, "a100", variants::Sizes(one, 64));
  const Report after = ReportOf(other, "a100", variants::Sizes(other, 64));
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(Changes(diff), ::testing::Contains("input input_ids: 1x64 -> 1x1"));
  ExpectExplained(diff);
}

TEST(Diff, RenderingsAreTheSameEveryTime) {
  const Report before = ReportOf(Network("resnet50"));
  const Report after = ReportOf(Network("resnet101"));
  const ReportDiff one = DiffReports(before, after), two = DiffReports(before, after);
  EXPECT_EQ(RenderDiffText(one, {}), RenderDiffText(two, {}));
  EXPECT_EQ(RenderDiffMarkdown(one, {}), RenderDiffMarkdown(two, {}));
  EXPECT_EQ(RenderDiffJson(one), RenderDiffJson(two));
}

}  // namespace
}  // namespace dlcost
