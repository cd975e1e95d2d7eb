#pragma once

#include <unordered_set>
#include <vector>

#include "estimator/plan/fuse.h"

namespace dlcost {

struct Traffic {
  Bytes read, written;
  // Part of both: what another kernel wrote just before, and what another one reads. A cache can
  // hold it in between.
  Bytes passed;
  Bytes weights;  // part of what is read: parameters, which every run of the model reads
};

// Bytes that cross the border of each group: every value from outside once, as much as is touched
// of it; every value that somebody outside reads. Weights that are dequantized before the run, or
// while they are read, count at their stored width.
class TrafficCounter {
 public:
  TrafficCounter(const ValueGraph& values, const Grouping& grouping)
      : values_(values), grouping_(grouping) {}

  // Inside `groups[g]` everything stays on the chip.
  Traffic Fused(std::size_t g) const;
  // Only what no fusion can avoid: the model's inputs and weights at their first reader, its
  // outputs at their maker. Call in order of execution.
  Traffic Compulsory(std::size_t g);
  // As the single node's operator states it.
  Traffic Separate(std::size_t n) const;

  // The quantized value behind a dequantization that is folded or happens on the way; kNoValue when
  // there is none.
  ValueId Quantized(ValueId value) const;

 private:
  struct Read {
    ValueId value;
    ValueId part;  // a view or a cut of fewer elements; kNoValue for all that there is
    Bytes bytes;
    Bytes whole;  // that nobody can read more of
  };
  std::vector<Read> LiveIn(std::size_t g) const;
  bool CutsPart(std::size_t n) const;
  void AddReads(std::size_t n, std::size_t g, std::vector<Read>& reads) const;
  void AddLiveOut(std::size_t g, bool only_outputs, Traffic& traffic) const;
  bool IsReadOutside(ValueId value, std::size_t g) const;
  bool IsMade(ValueId value) const;
  void AddRead(ValueId value, Bytes bytes, Traffic& traffic) const;
  Bytes AppendedBytes(std::size_t n) const;
  Bytes HeldReads(std::size_t g) const;
  std::size_t GroupOfProducer(ValueId value) const;
  Bytes StoredSize(ValueId value) const;

  const ValueGraph& values_;
  const Grouping& grouping_;
  std::unordered_set<ValueId> seen_;
};

}  // namespace dlcost
