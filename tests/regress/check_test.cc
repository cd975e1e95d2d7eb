#include "estimator/regress/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "estimator/core/error.h"
#include "estimator/regress/render_check.h"
#include "tests/regress/variants.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using variants::Network;
using variants::ReportOf;

std::string Message(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// One stride removed, with a smaller change beside it.
Report Regressed() {
  onnx::ModelProto model = Network("resnet18");
  variants::SetInts(variants::FindNode(model, "/layer2/0/conv1/Conv"), "strides", {1, 1});
  variants::SetInts(variants::FindNode(model, "/layer2/0/downsample/0/Conv"), "strides", {1, 1});
  variants::SetInts(variants::FindNode(model, "/layer2/0/downsample/0/Conv"), "pads", {0, 0, 0, 0});
  variants::SetWeightShape(model, "layer4.1.conv1.weight", {640, 512, 3, 3});
  variants::SetWeightShape(model, "layer4.1.conv1.bias", {640});
  variants::SetWeightShape(model, "layer4.1.conv2.weight", {512, 640, 3, 3});
  return ReportOf(model);
}

TEST(Limit, ReadsUnitsAndGrowth) {
  const auto value = [](const char* text, MetricUnit unit) { return ParseLimit(text, unit).value; };
  EXPECT_DOUBLE_EQ(value("8.2 GFLOP", MetricUnit::kFlops), 8.2e9);
  EXPECT_DOUBLE_EQ(value("8.2G", MetricUnit::kMacs), 8.2e9);
  EXPECT_EQ(value("25_000_000", MetricUnit::kNumber), 25e6);
  EXPECT_EQ(value("25,000", MetricUnit::kNumber), 25e3);
  EXPECT_EQ(value("40 MB", MetricUnit::kBytes), 40e6);
  EXPECT_EQ(value("3 GiB", MetricUnit::kBytes), 3 * 1073741824.0);
  EXPECT_DOUBLE_EQ(value("1.5 ms", MetricUnit::kSeconds), 1.5e-3);
  EXPECT_DOUBLE_EQ(value("2", MetricUnit::kSeconds), 2);
  EXPECT_EQ(ParseLimit("+2 %", MetricUnit::kMacs).kind, Limit::Kind::kRelative);
  EXPECT_DOUBLE_EQ(value("-5%", MetricUnit::kMacs), -0.05);
  EXPECT_EQ(ParseLimit("+10 MB", MetricUnit::kBytes).kind, Limit::Kind::kGrowth);
  for (const char* wrong : {"", "much", "5 %", "8 GB", "1 Gi", "+", "nan", "inf", "8 GFLOPS"}) {
    EXPECT_THAT(Message([&] { ParseLimit(wrong, MetricUnit::kFlops); }), HasSubstr("is no limit"))
        << wrong;
  }
}

TEST(Budget, ReadsTheCommandLine) {
  const Budget budget = ParseBudget("macs[op:Conv*]=+2%");
  EXPECT_EQ(budget.subset.op, "Conv*");
  EXPECT_EQ(BudgetText(budget), "MACs of Conv*");
  EXPECT_THAT(Message([] { ParseBudget("mac=1"); }), HasSubstr("did you mean 'macs'?"));
  EXPECT_THAT(Message([] { ParseBudget("macs"); }), HasSubstr("METRIC=LIMIT"));
  EXPECT_THAT(Message([] { ParseBudget("macs[layer:1]=1"); }), HasSubstr("op, scope or node"));
  EXPECT_THAT(Message([] { ParseBudget("peak_activation_bytes[op:Conv]=1"); }),
              HasSubstr("of the whole model"));
}

TEST(BudgetFile, ReadsEverything) {
  const BudgetFile file = ReadBudgetText(R"(
on:
  - {gpu: a100, batch: 8}
  - {gpu: l4, dim: {sequence: 128}}
budgets:
  - {metric: flops, max: 8.3 GFLOP}
  - {metric: bytes, scope: layer4, max: +1 %}
new_operators: forbid
fits_on: [l4]
)",
                                         "budget.yaml");
  ASSERT_EQ(file.on.size(), 2u);
  EXPECT_EQ(file.on[0].batch->Sizes(), std::vector<std::int64_t>{8});
  EXPECT_EQ(file.on[1].dims.at("sequence").Sizes(), std::vector<std::int64_t>{128});
  EXPECT_FALSE(file.on[1].IsRange());
  ASSERT_EQ(file.budgets.size(), 2u);
  EXPECT_EQ(file.budgets[1].subset.scope, "layer4");
  EXPECT_TRUE(file.forbid_new_operators);
}

