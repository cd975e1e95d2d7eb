#pragma once

#include <string>

#include "estimator/hardware/entry.h"

namespace dlcost {

// YAML text as a tree, nothing interpreted. Only what device files need: one document of maps,
// lists and scalars; aliases, empty values and doubled keys are errors (file:line).
Entry ParseYamlTree(const std::string& text, const std::string& name);

}  // namespace dlcost
