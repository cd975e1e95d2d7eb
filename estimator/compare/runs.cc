#include "estimator/compare/runs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "estimator/compare/op_family.h"
#include "estimator/core/integer.h"

namespace dlcost {
namespace {

constexpr std::int64_t kMostRuns = 100'000'000;

// What one run needs.
struct OneRun {
  double flops = 0, algorithmic = 0, seconds = 0;  // of products
  double all_seconds = 0;
  ExpectedProducts products;
};

OneRun OneRunOf(const std::vector<Slot>& slots) {
  OneRun one;
  one.products = ProductsOf(slots);
  for (const Slot& slot : slots) {
    one.all_seconds += slot.seconds.value_or(0);
    if (!IsProduct(slot.family)) continue;
    one.seconds += slot.seconds.value_or(0);
    one.flops += slot.flops.value_or(0);
    one.algorithmic += slot.algorithmic.value_or(0);
  }
  return one;
}

struct AllRuns {
  double flops = 0, seconds = 0, launches = 0;
};

// The same to a range.
double OffRange(double value, double least, double most) {
  if (value < least) return std::log2(least / value);
  return value > most ? std::log2(value / most) : 0;
}

// How far the logarithm of a value is from that of what it should be.
double Off(double value, double should) { return std::abs(std::log2(value / should)); }

// Winograd's least that libraries use, F(4x4, 3x3): 36 products for 144.
constexpr double kLeastShare = 0.25;

double FlopsOff(double flops, const OneRun& one, bool fewer) {
  double off = 64;
  if (fewer && one.algorithmic > 0)
    off = OffRange(flops, kLeastShare * one.algorithmic, one.algorithmic);
  if (one.flops > 0) off = std::min(off, Off(flops, one.flops));
  if (one.algorithmic > 0) off = std::min(off, Off(flops, one.algorithmic));
  return off;
}

void AddDivisors(std::int64_t number, std::set<std::int64_t>& divisors) {
  for (std::int64_t d = 1; d * d <= number && d < 100'000; ++d) {
    if (number % d != 0) continue;
    divisors.insert(d);
    divisors.insert(number / d);
  }
}

// Without launches: as many runs as the work, or the time, makes up.
RunCount FromWork(const AllRuns& all, const OneRun& one) {
  const auto rounded = [](double ratio) {
    return ratio < 1.5 ? 1 : RoundToInteger(std::min(ratio, static_cast<double>(kMostRuns)));
  };
  if (all.flops > 0 && one.flops > 0) {
    const std::int64_t runs = rounded(all.flops / one.flops);
    return {runs,
            runs > 1 ? "its FLOPs over those of one run: the ratio of all FLOPs is 1 by that"
                     : "its FLOPs are those of one run",
            runs > 1};
  }
  if (all.seconds > 0 && one.seconds > 0) {
    const std::int64_t runs = rounded(all.seconds / one.seconds);
    return {runs,
            runs > 1 ? "its time over that expected of one run: the ratio of all time is 1 "
                       "by that"
                     : "its time is that of one run",
            runs > 1};
  }
  return {1, "nothing tells how often"};
}

}  // namespace

RunCount InferRuns(const std::vector<FoldedRow>& rows, const std::vector<Slot>& slots) {
  OneRun one = OneRunOf(slots);
  const bool products =
      std::any_of(rows.begin(), rows.end(), [](const FoldedRow& row) { return row.product; });
  if (!products) one.seconds = one.all_seconds;
  AllRuns all;
  bool told = false, uncounted = false, fewer = false;
  std::set<std::int64_t> candidates = {1};
  for (const FoldedRow& row : rows) {
    if (row.product != products) continue;
    all.flops += row.flops.value_or(0);
    uncounted |= row.product && !row.flops;
    fewer |= row.fewer;
    all.seconds += row.seconds.value_or(0);
    all.launches += static_cast<double>(row.launches);
    told |= row.launches > 0;
    AddDivisors(row.launches, candidates);
  }
  if (uncounted) all.flops = 0;  // of products on the matrix pipe no counter tells
  if (!told) return FromWork(all, one);
  double best_cost = 0, best_share = 0;
  std::int64_t best = 0;
  for (const std::int64_t runs : candidates) {
    const auto count = static_cast<double>(runs);
    double cost = 0, weight = 0, divisible = 0;
    std::int64_t common = 0, names = 0;
    for (const FoldedRow& row : rows) {
      if (row.product != products || row.launches == 0) continue;
      const double share = all.flops > 0     ? row.flops.value_or(0) / all.flops
                           : all.seconds > 0 ? row.seconds.value_or(0) / all.seconds
                                             : static_cast<double>(row.launches) / all.launches;
      // Small rows tell as much of it as long ones.
      const double both = share + static_cast<double>(row.launches) / all.launches;
      weight += both;
      if (row.launches % runs == 0) {
        divisible += both;
        common = std::gcd(common, row.launches / runs);
        ++names;
      }
    }
    const double share = weight > 0 ? divisible / weight : 0;
    // Kernels of several names do not all run an even number of times in one run.
    if (names >= 3 && common > 1) cost += 4 * std::log2(static_cast<double>(common));
    cost += 12 * (1 - share);
    if (products && all.flops > 0) {
      // Algorithms differ in what they execute, by up to a half.
      const double off = FlopsOff(all.flops / count, one, fewer);
      cost += off + 5 * std::max(0.0, off - 0.25);
    }
    if (products && one.products.planned > 0) {
      const double each = all.launches / count;
      cost += 3 * OffRange(each, one.products.least, one.products.most) +
              0.3 * Off(each, one.products.planned);
    } else if (!slots.empty()) {
      cost += Off(all.launches / count, static_cast<double>(slots.size()));
    }
    if (all.seconds > 0 && one.seconds > 0) {
      const double ratio = all.seconds / count / one.seconds;
      const double least = uncounted ? 0.2 : 0.5;  // the matrix pipe is faster than expected
      cost += ratio < least ? 4 * Off(ratio, least) : 0.5 * Off(std::min(ratio, 1.0), 1);
      if (ratio > 1) cost += 0.5 * Off(ratio, 1);
    }
    if (best == 0 || cost < best_cost) {
      best = runs;
      best_cost = cost;
      best_share = share;
    }
  }
  if (best == 1) return {1, "launches, work and time are those of one run"};
  return {best, best_share > 0.995 ? fmt::format("{} divides the launches of {}", best,
                                                 products ? "all products" : "all kernels")
                                   : fmt::format("{} divides the launches of most products", best)};
}

}  // namespace dlcost
