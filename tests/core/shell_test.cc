#include "estimator/core/shell.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace dlcost {
namespace {

// What bash makes of the word.
std::string Pasted(const std::string& word) {
  // As a user pastes it; the outer quotes are for the C library's sh.
  std::string command = "bash -c '";
  for (const char c : "printf %s " + word) command += c == '\'' ? "'\\''" : std::string(1, c);
  std::FILE* pipe = popen((command + "'").c_str(), "r");
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  return pclose(pipe) == 0 ? text : "bash failed";
}

TEST(ShellWord, PlainWordsStayAsTheyAre) {
  EXPECT_EQ(ShellWord("seq=128"), "seq=128");
  EXPECT_EQ(ShellWord("/encoder.0/NonZero_output_0=37%"), "/encoder.0/NonZero_output_0=37%");
}

TEST(ShellWord, OthersAreQuoted) {
  EXPECT_EQ(ShellWord("past + seq=128"), "'past + seq=128'");
  EXPECT_EQ(ShellWord("x[3]=192"), "'x[3]=192'");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord("a\n1"), "$'a\\0121'");
  EXPECT_EQ(ShellWord(""), "''");
}

TEST(ShellWord, BashReadsWhatWasMeant) {
  for (const char* text :
       {"a", "a b", "x[3]=1", "it's", "$HOME", "`id`", "!!", "~", "#", "a\n1\t'\\", "*", "?=3",
        "\"", "\\", "größe=3", "a;b", "a&b", "(a)", "{a,b}"}) {
    EXPECT_EQ(Pasted(ShellWord(text)), text) << ShellWord(text);
  }
}

}  // namespace
}  // namespace dlcost
