#pragma once

#include <string>
#include <vector>

#include "estimator/compare/compare.h"

namespace dlcost {

// A table as cells of text, for people: columns of which nothing was measured are left out.
struct CompareCells {
  std::string title;
  std::vector<std::string> head;
  std::vector<bool> left;  // columns that align to the left
  std::vector<std::vector<std::string>> rows;
  std::size_t left_out = 0;                // rows
  std::vector<std::string> may_drop = {};  // heads of columns that go first where lines are short
};
// The comparison's rows; where only `top` of them are to be shown (0: all), the worst first.
CompareCells CellsOf(const Comparison& comparison, std::size_t top = 0);
// What did not join; no rows where everything did. Names are cut: a C++ kernel name runs to
// thousands of characters.
CompareCells UnmatchedKernelCells(const Comparison& comparison);
CompareCells UnmatchedNodeCells(const Comparison& comparison);

// "1.02251", "0.723059": six decimals, zeros at the end dropped; "-" for nothing.
std::string RatioText(std::optional<double> ratio);
// "1.02 ms"; "-" for nothing.
std::string TimeText(std::optional<Seconds> time);
// A count in full, "143717440"; with up to three decimals where it is a mean. "-" for nothing.
std::string CountText(std::optional<double> value);
// Lines "total ...", "statistics ...", "note ...", as label and text.
std::vector<std::pair<std::string, std::string>> SummaryLines(const Comparison& comparison);

}  // namespace dlcost
