#include "estimator/sweep/value_list.h"

#include <gtest/gtest.h>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

using Values = std::vector<std::string>;

Values ValuesOf(const std::string& text) { return ParseValueList("--set k", text); }

std::string MessageOf(const std::string& text) {
  try {
    ParseValueList("--set k", text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ValueList, ListsAndRanges) {
  EXPECT_EQ(ValuesOf("1TB/s"), (Values{"1TB/s"}));
  EXPECT_EQ(ValuesOf("1TB/s,900 GB/s"), (Values{"1TB/s", "900 GB/s"}));
  EXPECT_EQ(ValuesOf("1TB/s:8TB/s"), (Values{"1TB/s", "2TB/s", "4TB/s", "8TB/s"}));
  EXPECT_EQ(ValuesOf("1:9:x3"), (Values{"1", "3", "9"}));
  EXPECT_EQ(ValuesOf("0.5 GHz:2 GHz:0.5 GHz"), (Values{"0.5 GHz", "1 GHz", "1.5 GHz", "2 GHz"}));
  EXPECT_EQ(ValuesOf("40,1:4"), (Values{"40", "1", "2", "4"}));
}

TEST(ValueList, WhatIsNone) {
  EXPECT_EQ(MessageOf("8TB/s:1TB/s"), "--set k 8TB/s:1TB/s: the range runs backwards");
  EXPECT_EQ(MessageOf("800GB/s:1TB/s"), "--set k 800GB/s:1TB/s: write both ends in one unit");
  EXPECT_EQ(
      MessageOf("1TB/s:8TB/s:1GB/s"),
      "--set k 1TB/s:8TB/s:1GB/s: write the step in the unit of both ends, or as a factor: x2");
  EXPECT_EQ(MessageOf("1:8:0"), "--set k 1:8:0: the step goes nowhere");
  EXPECT_EQ(MessageOf("0:8:x2"), "--set k 0:8:x2: the step goes nowhere");
  EXPECT_EQ(MessageOf("1:8:x1"), "--set k 1:8:x1: the step goes nowhere");
  EXPECT_EQ(MessageOf("1:2:3:4"),
            "--set k 1:2:3:4: a range is FIRST:LAST:STEP or FIRST:LAST:xFACTOR");
  EXPECT_EQ(MessageOf("a:b"), "--set k a:b: 'a' does not begin with a number");
  EXPECT_EQ(MessageOf("1,,2"), "--set k '1,,2': an empty name");
  EXPECT_EQ(MessageOf("1:1e9:1"), "--set k 1:1e9:1: more than 1000 values");
}

}  // namespace
}  // namespace dlcost
