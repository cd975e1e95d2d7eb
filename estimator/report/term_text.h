#pragma once

#include <string>

#include "estimator/roofline/expected.h"

namespace dlcost {

// The value of a term behind an expected time: "24.87 us", "201.3 M FLOP", "128 x 64 x 8".
std::string TermText(const TimeTerm& term);

}  // namespace dlcost
