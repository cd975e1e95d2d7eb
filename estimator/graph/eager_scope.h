#pragma once

#include <string_view>

namespace dlcost {

// The scope of what a framework runs operation by operation whatever it compiles: no kernel has one
// of its nodes and another node.
inline constexpr std::string_view kEagerScope = "loss (eager)";

}  // namespace dlcost
