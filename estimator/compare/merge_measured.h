#pragma once

#include <optional>

#include "estimator/compare/join.h"

namespace dlcost {

// What was told first stays.
template <typename T>
void Prefer(std::optional<T>& into, const std::optional<T>& what) {
  if (!into) into = what;
}

// What a file adds to a kernel that other files know already. `finer`: it looked deeper than these.
void MergeMeasured(Measured& to, const Measured& from, bool finer);

}  // namespace dlcost
