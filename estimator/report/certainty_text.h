#pragma once

#include <string>
#include <vector>

#include "estimator/report/report.h"

namespace dlcost {

// The block that every format shows before the totals.
struct CertaintyLine {
  std::string label;  // "at most", "assumed", "branch", "folded", "unknown", "given"; "" goes on
  std::string text;
};

// Empty when there is nothing to say. At most `causes` causes and as many branches and choices are
// named, 0: all.
std::vector<CertaintyLine> CertaintyLines(const Certainty& certainty, const Sums& totals,
                                          std::size_t most = 0);

// The doubtful part alone, a sentence for each kind: for differences and checks.
std::vector<std::string> CertaintyNotes(const Report& report);

// "<= 7.086 M": a number as it is printed, and how it stands to the truth. "?" where there is none,
// because of what is left out.
std::string Marked(Standing standing, const std::string& number);

}  // namespace dlcost
