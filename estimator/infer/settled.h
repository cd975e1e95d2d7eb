#pragma once

#include <optional>
#include <string>

#include "estimator/core/units.h"

namespace dlcost {

struct InferredModel;

// A question that only a run can answer, as it was answered for this count.
struct Settled {
  std::string option;    // "--trips", "--branch", "--value": what answered it, or could have
  std::string subject;   // the node or the input; "" for an answer that holds for all
  std::string answer;    // "12", "then", "1,2,3"
  bool assumed = false;  // nobody said so: a default or a guess
  friend bool operator==(const Settled&, const Settled&) = default;
};

// An If whose condition only the run knows, and for which nobody chose a branch.
struct OpenBranch {
  struct Cost {
    Macs macs;
    Flops flops;  // by the default convention
    Bytes bytes;
    friend auto operator<=>(const Cost&, const Cost&) = default;  // by work, then by bytes
  };
  std::string node;
  bool then_counted = true;
  Cost counted;               // of all runs of the node
  std::optional<Cost> other;  // none: the other branch cannot run
  std::string why;            // it cannot
  Count repeat = 1;           // runs of the node that the costs are of
};

// Drops what was noted of nodes that did not stay in the result, and makes the costs of branches
// those of all runs.
void FinishSettled(InferredModel& model);

}  // namespace dlcost
