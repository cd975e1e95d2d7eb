#include "estimator/sweep/region.h"

#include <algorithm>

#include "estimator/core/count.h"

namespace dlcost {
namespace {

__extension__ using Wide = __int128;

}  // namespace

bool CountRegion::Contains(const Point& point, CountFamily family) const {
  const std::vector<RegionRange>& of_family = ranges[static_cast<std::size_t>(family)];
  for (std::size_t v = 0; v < axes.size(); ++v) {
    if ((point[v] - axes[v].base) % axes[v].period != 0) return false;
    if (!of_family.empty() && (point[v] < of_family[v].from || point[v] > of_family[v].to)) {
      return false;
    }
  }
  return true;
}

std::int64_t CountRegion::ValueAt(std::uint32_t polynomial, const Point& point) const {
  std::int64_t value = StraightAt(polynomial, point);
  const Bend& bend = bends[polynomial];
  for (const std::uint32_t piece : bend.others) {
    const std::int64_t other = StraightAt(piece, point);
    value = bend.smallest ? std::min(value, other) : std::max(value, other);
  }
  return value;
}

std::int64_t CountRegion::StraightAt(std::uint32_t polynomial, const Point& point) const {
  const std::vector<std::int64_t>& coefficients = newton[polynomial];
  // Partial sums may pass 64 bits where the value does not.
  std::vector<Wide> sums(coefficients.begin(), coefficients.end());
  std::size_t count = sums.size();
  for (std::size_t v = axes.size(); v-- > 0;) {
    const Wide t = (point[v] - axes[v].base) / axes[v].period;
    const auto size = static_cast<std::size_t>(axes[v].degree) + 1;
    count /= size;
    for (std::size_t i = 0; i < count; ++i) {
      Wide sum = 0, binomial = 1;
      for (std::size_t k = 0; k < size; ++k) {
        Wide term = 0;
        if (__builtin_mul_overflow(sums[i * size + k], binomial, &term) ||
            __builtin_add_overflow(sum, term, &sum)) {
          throw OverflowError();
        }
        const auto order = static_cast<Wide>(k);
        if (__builtin_mul_overflow(binomial, t - order, &binomial)) throw OverflowError();
        binomial /= order + 1;
      }
      sums[i] = sum;
    }
  }
  const auto value = static_cast<std::int64_t>(sums[0]);
  if (value != sums[0]) throw OverflowError();
  return value;
}

Polynomial CountRegion::PolynomialOf(std::uint32_t polynomial) const {
  Polynomial sum;
  const std::vector<std::int64_t>& coefficients = newton[polynomial];
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    if (coefficients[i] == 0) continue;
    Polynomial term(Powers(axes.size(), 0), mpz_class(static_cast<signed long>(coefficients[i])));
    std::size_t index = i;
    for (std::size_t v = axes.size(); v-- > 0;) {
      const auto size = static_cast<std::size_t>(axes[v].degree) + 1;
      const std::vector<Rational> basis =
          BinomialBasis(axes[v].base, axes[v].period, static_cast<int>(index % size));
      index /= size;
      Polynomial factor;
      for (std::size_t k = 0; k < basis.size(); ++k) {
        Powers powers(axes.size(), 0);
        powers[v] = static_cast<int>(k);
        factor.Add(std::move(powers), basis[k]);
      }
      term = term * factor;
    }
    sum.Add(term);
  }
  return sum;
}

}  // namespace dlcost
