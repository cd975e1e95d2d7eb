#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/compare/analyses.h"
#include "estimator/compare/compare_table.h"

namespace dlcost {

// A number about a slice, as all renderings tell it.
struct SliceField {
  std::string_view key;   // in JSON and CSV, in base units
  std::string_view head;  // of a column for people
  PartSum (*of)(const SliceRow& slice);
  std::string (*text)(double value);  // for people
};
std::span<const SliceField> SliceFields();

// A table for people: the columns that it has values for, lower bounds marked. At most `top` rows,
// 0 for all.
CompareCells CellsOf(const SliceView& view, std::size_t top);

}  // namespace dlcost
