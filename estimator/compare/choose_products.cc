#include "estimator/compare/choose_products.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "estimator/core/integer.h"

namespace dlcost {
namespace {

// Of few rows those that launch from `least` to `most` times and whose work comes to one of `works`
// within a fifth, the closest; empty: none do.
std::vector<std::size_t> ClosestOf(const std::vector<PerhapsRow>& rows, double least, double most,
                                   std::initializer_list<double> works) {
  constexpr std::size_t kMostRows = 14;
  if (rows.size() > kMostRows) return {};
  double closest = 0.2;
  std::size_t best = 0;
  for (std::size_t set = 1; set < std::size_t{1} << rows.size(); ++set) {
    double launches = 0, work = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if ((set >> r) % 2 == 0) continue;
      launches += static_cast<double>(rows[r].launches);
      work += rows[r].flops;
    }
    double off = HUGE_VAL;
    for (const double flops : works) {
      if (flops > 0) off = std::min(off, std::abs(work / flops - 1));
    }
    if (launches < least - 0.5 || launches > most + 0.5 || off >= closest) continue;
    closest = off;
    best = set;
  }
  std::vector<std::size_t> found;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if ((best >> r) % 2 == 1) found.push_back(rows[r].row);
  }
  return found;
}

// The rows that together launch from `least` to `most` times, or as close below as they can, with
// the most work; of equal ones with the most time.
std::vector<std::size_t> MostOf(std::vector<PerhapsRow> rows, double least, double most) {
  constexpr std::size_t kMostLaunches = 20'000, kMostRows = 200;
  std::stable_sort(rows.begin(), rows.end(), [](const PerhapsRow& a, const PerhapsRow& b) {
    return std::pair(a.flops, a.seconds) > std::pair(b.flops, b.seconds);
  });
  if (rows.size() > kMostRows) rows.resize(kMostRows);
  const auto limit = std::min(kMostLaunches, RoundToInteger<std::size_t>(std::min(most, 1e9)));
  using Value = std::pair<double, double>;
  std::vector<std::optional<Value>> best(limit + 1);  // by launches
  best[0] = Value(0, 0);
  std::vector<std::vector<bool>> taken(rows.size(), std::vector<bool>(limit + 1, false));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t n = limit; n >= rows[r].launches && n > 0; --n) {
      const std::optional<Value>& before = best[n - rows[r].launches];
      if (!before) continue;
      const Value value(before->first + rows[r].flops, before->second + rows[r].seconds);
      if (best[n] && *best[n] >= value) continue;
      best[n] = value;
      taken[r][n] = true;
    }
  }
  const auto first = std::min(limit, RoundToInteger<std::size_t>(std::min(least, 1e9)));
  std::size_t chosen = 0;
  for (std::size_t n = first; n <= limit; ++n) {
    if (best[n] && (chosen < first || *best[n] > *best[chosen])) chosen = n;
  }
  for (std::size_t n = first; chosen == 0 && n > 0; --n) {
    if (best[n]) chosen = n;
  }
  std::vector<std::size_t> found;
  for (std::size_t r = rows.size(); r-- > 0;) {
    if (!taken[r][chosen]) continue;
    found.push_back(rows[r].row);
    chosen -= rows[r].launches;
  }
  return found;
}

}  // namespace

std::vector<std::size_t> ChooseProducts(std::vector<PerhapsRow> rows, double least, double most,
                                        std::initializer_list<double> works) {
  std::vector<std::size_t> found = ClosestOf(rows, least, most, works);
  return found.empty() ? MostOf(std::move(rows), least, most) : found;
}

}  // namespace dlcost
