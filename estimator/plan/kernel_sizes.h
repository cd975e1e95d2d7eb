#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "estimator/plan/kernel.h"

namespace dlcost {

// A kernel's numbers as one list, in an order that its structure decides: work, traffic, loop
// nests. What is no number (types, which operand is which, what the nest is) goes into the hash
// `structure`.
void CollectSizes(const Kernel& kernel, std::vector<std::int64_t>& sizes, std::size_t& structure);

// The kernel with other numbers, as many as CollectSizes gave for one of its structure.
Kernel WithSizes(const Kernel& like, std::span<const std::int64_t> sizes);

}  // namespace dlcost
