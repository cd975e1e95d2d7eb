#pragma once

#include <compare>
#include <type_traits>

#include "estimator/core/count.h"

namespace dlcost {

// Whole quantities: a checked count with a unit. Equal units add; an integer scales.
template <typename Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(Count count) : count_(count) {}
  constexpr explicit Quantity(std::int64_t count) : count_(count) {}
  template <typename Real, typename = std::enable_if_t<std::is_floating_point_v<Real>>>
  explicit Quantity(Real) = delete;  // as for Count

  constexpr Count count() const { return count_; }
  constexpr std::int64_t value() const { return count_.value(); }
  double AsDouble() const { return count_.AsDouble(); }

  friend Quantity operator+(Quantity a, Quantity b) { return Quantity(a.count_ + b.count_); }
  friend Quantity operator-(Quantity a, Quantity b) { return Quantity(a.count_ - b.count_); }
  friend Quantity operator*(Quantity a, Count b) { return Quantity(a.count_ * b); }
  Quantity& operator+=(Quantity other) { return *this = *this + other; }
  Quantity& operator-=(Quantity other) { return *this = *this - other; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  Count count_;
};

// Real quantities: times and rates.
template <typename Tag>
class Measure {
 public:
  constexpr Measure() = default;
  constexpr explicit Measure(double value) : value_(value) {}

  constexpr double value() const { return value_; }

  friend constexpr Measure operator+(Measure a, Measure b) { return Measure(a.value_ + b.value_); }
  friend constexpr Measure operator-(Measure a, Measure b) { return Measure(a.value_ - b.value_); }
  friend constexpr Measure operator*(Measure a, double b) { return Measure(a.value_ * b); }
  friend constexpr Measure operator*(double a, Measure b) { return Measure(a * b.value_); }
  friend constexpr Measure operator/(Measure a, double b) { return Measure(a.value_ / b); }
  friend constexpr double operator/(Measure a, Measure b) { return a.value_ / b.value_; }
  Measure& operator+=(Measure other) { return *this = *this + other; }
  friend constexpr auto operator<=>(Measure, Measure) = default;

 private:
  double value_ = 0;
};

using Flops = Quantity<struct FlopTag>;  // floating-point operations, a count
using Macs = Quantity<struct MacTag>;    // multiply-accumulates
using Bytes = Quantity<struct ByteTag>;
using Seconds = Measure<struct SecondTag>;
using FlopRate = Measure<struct FlopRateTag>;    // FLOP/s
using ByteRate = Measure<struct ByteRateTag>;    // byte/s
using Intensity = Measure<struct IntensityTag>;  // FLOP/byte

inline Seconds operator/(Bytes bytes, ByteRate rate) {
  return Seconds(bytes.AsDouble() / rate.value());
}
inline Seconds operator/(Flops flops, FlopRate rate) {
  return Seconds(flops.AsDouble() / rate.value());
}
inline Intensity operator/(Flops flops, Bytes bytes) {
  return Intensity(flops.AsDouble() / bytes.AsDouble());
}
// The ridge point: the intensity at which compute and memory take equally long.
inline Intensity operator/(FlopRate flops, ByteRate bytes) {
  return Intensity(flops.value() / bytes.value());
}

}  // namespace dlcost
