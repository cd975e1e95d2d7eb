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

// A sum over all runs: of the rows that are products by their names, and with those that may be.
struct Between {
  double least = 0, most = 0;
  void Add(const FoldedRow& row, double value) {
    if (row.product) least += value;
    if (row.product || row.unknown) most += value;
  }
};

struct AllRuns {
  Between flops, seconds, launches;  // of products
  double all_flops = 0, all_seconds = 0, all_launches = 0, marker_launches = 0;
  bool uncounted = false;  // of products on the matrix pipe no counter tells
  bool fewer = false;      // some need fewer products than the mathematics
};

// log2 of how far two ranges are from each other; 0 where they overlap.
double OffRange(const Between& values, double least, double most) {
  if (values.most < least) return std::log2(least / values.most);
  return values.least > most ? std::log2(values.least / most) : 0;
}

// How far the logarithm of a value is from that of what it should be.
double Off(double value, double should) { return std::abs(std::log2(value / should)); }

// Winograd's least that libraries use, F(4x4, 3x3): 36 products for 144.
constexpr double kLeastShare = 0.25;

double FlopsOff(const Between& flops, const OneRun& one, bool fewer) {
  double off = 64;
  if (fewer && one.algorithmic > 0)
    off = OffRange(flops, kLeastShare * one.algorithmic, one.algorithmic);
  for (const double work : {one.flops, one.algorithmic}) {
    if (work > 0) off = std::min(off, OffRange(flops, work, work));
  }
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
RunCount FromWork(double flops, double seconds, const OneRun& one) {
  const auto rounded = [](double ratio) {
    return ratio < 1.5 ? 1 : RoundToInteger(std::min(ratio, static_cast<double>(kMostRuns)));
  };
  if (flops > 0 && one.flops > 0) {
    const std::int64_t runs = rounded(flops / one.flops);
    return {runs,
            runs > 1 ? "its FLOPs over those of one run: the ratio of all FLOPs is 1 by that"
                     : "its FLOPs are those of one run",
            runs > 1};
  }
  if (seconds > 0 && one.seconds > 0) {
    const std::int64_t runs = rounded(seconds / one.seconds);
    return {runs,
            runs > 1 ? "its time over that expected of one run: the ratio of all time is 1 "
                       "by that"
                     : "its time is that of one run",
            runs > 1};
  }
  return {1, "nothing tells how often"};
}

class RunFinder {
 public:
  RunFinder(const std::vector<FoldedRow>& rows, const std::vector<Slot>& slots)
      : rows_(rows), one_(OneRunOf(slots)), slots_(slots.size()) {
    for (const FoldedRow& row : rows_) Add(row);
    // No product is told apart: everything may be the model's, and its work is all of the model's.
    if (all_.launches.most == 0) one_.seconds = one_.all_seconds;
  }

  RunCount Run() const {
    if (all_.all_launches == 0) {
      const bool products = all_.launches.most > 0 || products_;
      return FromWork(all_.uncounted ? 0
                      : products     ? all_.flops.least
                                     : all_.all_flops,
                      products ? all_.seconds.least : all_.all_seconds, one_);
    }
    double best_cost = HUGE_VAL;
    std::int64_t best = 1;
    for (const std::int64_t runs : candidates_) {
      const double cost = Cost(runs);
      if (cost < best_cost) {
        best = runs;
        best_cost = cost;
      }
    }
    if (best == 1) return {1, "launches, work and time are those of one run"};
    const char* what = products_ ? "products" : "kernels";
    return {best, fmt::format("{} divides the launches of {} {}", best,
                              ShareOfProducts(best) > 0.995 ? "all" : "most", what)};
  }

 private:
  void Add(const FoldedRow& row) {
    if (row.foreign) return;
    const auto launches = static_cast<double>(row.launches);
    all_.flops.Add(row, row.flops.value_or(0));
    all_.seconds.Add(row, row.seconds.value_or(0));
    all_.launches.Add(row, launches);
    all_.all_flops += row.flops.value_or(0);
    all_.all_seconds += row.seconds.value_or(0);
    all_.all_launches += launches;
    if (row.marker) all_.marker_launches += launches;
    all_.uncounted |= row.product && !row.flops;
    all_.fewer |= row.fewer;
    products_ |= row.product;
    AddDivisors(row.launches, candidates_);
  }

  // What a row tells of the runs: its share of the work and of the launches, as small rows tell as
  // much of it as long ones.
  double Weight(const FoldedRow& row) const {
    const auto launches = static_cast<double>(row.launches);
    const double share = all_.all_flops > 0     ? row.flops.value_or(0) / all_.all_flops
                         : all_.all_seconds > 0 ? row.seconds.value_or(0) / all_.all_seconds
                                                : launches / all_.all_launches;
    return share + launches / all_.all_launches;
  }

  // Weight of the products, else of all kernels, whose launches so many runs divide.
  double ShareOfProducts(std::int64_t runs) const {
    double weight = 0, divisible = 0;
    for (const FoldedRow& row : rows_) {
      if (row.foreign || row.launches == 0 || row.product != products_) continue;
      weight += Weight(row);
      if (row.launches % runs == 0) divisible += Weight(row);
    }
    return weight > 0 ? divisible / weight : 0;
  }

  double Cost(std::int64_t runs) const {
    const auto count = static_cast<double>(runs);
    // A program's set-up and its other kernels run as often as they like; products do not.
    double others = 0, divisible = 0;
    for (const FoldedRow& row : rows_) {
      if (row.foreign || row.launches == 0) continue;
      others += Weight(row);
      if (row.launches % runs == 0) divisible += Weight(row);
    }
    double cost = 12 * (1 - ShareOfProducts(runs)) + 12 * (others > 0 ? 1 - divisible / others : 0);
    cost += 4 * std::log2(static_cast<double>(RepeatsWithin(rows_, runs)));
    return cost + WorkCost(count) + LaunchCost(count) + TimeCost(count);
  }

  // Algorithms differ in what they execute, by up to a half.
  double WorkCost(double count) const {
    if (!products_ || all_.uncounted || all_.flops.most <= 0) return 0;
    const Between flops{all_.flops.least / count, all_.flops.most / count};
    const double off = FlopsOff(flops, one_, all_.fewer);
    // What is missing may have run on the matrix pipe, where names do not tell.
    const bool hidden = flops.most > flops.least && flops.most < one_.algorithmic;
    if (hidden) return 0.5 * std::min(off, 4.0);
    return off + 5 * std::max(0.0, off - 0.25);
  }

  double LaunchCost(double count) const {
    double cost = 0;
    // A model has so many poolings and normalizations; those whose names do not tell may be more.
    const double markers = all_.marker_launches / count;
    if (one_.products.markers > 0 && markers > one_.products.markers)
      cost += 2 * std::log2(markers / one_.products.markers);
    if (all_.launches.most > 0 && one_.products.planned > 0) {
      const Between each{all_.launches.least / count, all_.launches.most / count};
      return cost + 3 * OffRange(each, one_.products.least, one_.products.most) +
             0.3 * OffRange(each, one_.products.planned, one_.products.planned);
    }
    if (slots_ > 0) cost += Off(all_.all_launches / count, static_cast<double>(slots_));
    return cost;
  }

  double TimeCost(double count) const {
    if (one_.seconds <= 0) return 0;
    const bool products = all_.launches.most > 0;
    const double most = (products ? all_.seconds.most : all_.all_seconds) / count;
    const double sure = (products ? all_.seconds.least : all_.all_seconds) / count;
    if (most <= 0) return 0;
    const double ratio = most / one_.seconds;
    const double least = all_.uncounted ? 0.2 : 0.5;  // the matrix pipe is faster than expected
    double cost = ratio < least ? 4 * Off(ratio, least) : 0.5 * Off(std::min(ratio, 1.0), 1);
    if (sure > one_.seconds) cost += 0.5 * Off(sure, one_.seconds);
    return cost;
  }

  const std::vector<FoldedRow>& rows_;
  OneRun one_;
  const std::size_t slots_;
  AllRuns all_;
  bool products_ = false;  // some rows are, by their names
  std::set<std::int64_t> candidates_ = {1};
};

}  // namespace

std::int64_t RepeatsWithin(const std::vector<FoldedRow>& rows, std::int64_t runs) {
  constexpr int kManyProducts = 3, kMany = 5;
  std::int64_t of_products = 0, of_all = 0;
  int products = 0, all = 0;
  for (const FoldedRow& row : rows) {
    if (row.foreign || row.launches == 0 || row.launches % runs != 0) continue;
    of_all = std::gcd(of_all, row.launches / runs);
    ++all;
    if (!row.product) continue;
    of_products = std::gcd(of_products, row.launches / runs);
    ++products;
  }
  return all >= kMany ? of_all : products >= kManyProducts ? of_products : 1;
}

RunCount InferRuns(const std::vector<FoldedRow>& rows, const std::vector<Slot>& slots) {
  return RunFinder(rows, slots).Run();
}

}  // namespace dlcost
