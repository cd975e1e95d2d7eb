#include "estimator/compare/fold.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "estimator/compare/op_family.h"
#include "estimator/profiles/kernel_name.h"

namespace dlcost {
namespace {

constexpr double kMismatches = 0.1;  // kernels of a run that may be called otherwise in another run
constexpr double kCoverage = 0.6;    // of the sequence that the runs must explain
constexpr std::size_t kLongest = 100'000;  // launches; beyond, periods are not searched

bool IsProduct(const MeasuredKernel& kernel) {
  const KernelFamily family = ReadKernelName(kernel.name).family;
  return family == KernelFamily::kConvolution || family == KernelFamily::kGemm ||
         family == KernelFamily::kAttention || family == KernelFamily::kRecurrent;
}

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

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

// The launch at `position` of every run, as one.
MeasuredKernel Merge(const std::vector<MeasuredKernel>& kernels, std::size_t first,
                     std::size_t period, std::size_t runs) {
  MeasuredKernel merged = kernels[first + (runs - 1) * period];
  std::vector<double> durations;
  std::map<Metric, std::vector<double>> values;
  for (std::size_t run = 0; run < runs; ++run) {
    const MeasuredKernel& kernel = kernels[first + run * period];
    if (kernel.duration) durations.push_back(kernel.duration->value());
    for (const Counter& counter : kernel.counters) values[counter.metric].push_back(counter.value);
  }
  if (!durations.empty()) merged.duration = Seconds(Median(durations));
  for (Counter& counter : merged.counters) counter.value = Median(values[counter.metric]);
  return merged;
}

}  // namespace

Folded FoldRuns(const std::vector<MeasuredKernel>& kernels, std::int64_t products) {
  const std::size_t n = kernels.size();
  std::map<std::string, int> known;
  std::vector<int> ids;
  std::vector<std::int64_t> products_before = {0};
  for (const MeasuredKernel& kernel : kernels) {
    ids.push_back(known.emplace(kernel.name, static_cast<int>(known.size())).first->second);
    products_before.push_back(products_before.back() + IsProduct(kernel));
  }
  Folded folded;
  std::size_t best = n, tail = 0;
  const auto distance = [&](std::size_t period) {
    return std::abs(products_before[n] - products_before[n - period] - products);
  };
  std::int64_t least = n <= kLongest ? distance(n) : 0;
  for (std::size_t period = 1; n <= kLongest && 2 * period <= n; ++period) {
    // Cheap rejections first: most periods fail on their last launch or their number of products.
    if (ids[n - 1] != ids[n - 1 - period] || distance(period) >= least) continue;
    const std::size_t repeated = RepeatedTail(ids, period);
    if (repeated == 0 ||
        static_cast<double>(repeated + period) < kCoverage * static_cast<double>(n))
      continue;
    best = period;
    tail = repeated;
    least = distance(period);
  }
  if (n > kLongest) {
    folded.notes.push_back(fmt::format("{} launches: too many to look for repeated runs", n));
  }
  if (best == n) {
    folded.kernels = kernels;
    return folded;
  }
  const std::size_t runs = tail / best + 1;
  const std::size_t begin = n - runs * best;
  folded.runs = static_cast<std::int64_t>(runs);
  folded.before.assign(kernels.begin(), kernels.begin() + static_cast<std::ptrdiff_t>(begin));
  for (std::size_t i = 0; i < best; ++i) {
    folded.kernels.push_back(Merge(kernels, begin + best + i, best, runs - 1));
  }
  folded.notes.push_back(
      fmt::format("{} runs of {} launches; the first is warm-up, the rest is folded "
                  "to the median",
                  runs, best));
  return folded;
}

}  // namespace dlcost
