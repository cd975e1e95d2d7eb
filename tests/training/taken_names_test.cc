#include "models/gradients/taken_names.h"

#include <gtest/gtest.h>

#include <set>

namespace dlcost {
namespace {

TEST(TakenNames, NumbersThoseThatAreTaken) {
  TakenNames names;
  EXPECT_TRUE(names.Take("x"));
  EXPECT_FALSE(names.Take("x"));
  EXPECT_EQ(names.Unique("x"), "x#2");
  EXPECT_EQ(names.Unique("x"), "x#3");
  EXPECT_EQ(names.Unique("y"), "y");
  EXPECT_EQ(names.Unique("y"), "y#2");
  EXPECT_TRUE(names.Take("z#2"));
  EXPECT_EQ(names.Unique("z"), "z");
  EXPECT_EQ(names.Unique("z"), "z#3");  // z#2 is there
  EXPECT_EQ(names.Unique("x#2"), "x#2#2");
}

TEST(TakenNames, GrowsAndForgetsNone) {
  TakenNames names;
  names.Reserve(10);
  std::set<std::string> all;
  for (int i = 0; i < 5000; ++i) {
    EXPECT_TRUE(all.insert(names.Unique("name" + std::to_string(i % 2500))).second);
  }
  EXPECT_EQ(all.count("name2499#2"), 1u);
  EXPECT_FALSE(names.Take("name0"));
}

}  // namespace
}  // namespace dlcost
