#include "models/operators/op_cost.h"

#include <array>

namespace dlcost {

std::string_view Name(NodeStatus status) {
  constexpr std::array<std::string_view, 5> kNames = {"counted", "view", "metadata", "bounded",
                                                      "unknown"};
  return kNames[static_cast<std::size_t>(status)];
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
