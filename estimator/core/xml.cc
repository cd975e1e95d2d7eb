#include "estimator/core/xml.h"

#include <algorithm>

#include "estimator/core/utf8.h"

namespace dlcost {
namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";  // U+FFFD: of bytes that are no character

// U+FFFE and U+FFFF, which are no characters of XML.
bool IsNone(const char* character) {
  const auto byte = [&](int i) { return static_cast<unsigned char>(character[i]); };
  return byte(0) == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe;
}

}  // namespace

std::string EscapeXml(const std::string& text) {
  std::string escaped;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = CharacterAt(text, at);
    const char c = text[at];
    if (size != 1) {
      if (size == 0 || (size == 3 && IsNone(&text[at]))) {
        escaped += kReplacement;
      } else {
        escaped.append(text, at, size);
      }
      at += std::max<std::size_t>(size, 1);
      continue;
    }
    ++at;
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') escaped += c;
    }
  }
  return escaped;
}

}  // namespace dlcost
