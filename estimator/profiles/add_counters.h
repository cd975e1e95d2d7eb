#pragma once

#include <cstdint>

#include "estimator/profiles/measurement.h"

namespace dlcost {

// Gives the kernels of `trace` the counters of the same kernels in another run: a profiler of
// counters slows and serializes what it counts, a trace counts nothing. Kernels correspond by name
// (as one profiler prints it in full and the other cut to the function's), by grid and block where
// all rows of both tell them, and by order of launch; where the trace has a whole multiple of the
// launches, it ran the model more often. Tables that fold launches give all of a name their mean.
// Times, starts and operators stay the trace's, and so do counters that it has itself. Returns how
// many of the trace's launches were given any.
struct AddedCounters {
  std::int64_t launches = 0;
  std::int64_t of = 0;         // launches of kernels in the trace
  std::int64_t left_over = 0;  // launches in `counters` that no kernel of the trace is
};
AddedCounters AddCounters(Measurement& trace, const Measurement& counters);

// "max_pool_forward" of "void at::native::(anonymous namespace)::max_pool_forward<float>(int)": the
// function, without its type, namespaces, arguments.
std::string FunctionName(const std::string& kernel);

}  // namespace dlcost
