#pragma once

#include "estimator/plan/choose.h"
#include "estimator/plan/fuse.h"
#include "estimator/plan/kernel.h"

namespace dlcost {

// Sets algorithm, runner-up, execution, executed and least work of a kernel whose work, nest and
// math type are set. `epilogue` is the work of the nodes other than the main one, without the
// folded ones. Kernels that only stream data keep executed = least = their own work.
void ExecuteKernel(Kernel& kernel, const Group& group, const ValueGraph& values,
                   const Target& target);

// Executed instructions as work: FMAs are MACs, special functions exponentials.
Work ToWork(const Execution& execution);

}  // namespace dlcost
