#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "estimator/core/error.h"

namespace dlcost {

// A count overflowed 64 bits. Whoever knows the node adds its name with Error::At.
class OverflowError : public Error {
 public:
  OverflowError();
};

// A checked, signed 64-bit count of operations, elements or bytes. Overflow throws OverflowError;
// it never wraps.
class Count {
 public:
  constexpr Count() = default;
  constexpr Count(std::int64_t value) : value_(value) {}  // NOLINT: counts are written as integers
  // A real is no count until Truncate or RoundToInteger (core/integer.h) have checked it.
  template <typename Real, typename = std::enable_if_t<std::is_floating_point_v<Real>>>
  Count(Real) = delete;

  constexpr std::int64_t value() const { return value_; }
  double AsDouble() const { return static_cast<double>(value_); }

  friend Count operator+(Count a, Count b) {
    Count result;
    if (__builtin_add_overflow(a.value_, b.value_, &result.value_)) throw OverflowError();
    return result;
  }
  friend Count operator-(Count a, Count b) {
    Count result;
    if (__builtin_sub_overflow(a.value_, b.value_, &result.value_)) throw OverflowError();
    return result;
  }
  friend Count operator*(Count a, Count b) {
    Count result;
    if (__builtin_mul_overflow(a.value_, b.value_, &result.value_)) throw OverflowError();
    return result;
  }
  // Truncating division, as in C++. The divisor must not be zero.
  friend Count operator/(Count a, Count b) {
    if (b.value_ == 0) throw Error("division of a count by zero");
    if (b.value_ == -1) return Count(0) - a;
    return Count(a.value_ / b.value_);
  }
  friend Count operator%(Count a, Count b) { return a - a / b * b; }
  Count& operator+=(Count other) { return *this = *this + other; }
  Count& operator-=(Count other) { return *this = *this - other; }
  Count& operator*=(Count other) { return *this = *this * other; }

  friend constexpr auto operator<=>(Count, Count) = default;

 private:
  std::int64_t value_ = 0;
};

// Smallest multiple count: ceil(a / b) for a >= 0, b > 0.
Count CeilDiv(Count a, Count b);
// a rounded up to a multiple of b, for a >= 0, b > 0.
Count RoundUp(Count a, Count b);

}  // namespace dlcost

template <>
struct fmt::formatter<dlcost::Count> : fmt::formatter<std::int64_t> {
  template <typename Context>
  auto format(dlcost::Count count, Context& context) const {
    return fmt::formatter<std::int64_t>::format(count.value(), context);
  }
};
