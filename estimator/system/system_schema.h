#pragma once

#include <functional>
#include <string>

#include "estimator/hardware/entry.h"
#include "estimator/system/system.h"

namespace dlcost {

// Finds the constants of a family of links; `where` is the place of the name, for errors.
using LinkTimingFinder =
    std::function<LinkTiming(const std::string& name, const std::string& where)>;

// The system that a tree describes (docs/systems.md has the keys). Throws Error (file:line) for
// unknown keys with the nearest known one, for values that are not what the key wants, and for a
// system without name, device, number of devices, or a link that joins them.
System ReadSystem(const Entry& root, const std::string& id, const LinkTimingFinder& timing);

}  // namespace dlcost
