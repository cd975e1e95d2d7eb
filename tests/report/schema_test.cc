#include <gtest/gtest.h>

#include "tests/report/schema_fields.h"

namespace dlcost {
namespace {

TEST(Schema, OfReports) {
  Report report;
  ExpectSchema("report", kReportSchema, report);
}

}  // namespace
}  // namespace dlcost
