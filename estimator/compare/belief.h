#pragma once

#include <string>
#include <vector>

#include "estimator/compare/join.h"
#include "estimator/compare/slots.h"

namespace dlcost {

// One thing that speaks for a file being of this model (bits > 0) or against it (bits < 0).
struct Clue {
  double bits = 0;
  std::string text;  // one clause
};

// Is it this model at all? A join always finds something: any convolution goes somewhere. What it
// found is weighed here against what a file of another model would give, in bits: log2 of how much
// more likely this is with a file of this model. The scale was set on files of known models.
struct Belief {
  std::vector<Clue> clues;
  // How many times what is expected its products take, where nothing counts what they do: then a
  // run of another batch looks like a slow one.
  std::optional<double> only_by_time;

  double bits() const;
  bool holds() const { return bits() >= 0; }
  // The clues that speak most against it, the strongest first; at most three.
  std::vector<std::string> Against() const;
};

Belief Believe(const Report& report, const Joined& joined, const std::optional<Device>& device);

}  // namespace dlcost
