#pragma once

#include <string>
#include <vector>

#include "estimator/system/system.h"

namespace dlcost {

// Systems as a table, a line each.
std::string SystemListText(const std::vector<System>& systems, std::size_t max_width = 0);
std::string SystemListJson(const std::vector<System>& systems);

// Everything known about one, with the document of every value.
std::string SystemText(const System& system, std::size_t max_width = 0);
std::string SystemJson(const System& system);

}  // namespace dlcost
