#include "estimator/collective/group_level.h"

#include <algorithm>

#include "estimator/core/error.h"

namespace dlcost {

std::vector<GroupLevel> LevelsOf(const System& system, DeviceGroup group) {
  const std::int64_t last = std::int64_t{group.size - 1} * group.stride + 1;
  if (group.size < 1 || group.stride < 1 || last > system.MostDevices()) {
    throw Error("{} joins at most {} devices, not {}{}", system.id, system.MostDevices(), last,
                system.network ? "" : ": its file names no network");
  }
  std::vector<GroupLevel> levels;
  int below = 1;
  for (const SystemLink& link : system.links) {
    const int joined = std::clamp(link.joins / group.stride, 1, group.size);
    if (joined > below) {
      double rate = link.bandwidth.value();
      if (link.shape == LinkShape::kMesh) rate *= (joined - 1.0) / std::max(1, link.joins - 1);
      levels.push_back({&link, joined, below, rate});
      below = joined;
    }
    if (below == group.size) break;
  }
  return levels;
}

int CrossingsOf(const GroupLevel& level, int size) {
  const auto domains = [&](int members) { return (size + members - 1) / members; };
  return domains(level.below) - domains(level.joined);
}

}  // namespace dlcost
