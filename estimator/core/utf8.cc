#include "estimator/core/utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlcost {
namespace {

// Whether `byte` stands behind the first of a character.
bool Continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

}  // namespace

std::size_t CharacterAt(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const unsigned first = byte(0), second = byte(1);
  if (at >= text.size()) return 0;
  if (first < 0x80) return 1;
  std::size_t size = 0;
  unsigned low = 0x80, high = 0xbf;  // of the second byte: no longer form of a shorter character
  if (first >= 0xc2 && first <= 0xdf) {
    size = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    size = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;  // no half of a pair of UTF-16
  } else if (first >= 0xf0 && first <= 0xf4) {
    size = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;  // nothing above U+10FFFF
  } else {
    return 0;
  }
  if (second < low || second > high) return 0;
  for (std::size_t i = 2; i < size; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xbf) return 0;
  }
  return size;
}

std::string AsUtf8(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = CharacterAt(text, at);
    if (size == 0) {
      out += kReplacement;
      ++at;
    } else {
      out.append(text, at, size);
      at += size;
    }
  }
  return out;
}

std::size_t DisplayWidth(const std::string& text) {
  const auto ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), ascii)) return text.size();
  // No character is wider than its bytes are many: fmt fills up what is left of that.
  return 2 * text.size() - fmt::format("{:<{}}", text, text.size()).size();
}

std::string CutInMiddle(const std::string& text, std::size_t columns) {
  if (DisplayWidth(text) <= columns) return text;
  const std::size_t half = (std::max<std::size_t>(columns, 3) - 3) / 2;
  const auto width = [&](std::size_t from, std::size_t to) {
    return DisplayWidth(text.substr(from, to - from));
  };
  std::size_t begin = 0;
  for (std::size_t room = half; begin < text.size();) {
    std::size_t next = begin + 1;
    while (next < text.size() && Continues(text[next])) ++next;
    if (width(begin, next) > room) break;
    room -= width(begin, next);
    begin = next;
  }
  std::size_t end = text.size();
  for (std::size_t room = half; end > begin;) {
    std::size_t before = end - 1;
    while (before > begin && Continues(text[before])) --before;
    if (width(before, end) > room) break;
    room -= width(before, end);
    end = before;
  }
  return text.substr(0, begin) + "..." + text.substr(end);
}

}  // namespace dlcost
