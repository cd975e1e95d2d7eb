#include "estimator/compare/period.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace dlcost {
namespace {

constexpr double kMismatches = 0.1;  // kernels of a run that may be called otherwise in another run
constexpr double kCoverage = 0.6;    // of the sequence that the runs must explain

// How many launches at the end repeat what stood `period` before them, few mismatches forgiven. The
// result is a multiple of the period.
std::size_t RepeatedTail(const std::vector<int>& ids, std::size_t period) {
  std::size_t repeated = 0, mismatches = 0;
  const std::size_t n = ids.size();
  for (std::size_t tail = 1; tail + period <= n; ++tail) {
    mismatches += ids[n - tail] != ids[n - tail - period];
    if (static_cast<double>(mismatches) >
        kMismatches * static_cast<double>(std::max<std::size_t>(tail, 10)))
      break;
    if (tail % period == 0) repeated = tail;
  }
  return repeated;
}

}  // namespace

std::vector<int> Numbered(const std::vector<std::string>& names) {
  std::map<std::string, int> known;
  std::vector<int> ids;
  for (const std::string& name : names) {
    ids.push_back(known.emplace(name, static_cast<int>(known.size())).first->second);
  }
  return ids;
}

Period FindPeriod(const std::vector<int>& ids, const std::vector<LaunchKind>& kinds,
                  const ExpectedProducts& expected, std::optional<std::int64_t> runs) {
  const std::size_t n = ids.size();
  std::vector<double> known = {0}, unknown = {0}, markers = {0};
  for (const LaunchKind& kind : kinds) {
    markers.push_back(markers.back() + static_cast<double>(kind.markers));
    known.push_back(known.back() + kind.product);
    unknown.push_back(unknown.back() + static_cast<double>(kind.unknown));
  }
  // log2 of how far the products of the last `period` launches are from those expected.
  const auto distance = [&](std::size_t period) {
    const double least = known[n] - known[n - period];
    const double most = least + unknown[n] - unknown[n - period];
    const double marked = markers[n] - markers[n - period];
    const double beyond = expected.markers > 0 && marked > expected.markers
                              ? std::log2(marked / expected.markers)
                              : 0;
    if (expected.most <= 0) return beyond + std::log2(1 + least);
    if (least > expected.most) return beyond + std::log2(least / expected.most);
    return beyond + (most < expected.least ? std::log2(expected.least / std::max(most, 0.5)) : 0);
  };
  Period best;
  double least = runs ? HUGE_VAL : distance(n);
  for (std::size_t period = 1; 2 * period <= n; ++period) {
    // Cheap rejections first: most periods fail on their last launch or their number of products.
    if (ids[n - 1] != ids[n - 1 - period] || distance(period) > least) continue;
    const bool nearer = distance(period) < least;
    if (!nearer && n % period != 0) continue;
    const std::size_t repeated = RepeatedTail(ids, period);
    if (repeated == 0 ||
        static_cast<double>(repeated + period) < kCoverage * static_cast<double>(n)) {
      continue;
    }
    const Period found{period, repeated};
    // All of it repeats, to the last launch: no layers within a run do.
    if (!runs && repeated + period == n && distance(period) == 0 && RepeatsEvery(ids, period))
      return found;
    if (runs && static_cast<std::int64_t>(found.runs()) != *runs) continue;
    if (!nearer) continue;
    best = found;
    least = distance(period);
  }
  return best;
}

bool RepeatsEvery(const std::vector<int>& ids, std::size_t period) {
  return std::equal(ids.begin() + static_cast<std::ptrdiff_t>(period), ids.end(), ids.begin());
}

bool RepeatsExactly(const std::vector<int>& ids, const Period& period) {
  const std::vector<int> runs(ids.end() - static_cast<std::ptrdiff_t>(period.tail + period.length),
                              ids.end());
  return RepeatsEvery(runs, period.length);
}

std::size_t ShortestPeriod(const std::vector<int>& ids) {
  if (ids.empty()) return 0;
  // By the borders of its prefixes.
  std::vector<std::size_t> border(ids.size(), 0);
  for (std::size_t i = 1, length = 0; i < ids.size(); ++i) {
    while (length > 0 && ids[i] != ids[length]) length = border[length - 1];
    if (ids[i] == ids[length]) ++length;
    border[i] = length;
  }
  const std::size_t period = ids.size() - border.back();
  return ids.size() % period == 0 ? period : ids.size();
}

}  // namespace dlcost
