#include <algorithm>
#include <cmath>

#include "estimator/sweep/formula.h"

namespace dlcost {

Powers CommonPowers(const Polynomial& polynomial, std::size_t variables) {
  Powers common(variables, 0);
  bool first = true;
  for (const auto& [powers, coefficient] : polynomial.terms()) {
    for (std::size_t v = 0; v < variables; ++v) {
      common[v] = first ? powers[v] : std::min(common[v], powers[v]);
    }
    first = false;
  }
  return common;
}

namespace {

// The coefficients of each power of one variable, polynomials in the others.
std::map<int, Polynomial> ByPower(const Polynomial& polynomial, std::size_t variable) {
  std::map<int, Polynomial> by_power;
  for (const auto& [powers, coefficient] : polynomial.terms()) {
    Powers rest = powers;
    rest[variable] = 0;
    by_power[powers[variable]].Add(std::move(rest), coefficient);
  }
  return by_power;
}

// a / b where that is one positive number.
std::optional<Rational> Ratio(const Polynomial& a, const Polynomial& b) {
  const Rational ratio = a.terms().begin()->second / b.terms().begin()->second;
  Polynomial rest = a;
  rest.Add(b, -ratio);
  if (!rest.IsZero() || ratio <= 0) return std::nullopt;
  return ratio;
}

}  // namespace

std::vector<Crossing> FindCrossings(const FormulaQuantity& quantity, std::size_t variables) {
  std::vector<Crossing> crossings;
  if (!quantity.known() || !quantity.total.bent.empty()) return crossings;
  for (std::size_t v = 0; v < variables; ++v) {
    const std::map<int, Polynomial> by_power = ByPower(quantity.total.straight, v);
    for (auto high = by_power.begin(); high != by_power.end(); ++high) {
      for (auto low = by_power.begin(); low != high; ++low) {
        // Between neighbours, and against a variable's linear part.
        if (std::next(low) != high || low->first == 0) continue;
        const std::optional<Rational> ratio = Ratio(low->second, high->second);
        if (!ratio) continue;
        crossings.push_back({.quantity = quantity.key,
                             .variable = v,
                             .higher = high->first,
                             .lower = low->first,
                             .ratio = *ratio,
                             .at = std::pow(ratio->get_d(), 1.0 / (high->first - low->first))});
      }
    }
  }
  return crossings;
}

}  // namespace dlcost
