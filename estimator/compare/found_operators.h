#pragma once

#include <map>
#include <vector>

#include "estimator/compare/join.h"
#include "estimator/compare/slots.h"

namespace dlcost {

// Of one family, what the model has and what of it was found in a file; per run of the model.
struct FoundFamily {
  double model = 0;    // operators
  double joined = 0;   // of these, where names tell nothing, less
  double kernels = 0;  // of these, whatever names tell
  double over = 0;     // launches that no operator wants
};

struct FoundOperators {
  std::map<KernelFamily, FoundFamily> families;
  double telling = 0;  // share of the file's products whose names tell that they are
  double excess = 0;   // launches of rows of products beyond what their operators can have
};

// Counts which operators of the model a joined file has kernels for, each by how well these suit.
FoundOperators CountFound(const Report& report, const Joined& joined,
                          const std::vector<Slot>& slots);

}  // namespace dlcost
