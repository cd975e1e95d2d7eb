#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/regress/diff_fields.h"
#include "tests/report/schema_fields.h"

namespace dlcost {
namespace {

TEST(Schema, OfDifferences) {
  const Report report;
  ReportDiff diff;
  diff.before = diff.after = &report;
  ExpectSchema("diff", kDiffSchema, diff);
}

TEST(Schema, ModelsWithoutSymbolsHaveNoDims) {
  Report report;
  report.totals.macs = Macs(Count(7));
  const nlohmann::json json = nlohmann::json::parse(RenderDiffJson(DiffReports(report, report)));
  EXPECT_EQ(json["before"]["dims"], nlohmann::json::object());
  EXPECT_EQ(json["after"]["device"], nullptr);
  EXPECT_EQ(json["totals"]["macs"]["before"], 7);
}

}  // namespace
}  // namespace dlcost
