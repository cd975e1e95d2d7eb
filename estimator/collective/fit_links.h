#pragma once

#include <string>
#include <vector>

#include "estimator/collective/collective.h"

namespace dlcost {

// A measured collective.
struct MeasuredCollective {
  const System* system = nullptr;
  CollectiveCall call;
  Seconds time;
  bool held_out = false;  // judges a fit, and takes no part in it
};

// Expected over measured time, less 1, without sign.
double ErrorOf(const System& system, const MeasuredCollective& row);

// The middle of the errors of the rows that are `held_out`, or that are not; none without rows.
std::optional<double> MedianError(const System& system, const std::vector<MeasuredCollective>& rows,
                                  bool held_out);

// A constant of a family of links that a fit may move.
struct FittedLinkConstant {
  std::string name;  // "LL128.hop"
  double value = 0;
};

// The constants of the family `timing`, and the bandwidth of the system's links of that family
// beyond the first where `bandwidths` (what a PCIe tree leaves between its branches no data sheet
// says), that make the mean of the errors (as logarithms, none counted as more than a factor of 2)
// of the rows that are not held out smallest: a pattern search from the system's own values, in
// steps that shrink from 30 % to 1 %. Deterministic. The system keeps them.
std::vector<FittedLinkConstant> FitLinks(System& system, const std::string& timing, bool bandwidths,
                                         const std::vector<MeasuredCollective>& rows);

}  // namespace dlcost
