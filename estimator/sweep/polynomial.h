#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dlcost {

using Rational = mpq_class;
// A power for each variable, in the order of the variables.
using Powers = std::vector<int>;

// A polynomial in several variables with exact rational coefficients.
class Polynomial {
 public:
  Polynomial() = default;
  Polynomial(Powers powers, const Rational& coefficient) { Add(std::move(powers), coefficient); }

  void Add(Powers powers, const Rational& coefficient);
  void Add(const Polynomial& other, const Rational& times = 1);
  friend Polynomial operator*(const Polynomial& a, const Polynomial& b);
  friend bool operator==(const Polynomial&, const Polynomial&) = default;

  bool IsZero() const { return terms_.empty(); }
  // None has the coefficient 0.
  const std::map<Powers, Rational>& terms() const { return terms_; }
  Rational Coefficient(const Powers& powers) const;
  // Highest power of one variable, 0 for none.
  int Degree(std::size_t variable) const;
  Rational At(const std::vector<std::int64_t>& point) const;
  // In the variables y where x = y + by.
  Polynomial ShiftedBy(const std::vector<std::int64_t>& by) const;

 private:
  std::map<Powers, Rational> terms_;
};

// Enough for a never to be below b at sizes from `from` on: in sizes counted from there, no
// coefficient of the difference is negative.
bool NeverBelow(const Polynomial& a, const Polynomial& b, const std::vector<std::int64_t>& from);

// C((x - base) / period, k) as coefficients of 1, x, ..., x^k.
std::vector<Rational> BinomialBasis(std::int64_t base, std::int64_t period, int k);

}  // namespace dlcost
