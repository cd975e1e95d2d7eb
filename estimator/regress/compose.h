#pragma once

#include "estimator/regress/causes.h"
#include "estimator/regress/diff.h"

namespace dlcost {

// Puts a cause into words.
Change ComposeChange(const Cause& cause, const GraphComparison& comparison);
// One change per pair of data types: nodes that differ in precision and in nothing else.
std::vector<Change> ComposePrecision(const GraphComparison& comparison);
// Changes of the same kind and wording become one, which names all places.
void MergeAlike(std::vector<Change>& changes);

}  // namespace dlcost
