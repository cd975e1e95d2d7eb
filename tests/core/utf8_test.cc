#include "estimator/core/utf8.h"

#include <gtest/gtest.h>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

bool AllCharacters(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = CharacterAt(text, at);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

TEST(CharacterAt, TakesWhatTheStandardTakes) {
  for (const char* whole : {"a", "é", "слой", "卷积", "\U0001F600", "\uFFFD"}) {
    EXPECT_TRUE(AllCharacters(whole)) << whole;
  }
  for (const char* none : {"\x97", "\xd1", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                           "\xf5\x80\x80\x80", "\xf4\x90\x80\x80", "\xf0\x9f\x98", "\xff"}) {
    EXPECT_EQ(CharacterAt(none, 0), 0u);
  }
  EXPECT_EQ(CharacterAt("a", 1), 0u);
}

TEST(AsUtf8, ReplacesBytesThatAreNoCharacter) {
  EXPECT_EQ(AsUtf8("слой\xd1"), "слой\uFFFD");
  EXPECT_EQ(AsUtf8("\xff\xfe"), "\uFFFD\uFFFD");
}

TEST(CutInMiddle, LeavesWholeCharacters) {
  for (const char* letter : {"x", "ж", "卷", "\U0001F600"}) {
    const std::string name = Repeated(letter, 60);
    for (std::size_t columns = 3; columns < 50; ++columns) {
      const std::string cut = CutInMiddle(name, columns);
      EXPECT_TRUE(AllCharacters(cut)) << cut;
      EXPECT_LE(DisplayWidth(cut), columns) << cut;
      EXPECT_GE(DisplayWidth(cut) + 4, columns) << cut;
      EXPECT_NE(cut.find("..."), std::string::npos);
    }
  }
  EXPECT_EQ(CutInMiddle("слой_внимания", 9), "сло...ния");
  EXPECT_EQ(CutInMiddle("слой", 4), "слой");
}

TEST(Printable, EscapesBytesThatAreNoCharacter) {
  EXPECT_EQ(Printable("a\x97"
                      "b\xd1"),
            "a\\x97b\\xd1");
  EXPECT_TRUE(AllCharacters(Printable(Repeated("\xd1", 200))));
  EXPECT_EQ(Printable(Repeated("ж", 120)), Repeated("ж", 120));
}

}  // namespace
}  // namespace dlcost