TEST(BudgetFile, ErrorsNameTheLine) {
  const auto message = [](const std::string& text) {
    return Message([&] { ReadBudgetText(text, "budget.yaml"); });
  };
  EXPECT_EQ(message("budgets:\n  - {metric: flop, max: 1}\n").substr(0, 14), "budget.yaml:2:");
  EXPECT_THAT(message("budgets:\n  - {metric: flop, max: 1}\n"),
              HasSubstr("did you mean 'flops'?"));
  EXPECT_THAT(message("budgts: []\n"),
              HasSubstr("budget.yaml:1: no key 'budgts' here (did you mean 'budgets'?)"));
  EXPECT_THAT(message("budgets: 3\n"), HasSubstr("budgets is a list"));
  EXPECT_THAT(message("budgets:\n  - {metric: flops}\n"), HasSubstr("needs metric and max"));
  EXPECT_THAT(message("on:\n  - {batch: many}\n"),
              HasSubstr("budget.yaml:2: batch many: 'many' is no size"));
  EXPECT_THAT(message("new_operators: maybe\n"), HasSubstr("allow or forbid"));
  EXPECT_THAT(message("a: [\n"), StartsWith("budget.yaml:"));
  EXPECT_THAT(message("- 1\n"), HasSubstr("budget.yaml:1:"));
}

TEST(Check, PassesAgainstItself) {
  const Report report = ReportOf(Network("resnet18"));
  const CheckRun run = RunCheck(report, &report, {.budgets = NoGrowth(report)});
  EXPECT_TRUE(run.Passed()) << RenderCheckText({run});
  EXPECT_GT(run.items.size(), 7u);
  EXPECT_TRUE(run.notes.empty());
}

TEST(Check, NamesTheOffendingNodeFirst) {
  const Report baseline = ReportOf(Network("resnet18")), report = Regressed();
  const CheckRun run = RunCheck(report, &baseline, {.budgets = {ParseBudget("macs=+2%")}});
  ASSERT_FALSE(run.Passed());
  ASSERT_EQ(run.items[0].offenders.size(), 2u);
  EXPECT_THAT(
      run.items[0].offenders[0],
      StartsWith("/layer2/0/conv1/Conv and /layer2/0/downsample/0/Conv: strides 2,2 -> 1,1"));
  EXPECT_THAT(run.items[0].offenders[1],
              StartsWith("layer4/1: conv1 widened from 512 to 640 output channels; conv2 reads 640 "
                         "instead of 512: +"));
}

TEST(Check, LimitsAPart) {
  const Report report = ReportOf(Network("resnet18"));
  const auto check = [&](const char* budget) {
    return RunCheck(report, nullptr, {.budgets = {ParseBudget(budget)}}).Passed();
  };
  // 512 x 1000 products in the last layer.
  EXPECT_TRUE(check("macs[op:Gemm]=512000"));
  EXPECT_FALSE(check("macs[op:Gemm]=511999"));
  EXPECT_TRUE(check("macs[scope:fc]=512 k"));
  EXPECT_FALSE(check("macs[node:/layer1/*]=1"));
  EXPECT_TRUE(check("macs[scope:layer]=0"));  // a module, not a prefix of its name
}

