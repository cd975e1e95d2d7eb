#pragma once

#include <optional>
#include <string>

namespace dlcost {

// A number above zero at the begin of `text`, and what is behind it; none where there is none.
struct LeadingNumber {
  double value = 0;
  std::string rest;
};
std::optional<LeadingNumber> ParseLeadingNumber(const std::string& text);

}  // namespace dlcost
