#include "estimator/regress/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/regress/render_diff.h"
#include "estimator/regress/wording.h"
#include "tests/regress/variants.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
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

// Every change in MACs is explained by some change in the model.
void ExpectExplained(const ReportDiff& diff) {
  EXPECT_EQ(CostOfAll(diff).macs,
            diff.after->totals.macs.value() - diff.before->totals.macs.value());
  EXPECT_EQ(CostOfAll(diff).flops,
            diff.after->totals.flops.value() - diff.before->totals.flops.value());
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
  ASSERT_EQ(diff.changes.size(), 2u);
  EXPECT_EQ(Changes(diff)[0],
            "/layer4/0/conv2/Conv: strides 2,2 -> 1,1 (output 1x512x7x7 -> 1x512x14x14)");
  EXPECT_EQ(Changes(diff)[1],
            "/layer4/0/downsample/0/Conv: strides 2,2 -> 1,1 (output 1x2048x7x7 -> "
            "1x2048x14x14)");
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
  EXPECT_THAT(Changes(diff)[0], StartsWith("/layer2/1/conv1/Conv: Conv 1x1, 512 -> 128 channels "
                                           "and Relu replaced by FusedConv"));
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
}

TEST(Diff, AnotherPrecision) {
  const Report before = ReportOf(Network("resnet50"));
  const Report after = ReportOf(Network("resnet50", {{"dtype", "f16"}}));
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(Changes(diff), ::testing::ElementsAre("precision: f32 -> f16 in 122 nodes"));
  EXPECT_EQ(2 * CostOfAll(diff).weight_bytes, -before.model.weight_bytes.value());
}

TEST(Diff, AnotherBatchSize) {
  Bindings eight;
  eight.batch = 8;
  const Report before = ReportOf(Network("resnet50"));
  const Report after = ReportOf(Network("resnet50"), "a100", eight);
  const ReportDiff diff = DiffReports(before, after);
  EXPECT_THAT(Changes(diff), ::testing::ElementsAre("input image: 1x3x224x224 -> 8x3x224x224"));
  EXPECT_THAT(diff.notes, ::testing::ElementsAre("dimension batch: 1 before, 8 after"));
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
