#include "estimator/infer/sizes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

std::vector<std::int64_t> SizesOf(const std::string& text) {
  return ParseSizeList("--batch", text).Sizes();
}

std::string SizesError(const std::string& text) {
  try {
    ParseSizeList("--batch", text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Sizes, ListsAndRanges) {
  EXPECT_EQ(SizesOf("8"), (std::vector<std::int64_t>{8}));
  EXPECT_EQ(SizesOf("1,8,32"), (std::vector<std::int64_t>{1, 8, 32}));
  EXPECT_EQ(SizesOf("128:512:128"), (std::vector<std::int64_t>{128, 256, 384, 512}));
  EXPECT_EQ(SizesOf("1:20:x2"), (std::vector<std::int64_t>{1, 2, 4, 8, 16}));
  EXPECT_EQ(SizesOf("3:5,7"), (std::vector<std::int64_t>{3, 4, 5, 7}));
}

TEST(Sizes, CountsWithoutMakingThem) {
  EXPECT_EQ(ParseSizeList("--batch", "1:1000000000").Count(), 1'000'000'000);
  EXPECT_EQ(ParseSizeList("--batch", "1:9223372036854775807:x2").Count(), 63);
  EXPECT_EQ(ParseSizeList("--batch", "0:9223372036854775806,1:9").Count(), INT64_MAX);
  EXPECT_THROW(ParseSizeList("--batch", "1:1000000000").Sizes(), Error);
}

TEST(Sizes, WhatIsNone) {
  EXPECT_EQ(SizesError("64:1"), "--batch 64:1: the range runs backwards; write 1:64");
  EXPECT_EQ(SizesError(""), "--batch : a size is missing");
  EXPECT_EQ(SizesError("1,,2"), "--batch 1,,2: a size is missing");
  EXPECT_EQ(SizesError("1:8:0"), "--batch 1:8:0: a step of 0 goes nowhere");
  EXPECT_EQ(SizesError("1:8:x1"), "--batch 1:8:x1: a step of x1 goes nowhere");
  EXPECT_EQ(SizesError("0:8:x2"), "--batch 0:8:x2: 0 times 2 goes nowhere");
  EXPECT_EQ(SizesError("a:b"), "--batch a:b: 'a' is no size");
}

TEST(Sizes, AreListed) {
  EXPECT_EQ(ListedSizes({8, 1, 8}).Sizes(), (std::vector<std::int64_t>{8, 1, 8}));
  EXPECT_FALSE(ListedSizes({8}).IsDistribution());
  EXPECT_THROW(ListedSizes({8, -1}), Error);
  const SizeList seen = ObservedSizes("x", {64, 32, 64, 16}, {2, 10, 1.5, 0});
  EXPECT_EQ(seen.observed, (std::vector<std::int64_t>{32, 64}));
  EXPECT_EQ(seen.weights, (std::vector<double>{10, 3.5}));
  EXPECT_THROW(ObservedSizes("x", {1}, {-1}), Error);
  EXPECT_THROW(ObservedSizes("x", {1}, {0}), Error);
}

TEST(Sizes, ObservedOnes) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("dlcost_sizes_" + std::to_string(::getpid()) + ".csv");
  std::ofstream(path) << "length,count\n64,2\n32,10\n64,1.5\n16,0\n";
  const SizeList list = ParseSizeList("--dim", "@" + path.string());
  EXPECT_TRUE(list.IsDistribution());
  EXPECT_EQ(list.observed, (std::vector<std::int64_t>{32, 64}));
  EXPECT_EQ(list.weights, (std::vector<double>{10, 3.5}));
  std::ofstream(path) << "length\n12\nlong\n";
  EXPECT_NE(SizesError("@" + path.string()).find("line 3: 'long' is no size"), std::string::npos);
  std::ofstream(path) << "length\n";
  EXPECT_NE(SizesError("@" + path.string()).find("holds no sizes"), std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace dlcost
