#pragma once

#include <string>

namespace dlcost {

// A field of a CSV line (RFC 4180): in quotes, with its quotes doubled, where it holds a comma, a
// quote or a line break. In UTF-8.
std::string CsvField(const std::string& text);

}  // namespace dlcost
