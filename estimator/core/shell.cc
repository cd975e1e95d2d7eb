#include "estimator/core/shell.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace dlcost {

std::string ShellWord(const std::string& text) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  const auto is_plain = [](unsigned char c) {
    return c >= 0x80 || std::isalnum(c) != 0 ||
           std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
  };
  if (std::any_of(text.begin(), text.end(), is_control)) {
    std::string word = "$'";
    for (const char c : text) {
      if (is_control(static_cast<unsigned char>(c))) {
        // Three octal digits: the longest form, so that a digit behind it stays itself.
        word += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
      } else {
        if (c == '\'' || c == '\\') word += '\\';
        word += c;
      }
    }
    return word + "'";
  }
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

}  // namespace dlcost