TEST(Check, APartThatThereIsNotIsAMistake) {
  const Report report = ReportOf(Network("resnet18"));
  const auto said = [&](const char* budget, const Report* baseline = nullptr) {
    return Message([&] { RunCheck(report, baseline, {.budgets = {ParseBudget(budget)}}); });
  };
  EXPECT_THAT(said("macs[op:Cnv]=1"),
              HasSubstr("the model has no operator 'Cnv' (did you mean 'Conv'?)"));
  EXPECT_THAT(said("macs[scope:layr3]=1"), HasSubstr("no module 'layr3' (did you mean 'layer3'?)"));
  EXPECT_THAT(said("macs[node:*layre4*]=1"), HasSubstr("(did you mean 'layer4'?)"));
  EXPECT_THAT(said("macs[op:Cnv]=+1%", &report), HasSubstr("model and baseline have no operator"));
  Budget both = ParseBudget("macs[op:Conv]=1");
  both.subset.scope = "fc";
  EXPECT_THAT(Message([&] { RunCheck(report, nullptr, {.budgets = {both}}); }),
              HasSubstr("no node that is all of that"));
  EXPECT_EQ(said("macs[op:Cnv]=0"), "no error");  // to stay out
  // It was removed.
  Report more = report;
  more.nodes.front().op = "Cnv";
  EXPECT_EQ(said("macs[op:Cnv]=+1%", &more), "no error");
  EXPECT_EQ(said("macs[op:Cnv]=1", &more), "no error");
}

TEST(Check, NewOperatorsAndMemory) {
  const Report baseline = ReportOf(Network("resnet18"));
  onnx::ModelProto model = Network("resnet18");
  variants::FindNode(model, "/layer1/0/Relu").set_op_type("HardSwish");
  const Report report = ReportOf(model);
  const DeviceDatabase database({std::string(DLCOST_SOURCE_DIR) + "/hw_specs"});
  Device tiny = database.Find("t4");
  tiny.id = "tiny";
  tiny.memory.size = Bytes(40'000'000);
  const CheckRun run = RunCheck(
      report, &baseline, {.forbid_new_operators = true, .fits_on = {database.Find("t4"), tiny}});
  ASSERT_EQ(run.items.size(), 3u);
  EXPECT_FALSE(run.items[0].passed);
  EXPECT_THAT(run.items[0].offenders[0], HasSubstr("HardSwish"));
  EXPECT_TRUE(run.items[1].passed);
  EXPECT_FALSE(run.items[2].passed);
}

TEST(Check, SaysWhatItNeeds) {
  const Report report = ReportOf(Network("resnet18"), "");
  EXPECT_THAT(Message([&] { RunCheck(report, nullptr, {.budgets = {ParseBudget("macs=+2%")}}); }),
              HasSubstr("needs a baseline of model.onnx, batch=1: give --baseline"));
  EXPECT_THAT(Message([&] { RunCheck(report, nullptr, {.budgets = {ParseBudget("bound_s=1")}}); }),
              HasSubstr("needs a device"));
  EXPECT_THAT(Message([&] { RunCheck(report, nullptr, {.forbid_new_operators = true}); }),
              HasSubstr("needs a baseline"));
}

TEST(Check, SaysThatABaselineIsStale) {
  const Report report = ReportOf(Network("resnet18"));
  Report baseline = report;
  baseline.device->bandwidth = ByteRate(1e12);
  EXPECT_THAT(StaleReasons(DiffReports(baseline, report))[0], HasSubstr("stale"));
  baseline = report;
  baseline.options.convention = "mac";
  EXPECT_THAT(StaleReasons(DiffReports(baseline, report))[0], HasSubstr("convention: mac before"));
  EXPECT_TRUE(StaleReasons(DiffReports(report, report)).empty());
}

TEST(Check, EveryFormatTellsTheSame) {
  const Report baseline = ReportOf(Network("resnet18")), report = Regressed();
  const std::vector<CheckRun> runs = {RunCheck(report, &baseline, {.budgets = NoGrowth(baseline)})};
  const std::string node = "/layer2/0/conv1/Conv and /layer2/0/downsample/0/Conv: strides 2,2 -";
  EXPECT_THAT(RenderCheckText(runs), HasSubstr(node));
  EXPECT_THAT(RenderCheckJunit(runs), HasSubstr(node));
  EXPECT_THAT(RenderCheckMarkdown(runs), HasSubstr(node));
  EXPECT_THAT(RenderCheckJson(runs), HasSubstr(node));
  // One line per command: line breaks of the message are escaped.
  const std::string github = RenderCheckGithub(runs);
  EXPECT_THAT(github, StartsWith("::error file=model.onnx,title=dlcost%3A MACs::/layer2/0/conv1/"));
  for (const char* line = github.c_str(); *line != '\0'; line = std::strchr(line, '\n') + 1) {
    EXPECT_EQ(std::string(line, 2), "::");
  }
}

}  // namespace
}  // namespace dlcost
