#pragma once

#include <string>
#include <vector>

#include "estimator/profiles/measurement.h"

namespace dlcost {

// The launches of one run of the model, as a sequence.
struct Folded {
  // In order of launch. Durations and counters are medians over the runs that were kept.
  std::vector<MeasuredKernel> kernels;
  std::vector<MeasuredKernel> before;  // launched before the first run: loading, initialization
  std::int64_t runs = 1;               // complete runs that were found
  std::vector<std::string> notes;
};

// Cuts a sequence of launches into runs of the model: the shortest period in which the names repeat
// over most of the sequence and that launches about `products` convolutions and matrix products
// (what the model needs; layers that repeat within a run are thereby no runs). With several runs
// the first is warm-up and does not count.
Folded FoldRuns(const std::vector<MeasuredKernel>& kernels, std::int64_t products);

}  // namespace dlcost
