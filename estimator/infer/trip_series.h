#pragma once

#include <optional>
#include <vector>

#include "estimator/infer/infer.h"

namespace dlcost {

// The cost of a loop's iterations as a series, to sum those that are too many to follow one by one.
// When shapes grow by a fixed amount per iteration, every count is a polynomial in the iteration's
// number; the first iterations determine it, and more of them check it.
class TripSeries {
 public:
  static constexpr std::size_t kTrips = 10;  // enough for degree 4, and five to check

  // Notes the nodes of the next iteration, nodes[from, end), and the types that it hands on.
  void Add(const std::vector<CountedNode>& nodes, std::size_t from, std::vector<TensorType> types);

  struct Total {
    std::vector<CountedNode> nodes;  // the cost of all iterations together
    std::vector<TensorType> types;   // what the last one hands on
  };
  // All of `trips` iterations, or nullopt when the first kTrips do not follow a polynomial of
  // degree 4 or less. Throws OverflowError where a count does not fit.
  std::optional<Total> Sum(std::int64_t trips) const;
  // What iteration `trip` hands on, when Sum found a polynomial.
  std::vector<TensorType> TypesAt(std::int64_t trip) const;

 private:
  struct Trip {
    std::vector<CountedNode> nodes;
    std::vector<TensorType> types;
    std::vector<std::int64_t> costs, dims;
  };
  std::optional<std::vector<Count>> DifferencesOf(std::vector<std::int64_t> Trip::*numbers,
                                                  std::size_t i) const;

  std::vector<Trip> trips_;
};

}  // namespace dlcost
