#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace dlcost {

// A row that may be of products: its launches, work and time in one run.
struct PerhapsRow {
  std::size_t row = 0, launches = 0;
  double flops = 0, seconds = 0;
};

// The rows that are products, by their numbers, where from `least` to `most` launches of products
// are missing: of few rows those whose work comes closest to one of `works` (FLOPs), if any do
// within a fifth; else those with the most work, of equal ones with the most time, for products
// take most of both. Where no rows launch `least` times, as many as come next to it.
std::vector<std::size_t> ChooseProducts(std::vector<PerhapsRow> rows, double least, double most,
                                        std::initializer_list<double> works);

}  // namespace dlcost
