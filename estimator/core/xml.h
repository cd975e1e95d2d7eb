#pragma once

#include <string>

namespace dlcost {

// `text` as XML and HTML have it between tags and between quotes. Control characters that XML 1.0
// does not have (section 2.2: all below U+0020 but tab and line ends) are left out; bytes that are
// no UTF-8, U+FFFE and U+FFFF become U+FFFD.
std::string EscapeXml(const std::string& text);

}  // namespace dlcost
