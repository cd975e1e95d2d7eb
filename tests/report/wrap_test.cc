#include "estimator/report/wrap.h"

#include <gtest/gtest.h>

namespace dlcost {
namespace {

TEST(WrapLines, GoesOnWhereTheTextBegins) {
  EXPECT_EQ(WrapLines("memory    one two three four five six seven\n", 30),
            "memory    one two three four\n          five six seven\n");
  EXPECT_EQ(WrapLines("attention one two three four five six seven\n", 30),
            "attention one two three four\n          five six seven\n");
  EXPECT_EQ(WrapLines("  --batch N  the size of the batch of all\n", 36),
            "  --batch N  the size of the batch\n             of all\n");
  EXPECT_EQ(WrapLines("plain words that go on and on and on\n", 24),
            "plain words that go on\nand on and on\n");
}

TEST(WrapLines, LeavesWhatFitsAndWhatHasNoWidth) {
  EXPECT_EQ(WrapLines("a b\n\nc", 40), "a b\n\nc");
  EXPECT_EQ(WrapLines(std::string(90, 'x') + " y\n", 0), std::string(90, 'x') + " y\n");
}

TEST(WrapLines, NeverCutsAWordAndCutsRules) {
  const std::string path(50, 'x');
  EXPECT_EQ(WrapLines("see " + path + " there\n", 30), "see\n" + path + "\nthere\n");
  EXPECT_EQ(WrapLines(std::string(90, '-') + "\n", 30), std::string(30, '-') + "\n");
}

TEST(WrapLines, ColoursTakeNoRoom) {
  const std::string line = "\033[1mmodel     \033[0maaaaaaa bbbbbbb cccccccc";  // 34 columns
  EXPECT_EQ(WrapLines(line, 34), line);
  EXPECT_EQ(WrapLines(line, 33), "\033[1mmodel     \033[0maaaaaaa bbbbbbb\n          cccccccc");
}

TEST(WrapLines, CountsWideCharacters) {
  EXPECT_EQ(WrapLines("卷积层卷积层 卷积层卷积层 ab", 25), "卷积层卷积层 卷积层卷积层\nab");
}

}  // namespace
}  // namespace dlcost
