#pragma once

#include <optional>

#include "estimator/plan/kernel.h"
#include "models/algorithms/attention.h"

namespace dlcost {

// How much of a model's products depends on how many positions look at each other, and how much
// only on how many there are.
struct AttentionShare {
  Macs scores;          // in attention kernels: grows with the product of queries and keys
  Macs products;        // everything else: grows with the number of queries
  Count q_len, kv_len;  // of the attention with most work
  SequencePhase phase = SequencePhase::kPrefill;

  // The number of keys at which both are equal, the ratio of queries to keys kept in prefill and
  // one query at a time in decoding: kv_len * products / scores. For a transformer encoder of width
  // d with a feed-forward of 4 d, where products take 12 L d^2 and scores 2 L^2 d, that is 6 d.
  double Crossover() const { return kv_len.AsDouble() * products.AsDouble() / scores.AsDouble(); }
};

class AttentionCounter {
 public:
  void Add(const Kernel& kernel);
  // nullopt without attention kernels.
  std::optional<AttentionShare> Share() const;

 private:
  AttentionShare share_;
  Count most_;  // multiply-accumulates of one attention kernel
};

}  // namespace dlcost
