#pragma once

#include <optional>
#include <vector>

#include "estimator/compare/align.h"

namespace dlcost {

// Corrects an assignment in order where products ran in another order than the model lists them:
// exchanges two products, and places a product that was left over at an operator that was left
// over, where counts or times clearly say so and neither operator waits for the other's result.
// What prepares and finishes a product moves with it.
void Reorder(const std::vector<Slot>& slots, const std::vector<Item>& items,
             std::optional<double> pace, std::vector<Assignment>& assignments);

// Gives neighbouring operators that own several products each (the layers of a recurrent network)
// their shares of the items that all of them together were given: in order, by expected work, and
// where the kernels' names begin anew. Order alone cannot tell where one ends and the next begins.
void Share(const std::vector<Slot>& slots, const std::vector<Item>& items,
           std::vector<Assignment>& assignments);

}  // namespace dlcost
