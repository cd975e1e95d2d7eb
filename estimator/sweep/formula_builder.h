#pragma once

#include <string>
#include <vector>

#include "estimator/sweep/formula.h"

namespace dlcost {

// Which nodes of a model a part of the formula is told for.
struct FormulaNode {
  std::string name, op, scope;
};

// Fills in the quantities and crossings of a formula whose region is known. `layout` says what the
// numbers of its tallies are, `nodes` what the nodes are called.
void BuildQuantities(const std::vector<CountSlot>& layout, const std::vector<FormulaNode>& nodes,
                     Formula& formula);

}  // namespace dlcost
