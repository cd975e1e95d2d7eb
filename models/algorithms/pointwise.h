#pragma once

#include "models/algorithms/execution.h"
#include "models/operators/work.h"

namespace dlcost {

// Instructions that work outside multiply-accumulates turns into. Divisions, roots, exponentials
// and the like are expanded as compilers do for IEEE-accurate fp32; comparisons, conversions and
// integer arithmetic are not floating-point instructions and issue none.
Instructions InstructionsOf(const Work& work, DType type);

// Adds one term per data type for everything in `work` but its multiply-accumulates to the last
// stage: bias, fused neighbours, or all there is of an elementwise kernel.
void AddPointwise(Execution& execution, const std::string& what, TermKind kind, const Work& work);

// One pass over the data: a kernel without a matrix product.
Execution Pointwise(Algorithm algorithm, const std::string& what, const Work& work);

}  // namespace dlcost
