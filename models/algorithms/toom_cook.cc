#include "models/algorithms/toom_cook.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <optional>
#include <vector>

namespace dlcost {
namespace {

// Exact fractions; the numbers stay small for at most kMostToomCookProducts points.
struct Fraction {
  Count num = 0, den = 1;

  Fraction(std::int64_t n = 0) : num(n) {}  // NOLINT: fractions are written as integers
  Fraction(Count n, Count d) : num(n), den(d) {
    const std::int64_t divisor = std::gcd(n.value(), d.value()) * (d < Count(0) ? -1 : 1);
    num = n / divisor;
    den = d / divisor;
  }
  friend Fraction operator*(Fraction a, Fraction b) { return {a.num * b.num, a.den * b.den}; }
  friend Fraction operator/(Fraction a, Fraction b) { return {a.num * b.den, a.den * b.num}; }
  friend Fraction operator+(Fraction a, Fraction b) {
    return {a.num * b.den + b.num * a.den, a.den * b.den};
  }
  friend Fraction operator-(Fraction a, Fraction b) { return a + b * Fraction(-1); }
  friend bool operator==(const Fraction&, const Fraction&) = default;
  bool zero() const { return num == Count(0); }
  Fraction abs() const { return {num < Count(0) ? Count(0) - num : num, den}; }
  bool unit() const { return abs() == Fraction(1); }
};

using Row = std::vector<Fraction>;
using Matrix = std::vector<Row>;

// 0, 1, -1, 2, -2, 1/2, -1/2, 3, -3, 1/3, -1/3: small numbers keep the error small.
std::vector<Fraction> Points(int count) {
  std::vector<Fraction> points(1);
  for (int i = 0; static_cast<int>(points.size()) < count; ++i) {
    const int base = 1 + (i + 1) / 2;
    const Fraction p = i == 0       ? Fraction(1)
                       : i % 2 == 1 ? Fraction(base)
                                    : Fraction(Count(1), base);
    points.push_back(p);
    points.push_back(p * Fraction(-1));
  }
  points.resize(static_cast<std::size_t>(count), Fraction(0));
  return points;
}

// Coefficients of the product of (x - p) over all points but the one at `skip` (-1: none).
Row Polynomial(const std::vector<Fraction>& points, int skip, std::size_t size) {
  Row coefficients(1, 1);
  for (int i = 0; i < static_cast<int>(points.size()); ++i) {
    if (i == skip) continue;
    Row next(coefficients.size() + 1, Fraction(0));
    for (std::size_t c = 0; c < coefficients.size(); ++c) {
      next[c + 1] = next[c + 1] + coefficients[c];
      next[c] = next[c] - coefficients[c] * points[static_cast<std::size_t>(i)];
    }
    coefficients = std::move(next);
  }
  coefficients.resize(size, Fraction(0));
  return coefficients;
}

Row Powers(Fraction p, int count, Fraction scale) {
  Row row;
  for (int i = 0; i < count; ++i, scale = scale * p) row.push_back(scale);
  return row;
}

Row Last(int count) {
  Row row(static_cast<std::size_t>(count), Fraction(0));
  row.back() = 1;
  return row;
}

Count Total(const Instructions& i) { return i.fma + i.add + i.mul; }

// All coefficients are the same number, other than 1, but for their signs.
bool HasCommonFactor(const Row& coefficients) {
  const Fraction* factor = nullptr;
  for (const Fraction& c : coefficients) {
    if (c.zero()) continue;
    if (factor != nullptr && c.abs() != factor->abs()) return false;
    factor = &c;
  }
  return factor != nullptr && !factor->unit();
}

// A sum of coefficient times variable. It starts from a term that needs no product if there is one;
// a common factor is applied to the sum.
Instructions CostOfSum(const Row& coefficients) {
  int plain = 0, scaled = 0;
  for (const Fraction& c : coefficients) {
    if (c.zero()) continue;
    ++(c.unit() ? plain : scaled);
  }
  if (plain + scaled == 0) return {};
  if (plain > 0) return {.fma = scaled, .add = plain - 1};
  if (HasCommonFactor(coefficients)) return {.add = scaled - 1, .mul = 1};
  return {.fma = scaled - 1, .mul = 1};
}

// Two rows that differ in nothing but signs share their parts: u + v and u - v. nullopt when they
// do not pair up.
std::optional<Instructions> CostOfPair(const Row& a, const Row& b) {
  Row same(a.size(), Fraction(0)), opposite(a.size(), Fraction(0));
  bool any_same = false, any_opposite = false;
  for (std::size_t c = 0; c < a.size(); ++c) {
    if (a[c].abs() != b[c].abs()) return std::nullopt;
    if (a[c].zero()) continue;
    (a[c] == b[c] ? any_same : any_opposite) = true;
    (a[c] == b[c] ? same : opposite)[c] = a[c];
  }
  if (!any_same || !any_opposite) return std::nullopt;
  Instructions cost = CostOfSum(same);
  cost += CostOfSum(opposite);
  // One part may keep its common factor for the last step, where it turns additions into FMAs.
  if (HasCommonFactor(opposite) || HasCommonFactor(same)) {
    cost.mul -= 1;
    cost.fma += 2;
  } else {
    cost.add += 2;
  }
  return cost;
}

Instructions CostOfRows(const Matrix& matrix) {
  Instructions sum;
  std::vector<bool> done(matrix.size(), false);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    if (done[i]) continue;
    Instructions best = CostOfSum(matrix[i]);
    for (std::size_t j = i + 1; j < matrix.size(); ++j) {
      if (done[j]) continue;
      const std::optional<Instructions> pair = CostOfPair(matrix[i], matrix[j]);
      Instructions apart = best;
      apart += CostOfSum(matrix[j]);
      if (!pair || Total(*pair) > Total(apart)) continue;
      best = *pair;
      done[j] = true;
      break;
    }
    sum += best;
  }
  return sum;
}

// Columns that belong to p and -p: their sum and difference stand for them in every row.
Instructions CostOfColumns(Matrix matrix, const std::vector<Fraction>& points) {
  Instructions sum;
  for (std::size_t c = 0; c + 1 < points.size(); ++c) {
    if (points[c].zero() || !(points[c] + points[c + 1]).zero()) continue;
    sum += {.add = 2};
    for (Row& row : matrix) {  // each row uses one of the two
      row[c + 1] = 0;
    }
    ++c;
  }
  for (const Row& row : matrix) sum += CostOfSum(row);
  return sum;
}

ToomCook MakeToomCook(int m, int r) {
  const int n = m + r - 1;
  const std::vector<Fraction> points = Points(n - 1);
  Matrix input, filter, output(static_cast<std::size_t>(m));
  for (int j = 0; j + 1 < n; ++j) {
    const Fraction p = points[static_cast<std::size_t>(j)];
    Fraction norm(1);
    for (int k = 0; k + 1 < n; ++k) {
      if (k != j) norm = norm * (p - points[static_cast<std::size_t>(k)]);
    }
    input.push_back(Polynomial(points, j, static_cast<std::size_t>(n)));
    filter.push_back(Powers(p, r, Fraction(1) / norm));
    const Row powers = Powers(p, m, 1);
    for (std::size_t i = 0; i < output.size(); ++i) output[i].push_back(powers[i]);
  }
  input.push_back(Polynomial(points, -1, static_cast<std::size_t>(n)));
  filter.push_back(Last(r));
  for (std::size_t i = 0; i < output.size(); ++i) {
    output[i].push_back(Fraction(i + 1 == output.size() ? 1 : 0));
  }
  return {.outputs = m,
          .taps = r,
          .products = n,
          .input = CostOfRows(input),
          .filter = CostOfRows(filter),
          .output = m == 1 ? CostOfRows(output) : CostOfColumns(output, points)};
}

}  // namespace

const ToomCook& ToomCookOf(int m, int r) {
  if (m < 1 || r < 1 || m + r - 1 > kMostToomCookProducts) {
    throw Error("no transform for F({}, {}): m + r - 1 must be 1 to {}", m, r,
                kMostToomCookProducts);
  }
  struct Entry {
    std::once_flag made;
    ToomCook transforms;
  };
  static std::array<std::array<Entry, kMostToomCookProducts + 1>, kMostToomCookProducts + 1> known;
  Entry& entry = known[static_cast<std::size_t>(m)][static_cast<std::size_t>(r)];
  std::call_once(entry.made, [&] { entry.transforms = MakeToomCook(m, r); });
  return entry.transforms;
}

}  // namespace dlcost
