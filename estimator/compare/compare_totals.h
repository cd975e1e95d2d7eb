#pragma once

#include "estimator/compare/compare.h"

namespace dlcost {

// Two FLOPs per multiply-accumulate; of kernels without any, the arithmetic in the convention.
Flops AlgorithmicFlops(const KernelRow& kernel);

// Fills in what is summed over the rows: totals, by_op, statistics of the ratios, worst.
void AddTotals(const Report& report, Comparison& comparison);

}  // namespace dlcost
