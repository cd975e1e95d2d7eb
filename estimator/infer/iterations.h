#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "estimator/infer/control_flow.h"

namespace dlcost {

// Iterations that differ from one another, as one row per node: costs and repetitions added up,
// shapes and loop nests those of the iteration in the middle. The nodes of the last one go to
// InferredModel::last_iterations.

// One iteration: gets what the one before handed on, and its number from 0; appends its nodes to
// the result, with names that do not tell the iteration; returns what it hands on.
using Iteration = std::function<std::vector<Known>(const std::vector<Known>&, std::int64_t)>;

// Follows each of `trips` > 0 iterations; returns what the last one hands on.
std::vector<Known> FollowEach(InferenceDriver& driver, const Iteration& iteration,
                              std::vector<Known> state, std::int64_t trips);

// The same in closed form, for iterations whose shapes grow by a fixed amount (TripSeries);
// nullopt, with nothing appended, when they do not. What is handed on has types and no values.
std::optional<std::vector<Known>> SumInClosedForm(InferenceDriver& driver,
                                                  const Iteration& iteration,
                                                  const std::vector<Known>& state,
                                                  std::int64_t trips);

}  // namespace dlcost
