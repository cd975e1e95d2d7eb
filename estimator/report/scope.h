#pragma once

#include <cstddef>
#include <string_view>

namespace dlcost {

// The first `depth` components of a module path (0: all of it); "(no module)" for an empty one.
std::string_view ScopeAtDepth(std::string_view scope, std::size_t depth);

}  // namespace dlcost
