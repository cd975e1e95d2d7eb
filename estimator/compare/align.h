#pragma once

#include <vector>

#include "estimator/compare/evidence.h"
#include "estimator/compare/slots.h"

namespace dlcost {

struct Assignment {
  int slot = -1;      // -1: none
  bool main = false;  // does the slot's work, rather than preparing or finishing it
  int score = 0;
};

// The best assignment of items to slots: monotone first (dynamic programming over both sequences: a
// slot takes at most one main item, and helpers around it), once by names and counts and, where
// times are known, once more with them, relative to the pace of the run. Then products that ran in
// another order than the model's, where nothing makes one wait for the other. Throws Error when
// slots x items exceed 2^26.
std::vector<Assignment> Align(const std::vector<Slot>& slots, const std::vector<Item>& items);

}  // namespace dlcost
