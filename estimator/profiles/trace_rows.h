#pragma once

#include <cstddef>
#include <vector>

#include "estimator/profiles/measurement.h"
#include "estimator/profiles/trace.h"

namespace dlcost {

// Gives the kernel of a span the ranges that its call lies in: all of them as its scope, the
// innermost as its operator. The first kernel of a range has the range's time as its host's;
// `told`, per span: whether a kernel has it already. FindParents has run.
void TellRanges(const Spans& spans, std::size_t index, const NamePool& names,
                std::vector<bool>& told, MeasuredKernel& kernel);

}  // namespace dlcost
