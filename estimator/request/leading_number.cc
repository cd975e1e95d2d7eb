#include "estimator/request/leading_number.h"

#include <cstdlib>

namespace dlcost {

std::optional<LeadingNumber> ParseLeadingNumber(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(value > 0) || value > 1e18) return std::nullopt;
  return LeadingNumber{value, end};
}

}  // namespace dlcost
