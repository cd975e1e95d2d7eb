#include "estimator/regress/report_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/core/error.h"
#include "estimator/regress/diff.h"
#include "estimator/regress/render_diff.h"
#include "estimator/report/render.h"
#include "tests/regress/variants.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

std::string MessageOf(const std::string& text) {
  try {
    ReadReportFromText(text, "baseline.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ReportReader, ReadsWhatTheReportWrites) {
  for (const char* name : {"resnet18", "gpt2"}) {
    for (const char* gpu : {"a100", ""}) {
      Bindings bindings;
      if (std::string(name) == "gpt2") bindings.dims["sequence"] = 8;
      const Report report = variants::ReportOf(variants::Network(name), gpu, bindings);
      const Report read = ReadReportFromText(RenderJson(report), "report.json");
      const ReportDiff diff = DiffReports(report, read);
      EXPECT_TRUE(diff.changes.empty());
      EXPECT_TRUE(diff.Notes().empty());
      for (const TotalRow& row : TotalRows(diff)) EXPECT_FALSE(row.Differs()) << row.metric->name;
      EXPECT_EQ(read.kernels.size() > 0, true);
      EXPECT_EQ(read.nodes.size(), report.nodes.size());
      ASSERT_EQ(read.by_scope.size(), report.by_scope.size());
      for (std::size_t i = 0; i < read.by_scope.size(); ++i) {
        EXPECT_EQ(read.by_scope[i].name, report.by_scope[i].name);
        EXPECT_EQ(read.by_scope[i].sums.macs, report.by_scope[i].sums.macs);
        EXPECT_EQ(read.by_scope[i].kernel_flops, report.by_scope[i].kernel_flops);
      }
      EXPECT_EQ(RenderJson(read), RenderJson(report));
      for (const GroupBy by : {GroupBy::kStory, GroupBy::kLayer}) {
        EXPECT_EQ(RenderText(read, {.by = by}), RenderText(report, {.by = by}));
        EXPECT_EQ(RenderCsv(read, by), RenderCsv(report, by));
      }
    }
  }
}

TEST(ReportReader, SaysWhatIsWrong) {
  EXPECT_THAT(MessageOf("{"), HasSubstr("baseline.json: not a readable dlcost report"));
  EXPECT_THAT(MessageOf("{}"), HasSubstr("not a dlcost report"));
  EXPECT_THAT(MessageOf("[]"), HasSubstr("not a dlcost report"));
  EXPECT_THAT(MessageOf(R"({"schema": "dlcost.report/2"})"),
              HasSubstr("schema dlcost.report/2 is not the one this dlcost reads"));
  EXPECT_THAT(MessageOf(R"({"schema": "dlcost.report/1"})"), HasSubstr("key 'model' not found"));
  EXPECT_THAT(MessageOf(R"({"schema": 7})"), HasSubstr("not a readable dlcost report"));
}

// Whatever is broken in a report, there is one line about it and no crash.
TEST(ReportReader, SurvivesEveryMissingAndMistypedField) {
  const auto json = nlohmann::json::parse(RenderJson(variants::ReportOf(
      variants::Network("lstm", {{"hidden", "8"}}), "a100", {.dims = {{"sequence", 2}}})));
  const auto flat = json.flatten();
  int refused = 0;
  for (const auto& [pointer, value] : flat.items()) {
    nlohmann::json broken = json;
    broken[nlohmann::json::json_pointer(pointer)] = nlohmann::json::array({"wrong"});
    refused += MessageOf(broken.dump()) == "no error" ? 0 : 1;
  }
  EXPECT_GT(refused, static_cast<int>(flat.size()) / 2);
  for (const auto& [key, value] : json.items()) {
    nlohmann::json broken = json;
    broken.erase(key);
    MessageOf(broken.dump());
  }
}

}  // namespace
}  // namespace dlcost
