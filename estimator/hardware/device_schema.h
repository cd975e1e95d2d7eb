#pragma once

#include "estimator/hardware/device.h"
#include "estimator/hardware/entry.h"

namespace dlcost {

// The device that a tree describes (docs/hardware.md has the keys), `extends:` already merged.
// Throws Error (file:line) for unknown keys with the nearest known one, for values that are not
// what the key wants, and for a device without a name, a kind, a rate or a memory bandwidth.
Device ReadDevice(const Entry& root, const std::string& id);

}  // namespace dlcost
