// Names find their numbers, however many there are.

#include "estimator/onnx/name_table.h"

#include <gtest/gtest.h>

#include <deque>
#include <string>

namespace dlcost {
namespace {

TEST(NameTable, FindsWhatWasInserted) {
  NameTable table;
  EXPECT_EQ(table.Find("a"), nullptr);
  EXPECT_TRUE(table.Insert("a", 7));
  EXPECT_TRUE(table.Insert("", -1)) << "a function's input may have no name";
  EXPECT_FALSE(table.Insert("a", 8)) << "it keeps its first number";
  ASSERT_NE(table.Find("a"), nullptr);
  EXPECT_EQ(table.Find("a")->number, 7);
  EXPECT_EQ(table.Find("")->number, -1);
  EXPECT_EQ(table.Find("b"), nullptr);
}

TEST(NameTable, GrowsWithAndWithoutReservation) {
  for (const bool reserved : {false, true}) {
    NameTable table;
    if (reserved) table.Reserve(10'000);
    std::deque<std::string> names;
    for (std::int32_t i = 0; i < 20'000; ++i) {
      ASSERT_TRUE(table.Insert(names.emplace_back("node_" + std::to_string(i)), i));
    }
    for (std::int32_t i = 0; i < 20'000; ++i) {
      ASSERT_NE(table.Find(names[static_cast<std::size_t>(i)]), nullptr);
      EXPECT_EQ(table.Find(names[static_cast<std::size_t>(i)])->number, i);
    }
    EXPECT_EQ(table.Find("node_20000"), nullptr);
    EXPECT_EQ(table.entries().size(), 20'000U);
    EXPECT_EQ(table.entries()[3].name, "node_3") << "in the order of insertion";
  }
}

}  // namespace
}  // namespace dlcost
