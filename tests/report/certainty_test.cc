// What is not exact is told apart, with its cause, before any total. All counts by hand.

#include "estimator/report/certainty.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/hardware/database.h"
#include "estimator/report/certainty_text.h"
#include "estimator/report/render.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Device A100() {
  return DeviceDatabase({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"}).Find("a100");
}

Report FusedReport(const InferredModel& model, const std::optional<Device>& device = {}) {
  ReportOptions options;
  options.plan.fusion = Fusion::kDefault;
  return BuildReport(model, device, options);
}

InferredModel InferWith(const SmallModel& model, const ControlChoices& control = {}) {
  InferOptions options;
  options.control = control;
  return Infer(model.Read(), options);
}

// y = x W: 8 * 16 * 16 = 2048 multiply-accumulates for sure; and the rows that a mask takes, times
// V: at most 8 * 16 * 4 = 512.
SmallModel RowsOfAMask() {
  SmallModel model;
  model.Input("x", {8, 16}).Input("mask", {8}, onnx::TensorProto::BOOL);
  model.Weight("w", {16, 16}).Weight("v", {16, 4}).Ints("axis", {0});
  model.Node("MatMul", {"x", "w"}, {"y"});
  model.Node("NonZero", {"mask"}, {"at"}).Node("Squeeze", {"at", "axis"}, {"rows"});
  model.Node("Gather", {"y", "rows"}, {"taken"}).Node("MatMul", {"taken", "v"}, {"z"});
  return model.Output("y").Output("z");
}

TEST(Certainty, UpperBoundsAreToldApartWithTheirCause) {
  const Report report = FusedReport(RowsOfAMask().Infer(), A100());
  EXPECT_EQ(report.totals.macs, Macs(2048 + 512));
  const Doubt& doubt = report.certainty.doubt;
  EXPECT_EQ(doubt.at_most.macs, Macs(512));
  EXPECT_EQ(doubt.at_most.flops, Flops(2 * 512 + 8)) << "NonZero compares its 8 elements";
  EXPECT_EQ(doubt.at_most.nodes, 3) << "NonZero, Gather and MatMul; Squeeze moves nothing";
  EXPECT_EQ(doubt.assumed, Doubt::Part());
  EXPECT_FALSE(report.certainty.Exact());
  ASSERT_EQ(report.certainty.causes.size(), 1U);
  EXPECT_EQ(report.certainty.causes[0].node, "n_at");
  EXPECT_EQ(report.certainty.causes[0].op, "NonZero");
  EXPECT_EQ(report.certainty.causes[0].macs, Macs(512));
  EXPECT_EQ(report.certainty.causes[0].nodes, 3);
}

TEST(Certainty, ABoundLeavesOutWhatMayNotRun) {
  const Report report = FusedReport(RowsOfAMask().Infer(), A100());
  Seconds certain, doubtful;
  for (const KernelRow& kernel : report.kernels) {
    if (kernel.doubt.at_most == Doubt::Part()) {
      certain += kernel.sums.bound;
    } else {
      EXPECT_EQ(kernel.sums.bound, Seconds()) << kernel.label;
      doubtful += kernel.doubt.at_most.time;
    }
  }
  EXPECT_GT(certain, Seconds());
  EXPECT_GT(doubtful, Seconds());
  EXPECT_DOUBLE_EQ(report.totals.bound.value(), certain.value());
  EXPECT_DOUBLE_EQ(report.certainty.doubt.at_most.time.value(), doubtful.value());
  EXPECT_EQ(BoundStanding(report.certainty.doubt), Standing::kExact);
  EXPECT_EQ(ExpectedStanding(report.certainty.doubt), Standing::kAtMost);
}

TEST(Certainty, EveryFormatSaysSo) {
  const Report report = FusedReport(RowsOfAMask().Infer(), A100());
  const std::string text = RenderText(report, {});
  EXPECT_THAT(text, HasSubstr("at most   512 of 2.560 k MACs (20.0%)"));
  EXPECT_THAT(text, HasSubstr("from n_at (NonZero): 512 MACs in 3 nodes"));
  EXPECT_THAT(text, HasSubstr("<= 2.560 k"));
  EXPECT_LT(text.find("at most"), text.find("operator "));
  for (const GroupBy by : {GroupBy::kScope, GroupBy::kNode, GroupBy::kKernel}) {
    EXPECT_THAT(RenderText(report, {.by = by}), HasSubstr("<= 2.560 k"));
  }
  for (const GroupBy by : {GroupBy::kOp, GroupBy::kScope, GroupBy::kNode, GroupBy::kKernel}) {
    const std::string csv = RenderCsv(report, by);
    EXPECT_THAT(csv, HasSubstr(",certainty,runtime\n"));
    EXPECT_THAT(csv, HasSubstr(",at most,\n"));
  }
  EXPECT_THAT(RenderCsv(report, GroupBy::kNode), HasSubstr(",exact,\n"));
  const std::string markdown = RenderMarkdown(report);
  EXPECT_THAT(markdown, HasSubstr("\\<= 2.560 k MACs"));
  EXPECT_LT(markdown.find("**at most**"), markdown.find("By operator"));
  const std::string json = RenderJson(report);
  EXPECT_THAT(json, HasSubstr("\"exact\": false"));
  EXPECT_LT(json.find("\"certainty\""), json.find("\"totals\""));
}

// Rows that a mask takes are written into y, which is [8, 16] whatever they are: the product behind
// it is exact.
TEST(Certainty, WhatIsWrittenIntoATensorLeavesItsSizeKnown) {
  SmallModel model;
  model.Input("y", {8, 16}).Input("mask", {8}, onnx::TensorProto::BOOL);
  model.Weight("v", {16, 4}).Ints("axis", {0});
  model.Node("NonZero", {"mask"}, {"at"}).Node("Squeeze", {"at", "axis"}, {"rows"});
  model.Node("Gather", {"y", "rows"}, {"taken"});
  SetInts(model.AddNode("Transpose", {"at"}, {"where"}), "perm", {1, 0});
  model.Node("ScatterND", {"y", "where", "taken"}, {"back"});
  model.Node("MatMul", {"back", "v"}, {"z"}).Output("z");
  const InferredModel inferred = model.Infer();
  EXPECT_TRUE(NodeOf(inferred, "n_back").upper_bound) << "it writes no more rows than 8";
  EXPECT_FALSE(NodeOf(inferred, "n_z").upper_bound);
  EXPECT_EQ(FusedReport(inferred).certainty.doubt.at_most.macs, Macs(0));
}

TEST(Certainty, NothingIsSaidWhereAllIsExact) {
  SmallModel model;
  model.Input("x", {8, 16}).Weight("w", {16, 16}).Node("MatMul", {"x", "w"}, {"y"}).Output("y");
  const Report report = FusedReport(model.Infer());
  EXPECT_TRUE(report.certainty.Silent());
  EXPECT_THAT(RenderText(report, {}), Not(HasSubstr("<=")));
  EXPECT_THAT(RenderCsv(report, GroupBy::kOp), HasSubstr(",exact,\n"));
}

// A weight made of two others: 16 * 16 * 16 that constant folding saves.
TEST(Certainty, FoldedProductsAreCountedApart) {
  SmallModel model;
  model.Input("x", {8, 16}).Weight("w", {16, 16}).Weight("v", {16, 16});
  model.Node("MatMul", {"w", "v"}, {"wv"}).Node("MatMul", {"x", "wv"}, {"y"}).Output("y");
  const Report report = FusedReport(model.Infer());
  EXPECT_EQ(report.totals.macs, Macs(8 * 16 * 16));
  EXPECT_EQ(report.certainty.folded_macs, Macs(16 * 16 * 16));
  EXPECT_EQ(report.certainty.folded_nodes, 1);
  EXPECT_TRUE(report.certainty.Exact()) << "a fact, told apart";
  EXPECT_THAT(RenderText(report, {}), HasSubstr("folded    4.096 k MACs in 1 node"));
}

TEST(Certainty, UnknownNodesMakeTotalsTooLow) {
  SmallModel model;
  model.Input("x", {8, 16}).Weight("w", {16, 16}).Node("MatMul", {"x", "w"}, {"y"});
  model.Node("Mystery", {"y"}, {"z"}).Output("z");
  const Report report = FusedReport(model.Infer());
  EXPECT_EQ(report.certainty.doubt.unknown, 1);
  const std::string text = RenderText(report, {});
  EXPECT_THAT(text, HasSubstr("unknown   1 node in no total"));
  EXPECT_THAT(text, HasSubstr(">= 2.048 k"));
  EXPECT_THAT(text, HasSubstr("Mystery       1           ?"));
}

// Two products against one; `wide` is a weight that makes the second branch impossible.
SmallModel OpenIf(bool possible) {
  SmallModel then_branch, else_branch;
  then_branch.Node("MatMul", {"x", "w"}, {"a"}).Node("MatMul", {"a", "w"}, {"b"}).Output("b");
  else_branch.Node("MatMul", {"x", possible ? "w" : "wide"}, {"c"}).Output("c");
  SmallModel model;
  model.Input("x", {4, 8}).Input("open", {1}, onnx::TensorProto::BOOL);
  model.Weight("w", {8, 8}).Weight("wide", {9, 8});
  onnx::NodeProto& node = model.AddNode("If", {"open"}, {"y"});
  SetGraph(node, "then_branch", then_branch);
  SetGraph(node, "else_branch", else_branch);
  return model.Output("y");
}

TEST(Certainty, AnOpenBranchSaysWhatTheOtherCosts) {
  const Report report = FusedReport(InferWith(OpenIf(true)));
  ASSERT_EQ(report.certainty.branches.size(), 1U);
  const OpenBranch& branch = report.certainty.branches[0];
  EXPECT_TRUE(branch.then_counted);
  EXPECT_EQ(branch.counted.macs, Macs(512));
  ASSERT_TRUE(branch.other.has_value());
  EXPECT_EQ(branch.other->macs, Macs(256));
  EXPECT_EQ(report.certainty.doubt.at_most.macs, Macs(512));
  EXPECT_THAT(RenderText(report, {}),
              HasSubstr("branch    n_y is open: then is counted (512 MACs); else would be 256"));
}

// Five times round a loop: what the branches cost is said of all runs.
TEST(Certainty, AnOpenBranchInALoopCountsAllRuns) {
  SmallModel then_branch, else_branch;
  then_branch.Node("MatMul", {"h", "w"}, {"a"}).Node("MatMul", {"a", "w"}, {"b"}).Output("b");
  else_branch.Node("MatMul", {"h", "w"}, {"d"}).Output("d");
  SmallModel body;
  body.Input("i", {}, onnx::TensorProto::INT64).Input("c", {}, onnx::TensorProto::BOOL);
  body.Input("h", {4, 8}).Node("Identity", {"c"}, {"c2"});
  onnx::NodeProto& node = body.AddNode("If", {"open"}, {"h2"});
  SetGraph(node, "then_branch", then_branch);
  SetGraph(node, "else_branch", else_branch);
  body.Output("c2").Output("h2");
  SmallModel model;
  model.Input("x", {4, 8}).Input("open", {1}, onnx::TensorProto::BOOL);
  model.Weight("w", {8, 8}).Ints("n", {5});
  SetGraph(model.AddNode("Loop", {"n", "", "x"}, {"y"}), "body", body);
  const Report report = FusedReport(InferWith(model.Output("y")));
  EXPECT_EQ(report.totals.macs, Macs(5 * 512));
  ASSERT_EQ(report.certainty.branches.size(), 1U);
  EXPECT_EQ(report.certainty.branches[0].node, "n_y/n_h2");
  EXPECT_EQ(report.certainty.branches[0].counted.macs, Macs(5 * 512));
  EXPECT_EQ(report.certainty.branches[0].other->macs, Macs(5 * 256));
}

TEST(Certainty, ABranchThatCannotRunIsNotCheaper) {
  const InferredModel model = InferWith(OpenIf(false));
  EXPECT_THAT(NodeOf(model, "n_y").cost.note, HasSubstr("the else branch cannot run"));
  EXPECT_THAT(NodeOf(model, "n_y").cost.note, Not(HasSubstr("costs more")));
  const Report report = FusedReport(model);
  ASSERT_EQ(report.certainty.branches.size(), 1U);
  EXPECT_FALSE(report.certainty.branches[0].other.has_value());
  EXPECT_EQ(report.certainty.doubt.at_most, Doubt::Part()) << "the only one that can run";
  EXPECT_THAT(RenderText(report, {}), HasSubstr("; else cannot run: "));
}

TEST(Certainty, ChoicesOfTheUserAreListed) {
  ControlChoices choices;
  AddBranch(choices, "n_y=else");
  const Report report = FusedReport(InferWith(OpenIf(true), choices));
  EXPECT_TRUE(report.certainty.branches.empty());
  ASSERT_EQ(report.certainty.settled.size(), 1U);
  EXPECT_EQ(report.certainty.settled[0], (Settled{"--branch", "n_y", "else"}));
  EXPECT_TRUE(report.certainty.Exact());
  EXPECT_THAT(RenderText(report, {}), HasSubstr("given     --branch n_y=else"));
}

// A loop's condition is computed at run time: what it runs is at most its limit.
TEST(Certainty, ALoopThatMayStopIsTheCauseOfWhatIsInside) {
  SmallModel body;
  body.Input("i", {}, onnx::TensorProto::INT64).Input("c", {}, onnx::TensorProto::BOOL);
  body.Input("h", {4, 8}).Node("MatMul", {"h", "w"}, {"h2"});
  body.Node("ReduceSum", {"h2"}, {"s"}).Node("Cast", {"s"}, {"c2"}).Output("c2").Output("h2");
  SetInt(*body.proto().mutable_graph()->mutable_node(1), "keepdims", 0);
  SetInt(*body.proto().mutable_graph()->mutable_node(2), "to", onnx::TensorProto::BOOL);
  SmallModel model;
  model.Input("x", {4, 8}).Weight("w", {8, 8}).Ints("n", {5});
  SetGraph(model.AddNode("Loop", {"n", "", "x"}, {"y"}), "body", body);
  const Report report = FusedReport(InferWith(model.Output("y")));
  EXPECT_EQ(report.certainty.doubt.at_most.macs, Macs(5 * 256));
  ASSERT_EQ(report.certainty.causes.size(), 1U);
  EXPECT_EQ(report.certainty.causes[0].node, "n_y");
  EXPECT_THAT(report.certainty.causes[0].why, HasSubstr("may stop before its 5 iterations"));
}

TEST(Certainty, MarksCombine) {
  Doubt doubt;
  EXPECT_EQ(Marked(MacsStanding(doubt), "5"), "5");
  doubt.at_most.macs = Macs(1);
  EXPECT_EQ(Marked(MacsStanding(doubt), "5"), "<= 5");
  doubt.unknown = 1;
  EXPECT_EQ(Marked(MacsStanding(doubt), "5"), "~ 5");
  EXPECT_EQ(Word(doubt), "at most, incomplete");
  doubt.at_most = {};
  EXPECT_EQ(Marked(MacsStanding(doubt), "5"), ">= 5");
  EXPECT_EQ(Marked(MacsStanding(doubt), "-"), "?");
  doubt.assumed.macs = Macs(1);
  EXPECT_EQ(Marked(MacsStanding(doubt), "5"), "~ 5");
}

}  // namespace
}  // namespace dlcost
