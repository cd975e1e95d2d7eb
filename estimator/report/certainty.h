#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estimator/core/units.h"
#include "estimator/infer/infer.h"

namespace dlcost {

// What of a sum is not exact. Work is that of nodes, traffic and times those of kernels, as in the
// sum itself.
struct Doubt {
  struct Part {
    std::int64_t nodes = 0;
    Macs macs;
    Flops flops;
    Bytes bytes;
    Seconds time;  // that the roofs would impose if all of it ran; of upper bounds not in `bound`
    Seconds expected;
    friend bool operator==(const Part&, const Part&) = default;
  };
  Part at_most;              // counts that are upper bounds
  Part assumed;              // counts that rest on something assumed
  std::int64_t unknown = 0;  // nodes that are in no sum
  std::int64_t bounded = 0;  // nodes of which the bytes are in the sum and the work is not

  bool Exact() const;
  friend bool operator==(const Doubt&, const Doubt&) = default;
};
void Accumulate(Doubt& into, const Doubt& what);
// Of one node, with this work.
Doubt DoubtOf(const CountedNode& node, Macs macs, Flops flops);

// How a number stands to what really happens, as it is printed in front of it.
enum class Standing { kExact, kAtMost, kAtLeast, kAbout };
std::string_view Mark(Standing standing);  // "", "<= ", ">= ", "~ "
Standing MacsStanding(const Doubt& doubt);
Standing FlopsStanding(const Doubt& doubt);
Standing BytesStanding(const Doubt& doubt);
// A bound leaves out what may not run, so that it holds; only what was assumed can move it.
Standing BoundStanding(const Doubt& doubt);
Standing ExpectedStanding(const Doubt& doubt);
Standing PeakStanding(const Doubt& doubt);  // of the memory that live values take
// In one or two words: "exact", "at most", "assumed", "incomplete", "at most, incomplete".
std::string Word(const Doubt& doubt);

// How far the totals of a report are to be believed: what is shown before them.
struct Certainty {
  Doubt doubt;  // of the totals
  // A node from which counts become upper bounds: its size is in the data.
  struct Cause {
    std::string node, op, why;
    std::int64_t nodes = 0;  // that depend on it, by their first doubtful input
    Macs macs;
    Flops flops;
  };
  std::vector<Cause> causes;  // the most work first
  // Multiply-accumulates of nodes that are known before the run, in no total: a runtime that folds
  // constants does not run them, one that does not does.
  std::int64_t folded_nodes = 0;
  Macs folded_macs;
  std::vector<OpenBranch> branches;
  std::vector<Settled> settled;  // by the user or by assumption

  // Nothing at most, assumed or unknown.
  bool Exact() const;
  bool Silent() const;  // there is nothing to say
};

// All but the doubt of the totals, which the report sums up.
Certainty CertaintyOf(const InferredModel& model, const Convention& convention);

}  // namespace dlcost
