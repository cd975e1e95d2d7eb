#pragma once

#include <vector>

#include "estimator/collective/collective.h"

namespace dlcost {

// A level of the interconnect as a group uses it.
struct GroupLevel {
  const SystemLink* link = nullptr;
  int joined = 1;   // members of the group in one domain of this level
  int below = 1;    // members in one domain of the level below: they share the way out of it
  double rate = 0;  // byte/s, rated: what a member can send over this level
};

// The levels that a group of at least two needs, nearest first. A level below which every member
// is alone is left out. In a mesh a device's links are shared out among the others of its domain:
// a part of them has that part of the links. Throws Error for a group that the system does not
// join.
std::vector<GroupLevel> LevelsOf(const System& system, DeviceGroup group);

// Steps over a level when something passes once through all members: domains below, less the
// domains that the level makes of them.
int CrossingsOf(const GroupLevel& level, int size);

}  // namespace dlcost
