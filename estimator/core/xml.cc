#include "estimator/core/xml.h"

#include "estimator/core/utf8.h"

namespace dlcost {

std::string EscapeXml(const std::string& text) {
  std::string escaped;
  for (const char c : AsUtf8(text)) {
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
  for (const char* none : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {  // U+FFFE, U+FFFF
    for (std::size_t at = 0; (at = escaped.find(none, at)) != std::string::npos;) {
      escaped.replace(at, kReplacement.size(), kReplacement);
    }
  }
  return escaped;
}

}  // namespace dlcost
