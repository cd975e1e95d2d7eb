#include "estimator/core/integer.h"

#include <gtest/gtest.h>

#include <limits>
#include <type_traits>

#include "estimator/core/units.h"

namespace dlcost {
namespace {

constexpr double kTwoTo63 = 9223372036854775808.0;

TEST(Integer, TruncatesTowardsZero) {
  EXPECT_EQ(Truncate(2.9), 2);
  EXPECT_EQ(Truncate(-2.9), -2);
  EXPECT_EQ(Truncate(-0.0), 0);
  EXPECT_EQ(RoundToInteger(2.5), 3);
  EXPECT_EQ(RoundToInteger(-2.5), -3);
}

// The largest integer of 64 bits has no double: it becomes 2^63, and a cast back is undefined.
TEST(Integer, RefusesWhatDoesNotFit) {
  const double largest = static_cast<double>(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(largest, kTwoTo63);
  for (const double real : {largest, 1e300, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN(), -1e19}) {
    EXPECT_EQ(TryTruncate(real), std::nullopt);
    EXPECT_THROW(Truncate(real), OverflowError);
    EXPECT_THROW(RoundToInteger(real), OverflowError);
  }
  EXPECT_EQ(TryTruncate(-kTwoTo63), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(TryTruncate(kTwoTo63 - 1024), std::numeric_limits<std::int64_t>::max() - 1023);
}

TEST(Integer, KnowsTheEdgesOfNarrowerTypes) {
  EXPECT_EQ(TryTruncate<std::int8_t>(127.9), std::int8_t{127});
  EXPECT_EQ(TryTruncate<std::int8_t>(128.0), std::nullopt);
  EXPECT_EQ(TryTruncate<std::int8_t>(-128.9), std::int8_t{-128});
  EXPECT_EQ(TryTruncate<std::int8_t>(-129.0), std::nullopt);
  EXPECT_EQ(TryTruncate<std::uint64_t>(-0.9), std::uint64_t{0});
  EXPECT_EQ(TryTruncate<std::uint64_t>(-1.0), std::nullopt);
  EXPECT_EQ(TryTruncate<std::uint64_t>(kTwoTo63), std::uint64_t{1} << 63);
  EXPECT_EQ(TryTruncate<std::uint64_t>(2 * kTwoTo63), std::nullopt);
}

// Nothing that is not checked becomes a count.
static_assert(!std::is_constructible_v<Count, double>);
static_assert(!std::is_convertible_v<float, Count>);
static_assert(!std::is_constructible_v<Bytes, double>);
static_assert(std::is_convertible_v<int, Count>);

}  // namespace
}  // namespace dlcost
