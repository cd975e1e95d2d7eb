#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "estimator/sweep/polynomial.h"
#include "estimator/sweep/tally.h"

namespace dlcost {

// Sizes of the variables, in their order.
using Point = std::vector<std::int64_t>;
// Counts the model at a point. Throws Error where the model does not take these sizes.
using CountAt = std::function<CountTally(const Point&)>;

// One variable's part of a region: sizes base + period * t for whole t.
struct RegionAxis {
  std::int64_t base = 1;
  std::int64_t period = 1;  // of strides that round: 1 for none
  int degree = 0;

  std::int64_t Remainder() const { return base % period; }
};

// From where to where one family of counts was found to follow its polynomials, the other variables
// at their base.
struct RegionRange {
  std::int64_t from = 1, to = 1;
  std::string why_from, why_to;  // what is beyond: "" where nothing was found up to the limit
};

// Where every count of a model is a polynomial in its open dimensions, and these polynomials.
struct CountRegion {
  std::size_t structure = 0;
  std::vector<RegionAxis> axes;
  // Per slot of the layout: which of the different polynomials it is.
  std::vector<std::uint32_t> polynomial_of;
  // Per polynomial: coefficients of the products of binomials C(t_v, k_v), the last variable's k
  // running fastest. Whole numbers, so that they evaluate exactly.
  std::vector<std::vector<std::int64_t>> newton;
  // Of these, counts that are the smallest, or the largest, of several polynomials: rows of a table
  // that are read, but no more than it has.
  struct Bend {
    std::vector<std::uint32_t> others;  // empty: it does not bend
    bool smallest = true;
  };
  std::vector<Bend> bends;
  // Those that nothing of the kind fits.
  std::vector<bool> none;
  std::array<std::vector<RegionRange>, kCountFamilies> ranges;  // per family and axis
  // Points inside that are of another structure, or that the model does not take: ends depend on
  // several sizes at once. Found by looking at some.
  std::vector<Point> holes;
  std::int64_t samples = 0, verified = 0;  // points that were counted; of these, not used to fit

  // Whether the point belongs to the residue class and the ranges of a family.
  bool Contains(const Point& point, CountFamily family) const;
  // Exact value of a count at a point of the residue class, bends included. Throws OverflowError.
  std::int64_t ValueAt(std::uint32_t polynomial, const Point& point) const;
  // The polynomial alone.
  std::int64_t StraightAt(std::uint32_t polynomial, const Point& point) const;
  Polynomial PolynomialOf(std::uint32_t polynomial) const;
};

struct RegionOptions {
  int max_degree = 6;
  std::int64_t max_period = 512;
  std::int64_t limit = std::int64_t(1) << 20;  // sizes above are not looked at
  int verify = 12;                             // points inside that are counted again
  std::vector<Point> also_verify;              // and these, where they are inside
  std::int64_t max_counted = 4'000'000;  // numbers; periods are looked for while there are fewer
  bool ranges = true;                    // look for the ends
};

// Finds the region around `base` by counting at points around it: degrees and periods along each
// variable, Newton's interpolation over the grid of all of them, then checks at points that were
// not used. `families` names the family of each slot. Throws Error where the model does not take
// `base`, or no neighbours of it.
CountRegion FindRegion(const CountAt& count, const Point& base,
                       const std::vector<CountFamily>& families, const RegionOptions& options = {});

}  // namespace dlcost
