#include <gtest/gtest.h>

#include "estimator/compare/compare_fields.h"
#include "tests/report/schema_fields.h"

namespace dlcost {
namespace {

TEST(Schema, OfComparisons) {
  Comparison comparison;
  comparison.by_op.emplace_back();  // what is predicted of the operator ""
  ExpectSchema("compare", kCompareSchema, comparison);
}

}  // namespace
}  // namespace dlcost
