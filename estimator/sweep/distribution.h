#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "estimator/sweep/curves.h"

namespace dlcost {

// How items of different sizes become batches, each as long as its longest item.
enum class Batching {
  kOneLength,   // every batch of items of one size: no padding
  kSorted,      // in order of size; of whole counts alone
  kBucketed,    // of items of one bucket, padded to its end
  kAsTheyCome,  // in random order
  kLongest,     // all padded to the longest size
};
std::string_view Name(Batching batching);  // "one length", "sorted", ...

// A distribution of sizes on one device and setup, all other sizes fixed. A run has as many items
// as its batch.
struct SweepDistribution {
  std::size_t device = 0, setup = 0;
  Point fixed;
  std::size_t axis = 0;
  double items = 0;                      // sum of weights
  std::int64_t batch = 1;                // items of a run
  bool timed = false;                    // all of its runs are; else no time is told
  Seconds mean, p50, p90, p99, longest;  // of runs whose items are of one size
  double mean_flops = 0;                 // of an item
  struct Way {
    Batching batching;
    double padding = 0;  // share of the positions that is padding
    double flops = 0;    // of all items, padding included
    Seconds total;       // of all items
  };
  std::vector<Way> ways;  // those that differ, least padding first

  const Way* Find(Batching batching) const;
};
std::vector<SweepDistribution> DistributionsOf(const Sweep& sweep,
                                               const std::vector<SweepPoint>& points);

}  // namespace dlcost
