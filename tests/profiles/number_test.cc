#include "estimator/profiles/number.h"

#include <gtest/gtest.h>

#include "estimator/profiles/columns.h"

namespace dlcost {
namespace {

TEST(ParseNumber, AsProfilersWriteThem) {
  EXPECT_EQ(ParseNumber("134,221,568")->value, 134221568);
  EXPECT_EQ(ParseNumber("1,234.5")->value, 1234.5);
  EXPECT_EQ(ParseNumber("97.857737%")->unit, "%");
  EXPECT_EQ(ParseNumber("4.455447GB/s")->unit, "GB/s");
  EXPECT_EQ(ParseNumber("Low (3)")->value, 3);
  EXPECT_EQ(ParseNumber("-2.5e3")->value, -2500);
  EXPECT_EQ(ParseNumber(" 7 ")->value, 7);
}

TEST(ParseNumber, WhatIsNoNumber) {
  for (const char* text : {"", "n/a", "nan", "inf", "<OVERFLOW>", "(256, 1, 1)", "1,5", "12,34",
                           "1,2345", ",123", "1e999", "0x10", "1.2.3", "--1", "12 apples 3"}) {
    EXPECT_FALSE(ParseNumber(text)) << text;
  }
}

TEST(ParseMicroseconds, ExactBeyondDoubles) {
  EXPECT_EQ(ParseMicroseconds("1695835585759287"), 1695835585759287000);
  EXPECT_EQ(ParseMicroseconds("2413668742269.0997"), 2413668742269099);
  EXPECT_EQ(ParseMicroseconds("-1.5"), -1500);
  EXPECT_EQ(ParseMicroseconds("1.5e3"), 1500000);
  EXPECT_EQ(ParseMicroseconds("1e300"), std::nullopt);
  EXPECT_EQ(ParseMicroseconds("99999999999999999999"), std::nullopt);
  EXPECT_EQ(ParseMicroseconds("soon"), std::nullopt);
}

TEST(ParseUnit, DecimalAndBinaryPrefixes) {
  EXPECT_EQ(ParseUnit("Mbyte")->scale, 1e6);
  EXPECT_EQ(ParseUnit("MB")->scale, 1e6);
  EXPECT_EQ(ParseUnit("MB", true)->scale, 1024.0 * 1024);
  EXPECT_EQ(ParseUnit("KiB")->scale, 1024);
  EXPECT_EQ(ParseUnit("usecond")->scale, 1e-6);
  EXPECT_EQ(ParseUnit("ns")->scale, 1e-9);
  EXPECT_EQ(ParseUnit("Gbyte/second")->scale, 1e9);
  EXPECT_EQ(ParseUnit("%")->scale, 0.01);
  EXPECT_EQ(ParseUnit("")->scale, 1);
  EXPECT_FALSE(ParseUnit("furlong"));
}

TEST(Columns, NamesLoseTheirUnit) {
  const Columns columns({"Time (%)", "Total Time (ns)", "Name"});
  EXPECT_EQ(columns.name(0), "time (%)");
  EXPECT_EQ(columns.name(1), "total time");
  EXPECT_EQ(columns.unit(1), "ns");
}

TEST(GuessDelimiter, OutsideQuotes) {
  EXPECT_EQ(GuessDelimiter("a\tb\t\"c,d,e,f\""), '\t');
  EXPECT_EQ(GuessDelimiter("a;b;c"), ';');
  EXPECT_EQ(GuessDelimiter("a,b"), ',');
}

}  // namespace
}  // namespace dlcost
