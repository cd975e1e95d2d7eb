#include "estimator/report/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace dlcost {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Table Example() {
  Table table({"node", "kernel", "MACs", "share", "bound"}, {true, true});
  table.Add({"/encoder/layer.11/attention/self/query/MatMul", "matmul + add (gemm 128x128)",
             "301.9 M", "12.5%", "10.11 us"});
  table.MayDrop({"share", "MACs"});
  return table;
}

std::size_t Longest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(Table, IsWholeWithoutALimit) {
  EXPECT_THAT(Example().Render(), HasSubstr("/encoder/layer.11/attention/self/query/MatMul"));
}

TEST(Table, FitsByCuttingAndDropping) {
  for (const std::size_t width : {50, 60, 70, 80, 90, 100, 110}) {
    EXPECT_LE(Longest(Example().Render(width)), width);
  }
  EXPECT_THAT(Example().Render(90), HasSubstr("share"));
  // The second column gives way before the first, and columns go only when both are short.
  EXPECT_THAT(Example().Render(90), HasSubstr("/encoder/layer.11/attention/self/query/MatMul"));
  EXPECT_THAT(Example().Render(55), Not(HasSubstr("share")));
  EXPECT_THAT(Example().Render(55), HasSubstr("bound"));
}

TEST(Table, SaysWhatItLeavesOut) {
  EXPECT_THAT(Example().Fit(55, "--format csv has them"),
              HasSubstr("55 columns leave out share; --format csv has them\n"));
  EXPECT_THAT(Example().Fit(110, "--format csv has them"), Not(HasSubstr("leave out")));
}

TEST(Table, PutsSentencesBelowWhereLinesAreShort) {
  Table table({"node", "ratio", "why"}, {true, false, true});
  table.Add({"/conv1/Conv", "1.25", "the kernel pads the channels to a multiple of eight"});
  table.Add({"/conv2/Conv", "1", "-"});
  table.MayStandBelow("why");
  EXPECT_EQ(table.Render(40),
            "node         ratio\n"
            "------------------\n"
            "/conv1/Conv   1.25\n"
            "    the kernel pads the channels to a\n"
            "    multiple of eight\n"
            "/conv2/Conv      1\n");
  EXPECT_THAT(table.Render(100), HasSubstr("1.25  the kernel pads"));
}

TEST(Table, TellsRowsApartBeforeItShowsMoreNumbers) {
  Table table({"node", "kernel", "MACs", "bound", ""}, {true, true, false, false, true});
  table.Add({"/encoder/0/inner", "matmul + add", "301.9 M", "10.11 us", "########"});
  table.MayDrop({"", "MACs"});
  table.MayStandBelow("kernel");
  EXPECT_THAT(table.Render(59), HasSubstr("########"));
  EXPECT_EQ(table.Render(50),  // without the picture all fits
            "node              kernel           MACs     bound\n"
            "-------------------------------------------------\n"
            "/encoder/0/inner  matmul + add  301.9 M  10.11 us\n");
  EXPECT_EQ(table.Render(32),
            "node                 bound\n"
            "--------------------------\n"
            "/encoder/0/inner  10.11 us\n"
            "    matmul + add\n");
}

TEST(Table, DropsOfEqualHeadsTheFirstFirst) {
  Table table({"node", "ratio", "ratio"});
  table.Add({"abcdefghijklmnop", "1", "2"});
  table.MayDrop({"ratio", "ratio"});
  EXPECT_THAT(table.Render(24), Not(HasSubstr("1")));
  EXPECT_THAT(table.Render(24), HasSubstr("2"));
}

TEST(Table, ColoursWholeRows) {
  Table table({"a"});
  table.Add({"x"}, "\033[31m");
  EXPECT_EQ(table.Render(), "a\n-\n\033[31mx\033[0m\n");
}

}  // namespace
}  // namespace dlcost
