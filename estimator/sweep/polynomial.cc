#include "estimator/sweep/polynomial.h"

#include <algorithm>

namespace dlcost {
namespace {

Rational ToRational(std::int64_t value) {
  return Rational(mpz_class(static_cast<signed long>(value)));
}

std::vector<Rational> Multiply(const std::vector<Rational>& a, const std::vector<Rational>& b) {
  std::vector<Rational> product(a.size() + b.size() - 1);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) product[i + j] += a[i] * b[j];
  }
  return product;
}

}  // namespace

void Polynomial::Add(Powers powers, const Rational& coefficient) {
  if (coefficient == 0) return;
  const auto [at, fresh] = terms_.emplace(std::move(powers), coefficient);
  if (fresh) return;
  at->second += coefficient;
  if (at->second == 0) terms_.erase(at);
}

void Polynomial::Add(const Polynomial& other, const Rational& times) {
  for (const auto& [powers, coefficient] : other.terms_) Add(powers, coefficient * times);
}

Polynomial operator*(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  for (const auto& [left, x] : a.terms_) {
    for (const auto& [right, y] : b.terms_) {
      Powers powers = left;
      for (std::size_t v = 0; v < powers.size(); ++v) powers[v] += right[v];
      product.Add(std::move(powers), x * y);
    }
  }
  return product;
}

Rational Polynomial::Coefficient(const Powers& powers) const {
  const auto at = terms_.find(powers);
  return at == terms_.end() ? Rational(0) : at->second;
}

int Polynomial::Degree(std::size_t variable) const {
  int degree = 0;
  for (const auto& [powers, coefficient] : terms_) degree = std::max(degree, powers[variable]);
  return degree;
}

Rational Polynomial::At(const std::vector<std::int64_t>& point) const {
  Rational sum;
  for (const auto& [powers, coefficient] : terms_) {
    Rational term = coefficient;
    for (std::size_t v = 0; v < powers.size(); ++v) {
      for (int i = 0; i < powers[v]; ++i) term *= ToRational(point[v]);
    }
    sum += term;
  }
  return sum;
}

Polynomial Polynomial::ShiftedBy(const std::vector<std::int64_t>& by) const {
  Polynomial shifted;
  for (const auto& [powers, coefficient] : terms_) {
    Polynomial term(Powers(powers.size(), 0), coefficient);
    for (std::size_t v = 0; v < powers.size(); ++v) {
      Powers one(powers.size(), 0);
      Polynomial sum(one, ToRational(by[v]));
      one[v] = 1;
      sum.Add(one, 1);
      for (int i = 0; i < powers[v]; ++i) term = term * sum;
    }
    shifted.Add(term);
  }
  return shifted;
}

bool NeverBelow(const Polynomial& a, const Polynomial& b, const std::vector<std::int64_t>& from) {
  Polynomial difference = a;
  difference.Add(b, -1);
  const Polynomial shifted = difference.ShiftedBy(from);
  return std::all_of(shifted.terms().begin(), shifted.terms().end(),
                     [](const auto& term) { return term.second > 0; });
}

std::vector<Rational> BinomialBasis(std::int64_t base, std::int64_t period, int k) {
  std::vector<Rational> product = {1};
  for (int i = 0; i < k; ++i) {
    // ((x - base) / period - i) / (i + 1)
    const Rational scale = ToRational(period) * (i + 1);
    Rational constant = -(ToRational(base) + ToRational(period) * i) / scale;
    product = Multiply(product, {constant, Rational(1) / scale});
  }
  return product;
}

}  // namespace dlcost
