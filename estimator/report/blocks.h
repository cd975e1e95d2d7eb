#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace dlcost {

// Small charts of block characters (U+2581 to U+2588), for terminals that show UTF-8.

// A bar of `share` (0 to 1) of `columns` columns, in eighths of one; as wide as it is long.
std::string ShareBar(double share, std::size_t columns);

// A column for each value, from the lowest block for 0 to a full one for the largest; "" where none
// is above 0. More values than `columns` are thinned out: the largest of each run stays.
std::string Sparkline(const std::vector<double>& values, std::size_t columns);

}  // namespace dlcost
