#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/core/error.h"
#include "estimator/regress/check.h"
#include "estimator/regress/render_check.h"

namespace dlcost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CheckConditions, RangesAreEveryCombination) {
  const BudgetFile file = ReadBudgetText(R"(
on:
  - {gpu: t4, batch: "1:4:x2", dim: {sequence: [16, 32:34:2], heads: 8}}
)",
                                         "budget.yaml");
  const CheckConditions& on = file.on.at(0);
  EXPECT_TRUE(on.IsRange());
  EXPECT_EQ(on.SizesText(), "batch=1 to 4, heads=8, sequence=16 to 34");
  const std::vector<CheckConditions> points = on.Points();
  ASSERT_EQ(points.size(), 9u);
  EXPECT_EQ(points[0].gpu, "t4");
  EXPECT_EQ(on.NameOf(points[0]), "batch=1, sequence=16");
  EXPECT_EQ(on.NameOf(points[5]), "batch=2, sequence=34");
  EXPECT_EQ(points[5].SizesText(), "batch=2, heads=8, sequence=34");
}

TEST(CheckConditions, WhatIsNoRange) {
  const auto message = [](const std::string& batch) {
    try {
      ReadBudgetText("on:\n  - {batch: " + batch + "}\n", "b.yaml").on[0].Points();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message("\"64:1\""), "b.yaml:2: batch 64:1: the range runs backwards; write 1:64");
  EXPECT_EQ(message("many"), "b.yaml:2: batch many: 'many' is no size");
  EXPECT_EQ(message("-1"), "b.yaml:2: batch -1: '-1' is no size");
  EXPECT_THAT(message("\"1:1000000\""), HasSubstr("10000 sizes at most"));
}

CheckRun RunOf(double value, double allowed) {
  return {.title = "m.onnx on t4, runtime generic by default, batch=1",
          .path = "m.onnx",
          .items = {{.name = "MACs",
                     .detail = std::to_string(static_cast<int>(value)),
                     .passed = value <= allowed,
                     .value = value,
                     .allowed = allowed}},
          .notes = {"a note"}};
}

TEST(CheckRange, SaysWhichSizeBreaksALimit) {
  const CheckRun all = OverRange("batch=1 to 4", {"batch=1", "batch=2", "batch=4"},
                                 {RunOf(5, 10), RunOf(30, 10), RunOf(20, 10)});
  EXPECT_EQ(all.title, "m.onnx on t4, runtime generic by default, batch=1 to 4 (3 sizes)");
  EXPECT_FALSE(all.Passed());
  ASSERT_EQ(all.items.size(), 1u);
  EXPECT_EQ(all.items[0].detail, "broken at 2 of 3 sizes, first at batch=2, most at batch=2: 30");
  EXPECT_THAT(all.items[0].broken, ElementsAre("batch=2", "batch=4"));
  EXPECT_THAT(all.notes, ElementsAre("a note"));
  EXPECT_THAT(RenderCheckJson({all}), HasSubstr("\"point\": \"batch=2\""));
}

TEST(CheckRange, SaysWhichSizeComesNearest) {
  const CheckRun all =
      OverRange("batch=1 to 2", {"batch=1", "batch=2"}, {RunOf(9, 10), RunOf(5, 10)});
  EXPECT_TRUE(all.Passed());
  EXPECT_EQ(all.items[0].detail, "nearest at batch=1: 9");
  EXPECT_TRUE(all.items[0].broken.empty());
}

}  // namespace
}  // namespace dlcost
