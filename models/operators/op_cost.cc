#include "models/operators/op_cost.h"

#include <algorithm>
#include <array>

namespace dlcost {

std::string_view Name(NodeStatus status) {
  constexpr std::array<std::string_view, 5> kNames = {"counted", "view", "metadata", "bounded",
                                                      "unknown"};
  return kNames[static_cast<std::size_t>(status)];
}

Count ConvNest::Product(std::int64_t ConvAxis::*extent) const {
  Count product = 1;
  for (const ConvAxis& axis : axes) product *= axis.*extent;
  return product;
}

std::int64_t ConvNest::LongestFilter() const {
  std::int64_t longest = 0;
  for (const ConvAxis& axis : axes) longest = std::max(longest, axis.kernel);
  return longest;
}

Bytes OpCost::BytesRead() const {
  Bytes sum;
  for (const Access& access : accesses) {
    if (!access.is_output) sum += access.bytes;
  }
  return sum;
}

Bytes OpCost::BytesWritten() const {
  Bytes sum;
  for (const Access& access : accesses) {
    if (access.is_output) sum += access.bytes;
  }
  return sum;
}

}  // namespace dlcost
