#pragma once

#include <cstdint>

#include "estimator/profiles/measurement.h"

namespace dlcost {

// Kernels of one file and the operators of another, traced in the same run by the same clock (a
// profiler for each level): gives every kernel that knows no operator the one that launched it.
// That is the operator around the call that has the kernel's correlation id where `outer` has such
// calls, else the innermost operator whose interval contains the kernel's; ranges of `outer` become
// its scope, and ranges where `inner` has none.
struct NestedRows {
  std::int64_t rows = 0;  // that found their operator
  std::int64_t of = 0;    // that had none
};
// Changes nothing unless most rows lie in an operator: other runs and clocks coincide by chance.
// Throws Error for spans that overlap as no program's do (FindParents).
NestedRows NestRows(Measurement& inner, const Measurement& outer);

}  // namespace dlcost
