#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "estimator/core/count.h"

namespace dlcost {

// The only ways from a real number to an integer. A cast is undefined where the integer has no
// room: 2^63 - 1 has no double of its own, becomes 2^63, and a cast back makes it negative.

// The real towards zero; nullopt for NaN and where `Integer` cannot hold it.
template <typename Integer = std::int64_t>
constexpr std::optional<Integer> TryTruncate(double real) {
  static_assert(std::is_integral_v<Integer>);
  using Limits = std::numeric_limits<Integer>;
  // Both are powers of two (or zero), which a double holds exactly; max() itself it does not.
  constexpr Integer kHalf = Limits::max() / 2 + 1;
  constexpr double kBeyond = 2.0 * static_cast<double>(kHalf);
  constexpr double kLowest = static_cast<double>(Limits::min());
  // What lies between the lowest integer and the next real below truncates to it.
  const bool fits = real < kBeyond && (real >= kLowest || real > kLowest - 1);
  if (!fits) return std::nullopt;  // NaN compares false
  return static_cast<Integer>(real);
}

// The same; throws OverflowError instead.
template <typename Integer = std::int64_t>
Integer Truncate(double real) {
  const std::optional<Integer> integer = TryTruncate<Integer>(real);
  if (!integer) throw OverflowError();
  return *integer;
}

// To the nearest integer, halves away from zero; throws OverflowError where it does not fit.
template <typename Integer = std::int64_t>
Integer RoundToInteger(double real) {
  return Truncate<Integer>(std::round(real));
}

}  // namespace dlcost
