#pragma once

#include <string>
#include <string_view>

namespace dlcost {

// Small helpers on ASCII text, shared by the readers.
std::string_view Trim(std::string_view text);
std::string Lower(std::string_view text);
bool Contains(std::string_view text, std::string_view part);
// The text before `separator`, which is taken off `rest` together with it; all of it when there is
// none.
std::string_view TakeUntil(std::string_view& rest, char separator);

}  // namespace dlcost
