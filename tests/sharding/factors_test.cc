// Axes that are tied, divided and put together, and which part of them a device has.
#include "models/sharding/factors.h"

#include <gtest/gtest.h>

namespace dlcost {
namespace {

TEST(Factors, AColumnAxisBecomesHeads) {
  Factors factors;
  const Axis columns = factors.New(768);
  const auto [heads, width] = factors.Divide(columns, 12);
  EXPECT_EQ(factors.SizeOf(heads), 12);
  EXPECT_EQ(factors.SizeOf(width), 64);
  const Factors::Part part = factors.PartOf(columns, {factors.Terms(heads)[0]}, 4);
  EXPECT_EQ(part.size, 192);
  EXPECT_EQ(part.splits, 1);
  EXPECT_TRUE(part.even);
  EXPECT_FALSE(factors.PartOf(columns, {factors.Terms(heads)[0]}, 8).even);
}

TEST(Factors, WhatIsTiedIsDividedTogether) {
  Factors factors;
  const Axis weight = factors.New(768), result = factors.New(768);
  factors.Tie(weight, result);
  const auto [heads, width] = factors.Divide(result, 12);
  EXPECT_EQ(factors.Terms(weight), factors.Terms(result));
  EXPECT_EQ(factors.Terms(weight).size(), 2U);
  EXPECT_EQ(factors.PartOf(weight, {factors.Terms(heads)[0]}, 2).size, 384);
}

// Llama's 32 query heads and twice 8 heads of keys and values in one product, of width 128.
TEST(Factors, QueriesKeysAndValuesOfOneProduct) {
  Factors factors;
  const Axis all = factors.New(6144);
  const std::vector<Axis> parts = {factors.New(4096), factors.New(1024), factors.New(1024)};
  factors.Concatenate(all, parts);
  const auto [keys, width] = factors.Divide(parts[1], 8);
  const auto [values, width2] = factors.Divide(parts[2], 8);
  const auto [shared, group] = factors.Divide(parts[0], 8);
  const FactorId key = factors.Terms(keys)[0];
  // As long as only the keys are split, the whole is not one part for each device.
  EXPECT_FALSE(factors.PartOf(all, {key}, 4).whole);
  factors.Tie(keys, values);
  factors.Tie(keys, shared);
  const Factors::Part part = factors.PartOf(all, {factors.Terms(keys)[0]}, 4);
  EXPECT_TRUE(part.whole);
  EXPECT_EQ(part.splits, 1);
  EXPECT_EQ(part.size, 1024 + 256 + 256);
}

TEST(Factors, SizesThatDoNotNestAreNotSplit) {
  Factors factors;
  const Axis six = factors.New(6);
  const Axis both = factors.New(4);
  factors.Tie(six, both);
  EXPECT_TRUE(factors.blocked(factors.Terms(six)[0]));
  EXPECT_TRUE(factors.blocked(factors.Terms(both)[0]));
}

TEST(Factors, ASumOfSumsIsDividedByItsRest) {
  Factors factors;
  const Axis all = factors.New(48 * 128);
  const std::vector<Axis> parts = {factors.New(32 * 128), factors.New(16 * 128)};
  factors.Concatenate(all, parts);
  const auto [heads, width] = factors.Divide(all, 48);
  EXPECT_EQ(factors.SizeOf(heads), 48);
  EXPECT_EQ(factors.SizeOf(width), 128);
  EXPECT_EQ(factors.Terms(parts[0]).back(), factors.Terms(width)[0]);
}

TEST(Factors, AnAxisJoinedWithItselfOverAndOverEnds) {
  Factors factors;
  Axis axis = factors.New(2);
  for (int i = 0; i < 30; ++i) {
    const Axis twice = factors.New(factors.SizeOf(axis) * 2);
    factors.Concatenate(twice, {axis, axis});
    axis = twice;
  }
  EXPECT_ANY_THROW(factors.Leaves(axis));
}

}  // namespace
}  // namespace dlcost
