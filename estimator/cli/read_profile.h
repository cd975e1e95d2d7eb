#pragma once

#include <string>

#include "estimator/profiles/reader.h"

namespace dlcost {

// Reads a profiler's file; on a terminal one line of stderr, rewritten as it goes, tells how far
// reading is. Files that are read in a moment show nothing.
Measurement ReadProfile(const std::string& path, ReadOptions options = {});

}  // namespace dlcost
