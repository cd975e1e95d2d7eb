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

}  // namespace
}  // namespace dlcost
