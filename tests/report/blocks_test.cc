#include "estimator/report/blocks.h"

#include <gtest/gtest.h>

#include <limits>

namespace dlcost {
namespace {

TEST(ShareBar, CountsEighths) {
  EXPECT_EQ(ShareBar(0, 8), "");
  EXPECT_EQ(ShareBar(1.0 / 64, 8), "▏");
  EXPECT_EQ(ShareBar(0.5, 8), "████");
  EXPECT_EQ(ShareBar(0.56, 8), "████▌");  // 35.84 eighths
  EXPECT_EQ(ShareBar(1, 8), "████████");
}

TEST(ShareBar, TakesAnyNumber) {
  EXPECT_EQ(ShareBar(7, 2), "██");
  EXPECT_EQ(ShareBar(-1, 2), "");
  EXPECT_EQ(ShareBar(std::numeric_limits<double>::quiet_NaN(), 2), "");
}

TEST(Sparkline, RunsFromZeroToTheLargest) {
  EXPECT_EQ(Sparkline({0, 1, 2, 3, 4, 5, 6, 7, 8}, 20), "▁▂▃▄▅▆▇██");
  EXPECT_EQ(Sparkline({2, 4}, 20), "▅█");
  EXPECT_EQ(Sparkline({}, 20), "");
  EXPECT_EQ(Sparkline({0, 0}, 20), "");
}

TEST(Sparkline, KeepsPeaksWhenItThinsOut) { EXPECT_EQ(Sparkline({0, 8, 0, 0, 4, 0}, 3), "█▁▅"); }

}  // namespace
}  // namespace dlcost
