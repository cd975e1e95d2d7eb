// Differences and checks say what they rest on, and a report that is read again is as doubtful as
// the one that was written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/hardware/database.h"
#include "estimator/regress/check.h"
#include "estimator/regress/render_check.h"
#include "estimator/regress/render_diff.h"
#include "estimator/regress/report_reader.h"
#include "estimator/report/render.h"
#include "tests/infer/small_model.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// x W for sure, 8 * 16 * 16 = 2048; the rows that a mask takes times V, at most 8 * 16 * `width`.
Report MaskedRows(int width) {
  SmallModel model;
  model.Input("x", {8, 16}).Input("mask", {8}, onnx::TensorProto::BOOL);
  model.Weight("w", {16, 16}).Weight("v", {16, width}).Ints("axis", {0});
  model.Node("MatMul", {"x", "w"}, {"y"});
  model.Node("NonZero", {"mask"}, {"at"}).Node("Squeeze", {"at", "axis"}, {"rows"});
  model.Node("Gather", {"y", "rows"}, {"taken"}).Node("MatMul", {"taken", "v"}, {"z"});
  const InferredModel inferred = model.Output("y").Output("z").Infer();
  const DeviceDatabase database({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"});
  return BuildReport(inferred, database.Find("a100"), {});
}

Report WithUnknown() {
  SmallModel model;
  model.Input("x", {8, 16}).Weight("w", {16, 16}).Node("MatMul", {"x", "w"}, {"y"});
  return BuildReport(model.Node("Mystery", {"y"}, {"z"}).Output("z").Infer(), std::nullopt, {});
}

const CheckItem& ItemOf(const CheckRun& run, const std::string& name) {
  for (const CheckItem& item : run.items) {
    if (item.name == name) return item;
  }
  throw Error("no item {}", name);
}

TEST(Certainty, IsReadBack) {
  const Report report = MaskedRows(4);
  const Report read = ReadReportFromText(RenderJson(report), "report.json");
  EXPECT_EQ(read.certainty.doubt, report.certainty.doubt);
  ASSERT_EQ(read.certainty.causes.size(), 1U);
  EXPECT_EQ(read.certainty.causes[0].node, "n_at");
  EXPECT_EQ(read.certainty.causes[0].macs, Macs(512));
  for (std::size_t i = 0; i < read.nodes.size(); ++i) {
    EXPECT_EQ(read.nodes[i].doubt(), report.nodes[i].doubt()) << report.nodes[i].name;
  }
}

// Reports of versions that had no such block mark nodes alone.
TEST(Certainty, OfAnOlderReportIsThatOfItsNodes) {
  std::string text = RenderJson(MaskedRows(4));
  const std::size_t from = text.find("  \"certainty\": {"), to = text.find("  \"totals\"");
  text.erase(from, to - from);
  const Report read = ReadReportFromText(text, "report.json");
  EXPECT_EQ(read.certainty.doubt.at_most.macs, Macs(512));
  EXPECT_FALSE(read.certainty.Exact());
}

TEST(Certainty, ADifferenceSaysWhatItRestsOn) {
  const Report before = MaskedRows(4), after = MaskedRows(8);
  const ReportDiff diff = DiffReports(before, after);
  const std::string text = RenderDiffText(diff, {});
  EXPECT_THAT(text, HasSubstr("note      before, at most: 512 of 2.560 k MACs"));
  EXPECT_THAT(text, HasSubstr("note      after, at most: 1.024 k of 3.072 k MACs"));
  EXPECT_THAT(text, HasSubstr("<= 2.560 kMAC"));
  EXPECT_THAT(text, HasSubstr("~ +512 MAC"));
  EXPECT_THAT(RenderDiffMarkdown(diff, {}), HasSubstr("before, at most: 512"));
  EXPECT_THAT(RenderDiffJson(diff), HasSubstr("\"before, at most: 512 of 2.560 k MACs"));
  const ReportDiff same = DiffReports(before, before);
  EXPECT_THAT(RenderDiffText(same, {}), HasSubstr("note      both, at most: 512"));
}

TEST(Certainty, AVerdictSaysWhatItRestsOn) {
  const Report report = MaskedRows(4);
  CheckRequest request;
  request.budgets = {ParseBudget("macs=3000"), ParseBudget("macs=2100"),
                     ParseBudget("parameters=1000")};
  const CheckRun run = RunCheck(report, nullptr, request);
  EXPECT_TRUE(run.items[0].passed);
  EXPECT_THAT(run.items[0].detail, HasSubstr("<= 2.560 kMAC, at most 3.000 kMAC; an upper bound"));
  EXPECT_FALSE(run.items[1].passed);
  EXPECT_THAT(run.items[1].detail, HasSubstr("what runs may be within the limit"));
  EXPECT_THAT(run.items[2].detail, Not(HasSubstr("<="))) << "weights are exact";
  const std::string cause = "at most: 512 of 2.560 k MACs (20.0%)";
  EXPECT_THAT(RenderCheckText({run}, 0), HasSubstr(cause));
  EXPECT_THAT(RenderCheckMarkdown({run}), HasSubstr(cause));
  EXPECT_THAT(RenderCheckJunit({run}), HasSubstr("<system-out>" + cause));
  EXPECT_THAT(RenderCheckGithub({run}), HasSubstr("::warning"));
  EXPECT_THAT(RenderCheckJson({run}), HasSubstr(cause));
}

TEST(Certainty, ABudgetOfExactNodesIsExact) {
  const Report report = MaskedRows(4);
  CheckRequest request;
  request.budgets = {ParseBudget("macs[node:n_y]=3000"), ParseBudget("macs[node:n_z]=3000")};
  const CheckRun run = RunCheck(report, nullptr, request);
  EXPECT_THAT(run.items[0].detail, Not(HasSubstr("<=")));
  EXPECT_THAT(run.items[1].detail, HasSubstr("<= 512 MAC"));
}

TEST(Certainty, WhatMustBeKnownOrExactIsChecked) {
  CheckRequest request{.strict = true, .exact = true};
  const CheckRun bounded = RunCheck(MaskedRows(4), nullptr, request);
  EXPECT_TRUE(ItemOf(bounded, "nothing unknown").passed);
  EXPECT_FALSE(ItemOf(bounded, "everything exact").passed);
  const CheckRun unknown = RunCheck(WithUnknown(), nullptr, request);
  EXPECT_FALSE(ItemOf(unknown, "nothing unknown").passed);
  EXPECT_FALSE(ItemOf(unknown, "everything exact").passed);
  request = {.budgets = {ParseBudget("macs=3000")}};
  EXPECT_THAT(RunCheck(WithUnknown(), nullptr, request).items[0].detail,
              HasSubstr(">= 2.048 kMAC, at most 3.000 kMAC; without unknown nodes: what runs may"));
}

}  // namespace
}  // namespace dlcost
