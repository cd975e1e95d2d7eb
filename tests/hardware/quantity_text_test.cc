#include "estimator/hardware/quantity_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

using ::testing::HasSubstr;

TEST(QuantityText, ReadsNumbersWithUnits) {
  EXPECT_EQ(ParseQuantity("2039 GB/s", Dimension::kByteRate), 2039e9);
  EXPECT_EQ(ParseQuantity("8TB/s", Dimension::kByteRate), 8e12);
  EXPECT_EQ(ParseQuantity("40 MiB", Dimension::kByteSize), 40.0 * 1024 * 1024);
  EXPECT_EQ(ParseQuantity("80 GB", Dimension::kByteSize), 80e9);
  EXPECT_EQ(ParseQuantity("312 TFLOP/s", Dimension::kOperationRate), 312e12);
  EXPECT_EQ(ParseQuantity("624 TOP/s", Dimension::kOperationRate), 624e12);
  EXPECT_EQ(ParseQuantity("1410 MHz", Dimension::kFrequency), 1410e6);
  EXPECT_EQ(ParseQuantity("2048/clk", Dimension::kPerClock), 2048);
  EXPECT_EQ(ParseQuantity("400 W", Dimension::kPower), 400);
  EXPECT_EQ(ParseQuantity(" 108 ", Dimension::kNumber), 108);
  EXPECT_DOUBLE_EQ(ParseQuantity("2.2 us", Dimension::kConstant), 2.2e-6);
  EXPECT_DOUBLE_EQ(ParseQuantity("85 %", Dimension::kConstant), 0.85);
  EXPECT_EQ(ParseQuantity("0", Dimension::kConstant), 0);
  EXPECT_DOUBLE_EQ(ParseQuantity("0.5 us", Dimension::kTime), 0.5e-6);
  EXPECT_EQ(ParseQuantity("0 us", Dimension::kTime), 0);
  EXPECT_DOUBLE_EQ(ParseQuantity("60 %", Dimension::kShare), 0.6);
  EXPECT_EQ(ParseQuantity("0.6", Dimension::kShare), 0.6);
  EXPECT_EQ(ParseQuantity("32", Dimension::kBytesPerClock), 32);
}

std::string ErrorOf(const char* text, Dimension dimension) {
  try {
    ParseQuantity(text, dimension);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(QuantityText, SaysWhatWasWanted) {
  EXPECT_EQ(ErrorOf("2039 GBs", Dimension::kByteRate),
            "'2039 GBs' is not a bandwidth, such as '2039 GB/s' (did you mean 'GB/s'?)");
  EXPECT_EQ(ErrorOf("2039", Dimension::kByteRate),
            "'2039' is not a bandwidth, such as '2039 GB/s'");
  EXPECT_EQ(ErrorOf("0.75", Dimension::kTime), "'0.75' is not a time, such as '2.2 us'");
  EXPECT_THAT(ErrorOf("75 %", Dimension::kTime), HasSubstr("is not a time"));
  EXPECT_THAT(ErrorOf("3 us", Dimension::kShare), HasSubstr("is not a share"));
  EXPECT_THAT(ErrorOf("3 us", Dimension::kBytesPerClock), HasSubstr("bytes per clock cycle"));
  EXPECT_THAT(ErrorOf("fast", Dimension::kOperationRate), HasSubstr("'312 TFLOP/s'"));
  EXPECT_THAT(ErrorOf("40 mb", Dimension::kByteSize), HasSubstr("is not a size"));
}

TEST(QuantityText, RejectsWhatNoDeviceHas) {
  for (const char* text : {"-1 GB/s", "0 GB/s", "inf GB/s", "nan GB/s", "1e400 GB/s", "", " ",
                           "1e15 TB/s", "0x10 GB/s", "1 GB/s 2"}) {
    EXPECT_THROW(ParseQuantity(text, Dimension::kByteRate), Error) << text;
  }
  EXPECT_THROW(ParseQuantity("1e10 TiB", Dimension::kByteSize), Error);
  EXPECT_THROW(ParseQuantity("1.5", Dimension::kNumber), Error);
  EXPECT_THROW(ParseQuantity("1e10", Dimension::kNumber), Error);
}

}  // namespace
}  // namespace dlcost
