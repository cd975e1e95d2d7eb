#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/compare/slots.h"
#include "estimator/profiles/measurement.h"

namespace dlcost {

// The launches of one run of the model, as a sequence.
struct Folded {
  // In order of launch. Durations and counters are medians over the runs that were kept.
  std::vector<MeasuredKernel> kernels;
  std::vector<MeasuredKernel> before;  // launched before the first run: loading, initialization
  std::int64_t runs = 1;               // complete runs that were found
  // Runs that do not launch the same kernels in the same order (something else ran between), one by
  // one, the first left out; `kernels` is then the last of them.
  std::vector<std::vector<MeasuredKernel>> apart;
  std::vector<std::string> notes;
};

// Of at least one value; the mean of the two in the middle where there are two.
double Median(std::vector<double> values);

// Cuts a sequence of launches into runs of the model: the shortest period in which the names repeat
// over most of the sequence and that launches about `products` convolutions and matrix products
// (what the model needs; kernels whose names tell nothing may be some; layers that repeat within a
// run are thereby no runs). Where other kernels ran between, the products alone are looked at. With
// several runs the first is warm-up and does not count. With `runs` the sequence has to have so
// many: throws Error where it has not.
Folded FoldRuns(const std::vector<MeasuredKernel>& kernels, const ExpectedProducts& products,
                std::optional<std::int64_t> runs = std::nullopt);

// How often the products of one run repeat themselves exactly, by calls where there are some, else
// by the names of kernels; 1 where they do not or are all called alike.
std::int64_t Repeats(const std::vector<MeasuredKernel>& kernels);

}  // namespace dlcost
