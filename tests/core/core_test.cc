#include <gtest/gtest.h>

#include <limits>

#include "estimator/core/dtype.h"
#include "estimator/core/dtype_spelling.h"
#include "estimator/core/error.h"
#include "estimator/core/shape.h"
#include "estimator/core/spelling.h"
#include "estimator/core/units.h"

namespace dlcost {
namespace {

TEST(Count, OverflowIsAnErrorNeverAWrap) {
  const Count big = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(big + Count(1), OverflowError);
  EXPECT_THROW(big * Count(2), OverflowError);
  EXPECT_THROW(Count(std::numeric_limits<std::int64_t>::min()) - Count(1), OverflowError);
  EXPECT_EQ(big * Count(1), big);
  EXPECT_THROW(Count(1) / Count(0), Error);
}

TEST(Count, RoundsUp) {
  EXPECT_EQ(CeilDiv(3025, 128), Count(24));
  EXPECT_EQ(RoundUp(3025, 128), Count(3072));
  EXPECT_EQ(CeilDiv(0, 4), Count(0));
}

TEST(DType, SubByteTypesPack) {
  EXPECT_EQ(SizeOf(DType::kInt4, 3), Bytes(2));
  EXPECT_EQ(SizeOf(DType::kFloat32, 3), Bytes(12));
  EXPECT_EQ(SizeOf(DType::kUint2, 5), Bytes(2));
}

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i < kDTypeCount; ++i) {
    EXPECT_EQ(ParseDType(Name(static_cast<DType>(i))), static_cast<DType>(i));
  }
  EXPECT_EQ(ParseDType("fp16"), DType::kFloat16);
  EXPECT_EQ(ParseDType("f33"), std::nullopt);
  EXPECT_EQ(DTypeFromOnnx(99), DType::kUndefined);
}

TEST(DType, EverySpellingIsReadAndTheNearestIsSaid) {
  for (const std::string& name : DTypeSpellings()) EXPECT_TRUE(ParseDType(name)) << name;
  EXPECT_EQ(ReadDType("--dtype", "fp16"), DType::kFloat16);
  try {
    ReadDType("--dtype", "fp17");
    FAIL() << "fp17 is a type";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "--dtype 'fp17' is no data type (did you mean 'fp16'?)");
  }
}

TEST(Shape, ElementsAreChecked) {
  EXPECT_EQ(Shape({2, 3, 4}).Elements(), Count(24));
  EXPECT_EQ(Shape({}).Elements(), Count(1));
  EXPECT_EQ(Shape({std::numeric_limits<std::int64_t>::max(), 4, 0}).Elements(), Count(0));
  EXPECT_THROW(Shape({1LL << 40, 1LL << 40}).Elements(), OverflowError);
}

TEST(Shape, Broadcasts) {
  EXPECT_EQ(Broadcast({2, 1, 4}, {3, 1}), Shape({2, 3, 4}));
  EXPECT_EQ(Broadcast({}, {5}), Shape({5}));
  EXPECT_EQ(Broadcast({0}, {1}), Shape({0}));
  EXPECT_THROW(Broadcast({2}, {3}), Error);
}

TEST(Shape, AxesMayCountFromTheBack) {
  EXPECT_EQ(NormalizeAxis(-1, 4), 3u);
  EXPECT_EQ(NormalizeAxis(4, 4, true), 4u);
  EXPECT_THROW(NormalizeAxis(4, 4), Error);
  EXPECT_THROW(NormalizeAxis(std::numeric_limits<std::int64_t>::min(), 4), Error);
}

TEST(Units, BytesOverRateIsTime) {
  const Seconds time = Bytes(2'000'000) / ByteRate(2e12);
  EXPECT_DOUBLE_EQ(time.value(), 1e-6);
}

TEST(Spelling, FindsTheNearest) {
  EXPECT_EQ(NearestSpelling("a10", {"h100", "a100", "v100"}), "a100");
  EXPECT_EQ(NearestSpelling("rtx4900", {"rtx-4090", "h100"}), "rtx-4090");
  EXPECT_EQ(NearestSpelling("zzzzzz", {"h100"}), "");
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(Printable("a\nb"), "a\\x0ab");
  EXPECT_EQ(Printable(std::string(500, 'x')).size(), 119u);
}

}  // namespace
}  // namespace dlcost
