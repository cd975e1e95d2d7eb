#pragma once

#include <cstddef>

#include "estimator/infer/value_graph.h"

namespace dlcost {

// What libraries' matrix products do beside multiplying: alpha * op(A) * op(B) + beta * C, and a
// vector that cuBLASLt's epilogue adds. Each says whether a node asks for it.

// Adds a stored vector as long as the rows of what it adds to, or of the product that it is itself.
bool AddsStoredVector(const ValueGraph& values, std::size_t n);
// Multiplies by a stored number, or divides by one (alpha).
bool ScalesByStoredNumber(const ValueGraph& values, std::size_t n);
// Exchanges the last two axes and leaves the others where they are (op).
bool TransposesMatrices(const ValueGraph& values, std::size_t n);

}  // namespace dlcost
