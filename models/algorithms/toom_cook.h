#pragma once

#include "models/algorithms/execution.h"

namespace dlcost {

// F(m, r): m outputs of an r-tap filter from m + r - 1 products (Winograd 1980, built by Toom-Cook
// interpolation at 0, 1, -1, 2, -2, 1/2, -1/2, ... and infinity, as Lavin and Gray 2015 do).
// What one application of each transform to a vector costs. Rows (or columns) of the transform
// matrices that belong to points p and -p share their even and odd parts; a product and an addition
// that meet become an FMA.
struct ToomCook {
  int outputs = 0;      // m
  int taps = 0;         // r
  int products = 0;     // m + r - 1
  Instructions input;   // B^T d: products x products matrix
  Instructions filter;  // G g: products x taps matrix
  Instructions output;  // A^T y: outputs x products matrix
};

// Throws Error unless m, r >= 1 and m + r - 1 <= kMostToomCookProducts. Made once and kept.
inline constexpr int kMostToomCookProducts = 12;
const ToomCook& ToomCookOf(int m, int r);

}  // namespace dlcost
