#pragma once

#include <optional>

#include "estimator/core/integer.h"
#include "estimator/graph/value.h"

namespace dlcost {

// Element i of a value as an integer: exactly where it is stored as one, never by way of a real,
// which has no 2^63 - 1; a real towards zero, nullopt where it does not fit.
inline std::optional<std::int64_t> IntegerAt(const Value& value, std::size_t i) {
  return value.is_integer() ? value.ints()[i] : TryTruncate(value.reals()[i]);
}

}  // namespace dlcost
