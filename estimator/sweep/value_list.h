#pragma once

#include <string>
#include <vector>

namespace dlcost {

// Values that an option names, as text: "1TB/s,2TB/s", "1TB/s:8TB/s" (each twice the one before),
// "1TB/s:8TB/s:x4", "1TB/s:8TB/s:1TB/s" (from, to, step), and any of these with commas between.
// What is no range stays as it is. Throws Error for an empty part, ends in different units, and a
// range that runs backwards or stands still. `option` is told in messages.
std::vector<std::string> ParseValueList(const std::string& option, const std::string& text);

}  // namespace dlcost
