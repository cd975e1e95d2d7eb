#include "estimator/sweep/distribution.h"

#include <gtest/gtest.h>

namespace dlcost {
namespace {

SweepPoint PointOfSize(std::int64_t size, double seconds, std::int64_t batch = 1) {
  return {
      .sizes = {size}, .items = batch, .flops = Count(size * batch), .expected = Seconds(seconds)};
}

SweepDistribution One(const SweepAxis& axis, const std::vector<SweepPoint>& points) {
  const Model model;
  const Sweep sweep{.model = &model, .axes = {axis}, .devices = {Device{}}};
  const std::vector<SweepDistribution> rows = DistributionsOf(sweep, points);
  EXPECT_EQ(rows.size(), 1u);
  return rows.at(0);
}

const SweepDistribution::Way& WayOf(const SweepDistribution& row, Batching batching) {
  static const SweepDistribution::Way none{};
  const SweepDistribution::Way* way = row.Find(batching);
  EXPECT_NE(way, nullptr) << Name(batching);
  return way == nullptr ? none : *way;
}

// 3 of 1 s, 1 of 5 s: mean 2 s; padded to the longest all take 5 s, and of 4 x 50 positions 120 are
// padding.
TEST(Distribution, RunsOfOneItem) {
  const SweepDistribution row = One({.name = "length", .sizes = {10, 50}, .weights = {3, 1}},
                                    {PointOfSize(10, 1), PointOfSize(50, 5)});
  EXPECT_DOUBLE_EQ(row.mean.value(), 2);
  EXPECT_DOUBLE_EQ(row.p50.value(), 1);
  EXPECT_DOUBLE_EQ(row.p90.value(), 5);
  EXPECT_DOUBLE_EQ(row.mean_flops, 20);
  EXPECT_DOUBLE_EQ(WayOf(row, Batching::kOneLength).total.value(), 8);
  EXPECT_DOUBLE_EQ(WayOf(row, Batching::kOneLength).padding, 0);
  EXPECT_DOUBLE_EQ(WayOf(row, Batching::kLongest).total.value(), 20);
  EXPECT_DOUBLE_EQ(WayOf(row, Batching::kLongest).padding, 0.6);
  EXPECT_EQ(row.ways.size(), 2u);  // alone, nothing is sorted, and nothing waits for others
}

// Batches of 2 from 5 of 10, 3 of 20 and 2 of 40; a run of 2 takes 1, 3 and 8 s.
SweepDistribution InTwos() {
  return One(
      {.name = "length", .sizes = {10, 20, 30, 40}, .weights = {5, 3, 0, 2}, .buckets = {30, 40}},
      {PointOfSize(10, 1, 2), PointOfSize(20, 3, 2), PointOfSize(30, 5, 2), PointOfSize(40, 8, 2)});
}

TEST(Distribution, BatchesOfOneLength) {
  const SweepDistribution row = InTwos();
  EXPECT_EQ(row.batch, 2);
  EXPECT_DOUBLE_EQ(row.items, 10);
  EXPECT_DOUBLE_EQ(WayOf(row, Batching::kOneLength).total.value(), 2.5 * 1 + 1.5 * 3 + 1 * 8);
  EXPECT_DOUBLE_EQ(row.mean.value(), 3);
  EXPECT_DOUBLE_EQ(row.mean_flops, 19);
}

// From the longest on: 40 40, 20 20, 20 10, 10 10, 10 10.
TEST(Distribution, SortedBatches) {
  const SweepDistribution row = InTwos();
  const SweepDistribution::Way& way = WayOf(row, Batching::kSorted);
  EXPECT_DOUBLE_EQ(way.total.value(), 8 + 3 + 3 + 1 + 1);
  EXPECT_DOUBLE_EQ(way.padding, 1 - 190.0 / 200);
  EXPECT_DOUBLE_EQ(way.flops, 200);
}

// 8 items padded to 30, 2 to 40.
TEST(Distribution, Buckets) {
  const SweepDistribution row = InTwos();
  const SweepDistribution::Way& way = WayOf(row, Batching::kBucketed);
  EXPECT_DOUBLE_EQ(way.total.value(), 4 * 5 + 8);
  EXPECT_DOUBLE_EQ(way.padding, 1 - 190.0 / (8 * 30 + 2 * 40));
}

// The longer of two draws: 10 with 0.25, 20 with 0.64 - 0.25, 40 with 0.36; five batches.
TEST(Distribution, BatchesAsTheyCome) {
  const SweepDistribution row = InTwos();
  const SweepDistribution::Way& way = WayOf(row, Batching::kAsTheyCome);
  EXPECT_NEAR(way.total.value(), 5 * (0.25 * 1 + 0.39 * 3 + 0.36 * 8), 1e-12);
  EXPECT_NEAR(way.padding, 1 - 190 / (10 * (0.25 * 10 + 0.39 * 20 + 0.36 * 40)), 1e-12);
}

TEST(Distribution, LeastPaddingFirst) {
  const SweepDistribution row = InTwos();
  ASSERT_EQ(row.ways.size(), 5u);
  EXPECT_EQ(row.ways.front().batching, Batching::kOneLength);
  EXPECT_EQ(row.ways.back().batching, Batching::kLongest);
}

// Shares of traffic are no items that could be put in order.
TEST(Distribution, SharesAreNotSorted) {
  const SweepDistribution row = One({.name = "length", .sizes = {10, 20}, .weights = {0.7, 0.3}},
                                    {PointOfSize(10, 1, 2), PointOfSize(20, 3, 2)});
  EXPECT_EQ(row.Find(Batching::kSorted), nullptr);
  EXPECT_NEAR(WayOf(row, Batching::kOneLength).total.value(), 0.35 * 1 + 0.15 * 3, 1e-12);
}

}  // namespace
}  // namespace dlcost
