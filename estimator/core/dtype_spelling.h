#pragma once

#include <string>
#include <vector>

#include "estimator/core/dtype.h"

namespace dlcost {

// Everything that ParseDType takes, but for the name of kUndefined.
std::vector<std::string> DTypeSpellings();

// The type that somebody names with an option; throws Error with the nearest spelling.
DType ReadDType(const std::string& option, const std::string& name);

}  // namespace dlcost
