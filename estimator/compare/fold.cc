#include "estimator/compare/fold.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "estimator/compare/op_family.h"
#include "estimator/compare/period.h"
#include "estimator/compare/tally.h"
#include "estimator/core/error.h"
#include "estimator/profiles/kernel_name.h"

namespace dlcost {
namespace {

constexpr std::size_t kLongest = 100'000;  // launches; beyond, periods are not searched

LaunchKind KindOf(const MeasuredKernel& kernel) {
  const KernelFamily family = ToldBy(kernel).family;
  const bool foreign = family == KernelFamily::kCommunication || family == KernelFamily::kFill ||
                       family == KernelFamily::kRandom;
  return {IsProduct(family), IsMarker(family), family == KernelFamily::kUnknown, foreign};
}

// The launch at `position` of every run, as one.
MeasuredKernel MedianOf(const std::vector<MeasuredKernel>& kernels, std::size_t first,
                        std::size_t period, std::size_t runs) {
  MeasuredKernel merged = kernels[first + (runs - 1) * period];
  std::vector<double> durations, hosts;
  std::map<Metric, std::vector<double>> values;
  for (std::size_t run = 0; run < runs; ++run) {
    const MeasuredKernel& kernel = kernels[first + run * period];
    if (kernel.duration) durations.push_back(kernel.duration->value());
    if (kernel.host) hosts.push_back(kernel.host->value());
    for (const Counter& counter : kernel.counters) values[counter.metric].push_back(counter.value);
  }
  if (!durations.empty()) merged.duration = Seconds(Median(durations));
  if (merged.host && !hosts.empty()) merged.host = Seconds(Median(hosts));
  for (Counter& counter : merged.counters) counter.value = Median(values[counter.metric]);
  return merged;
}

// The launches that runs are told apart by: where they stand, under which names.
struct Marks {
  std::vector<std::size_t> at;
  std::vector<std::string> names;
  std::vector<LaunchKind> kinds;

  void Add(std::size_t i, const std::string& name, bool product) {
    at.push_back(i);
    names.push_back(name);
    kinds.push_back({product, 0, 0, false});
  }
};

// Products; `perhaps`: and kernels whose names tell nothing.
Marks ProductMarks(const std::vector<MeasuredKernel>& kernels, const std::vector<LaunchKind>& all,
                   bool perhaps) {
  std::map<std::string, std::size_t> often;
  for (const MeasuredKernel& kernel : kernels) ++often[kernel.name];
  // What runs now and then is not the model's.
  const std::size_t rare = std::max<std::size_t>(2, kernels.size() / 200);
  Marks marks;
  LaunchKind before;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const bool unknown = perhaps && all[i].unknown > 0 && often[kernels[i].name] >= rare;
    if (all[i].product || unknown) marks.Add(i, kernels[i].name, all[i].product);
    LaunchKind& kind = marks.kinds.empty() ? before : marks.kinds.back();
    kind.unknown += all[i].unknown;
    kind.markers += all[i].markers;
  }
  if (!marks.kinds.empty()) {
    marks.kinds.front().unknown += before.unknown;
    marks.kinds.front().markers += before.markers;
  }
  return marks;
}

// The launches that repeat exactly `runs` times, with others between that do not: of names, those
// that certainly are a model's first, as many as leave the sequence of all of them periodic. None
// where one that is the model's repeats otherwise.
Marks RepeatedMarks(const std::vector<MeasuredKernel>& kernels, const std::vector<LaunchKind>& all,
                    std::size_t runs) {
  constexpr std::size_t kMostSteps = 20'000'000;
  const auto own = [&](std::size_t i) { return all[i].product || all[i].markers > 0; };
  std::map<std::string, std::vector<std::size_t>> where;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (!all[i].foreign) where[kernels[i].name].push_back(i);
  }
  std::vector<const std::vector<std::size_t>*> names;
  for (const auto& [name, at] : where) {
    if (at.size() % runs == 0) {
      names.push_back(&at);
    } else if (own(at.front())) {
      return {};  // the model's own run as often as it does
    }
  }
  if (names.size() * kernels.size() > kMostSteps) return {};
  std::stable_sort(names.begin(), names.end(), [&](const auto* a, const auto* b) {
    const auto sure = [&](const auto* at) {
      return std::pair(own(at->front()), all[at->front()].unknown == 0);
    };
    return std::pair(sure(a), a->size()) > std::pair(sure(b), b->size());
  });
  std::vector<int> ids(kernels.size(), -1);
  std::vector<int> sequence;
  for (std::size_t name = 0; name < names.size(); ++name) {
    for (const std::size_t i : *names[name]) ids[i] = static_cast<int>(name);
    sequence.clear();
    std::copy_if(ids.begin(), ids.end(), std::back_inserter(sequence),
                 [](int id) { return id >= 0; });
    if (RepeatsEvery(sequence, sequence.size() / runs)) continue;
    if (own(names[name]->front())) return {};
    for (const std::size_t i : *names[name]) ids[i] = -1;
  }
  Marks marks;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (ids[i] < 0) continue;
    marks.Add(i, kernels[i].name, all[i].product);
    marks.kinds.back() = all[i];
  }
  return marks;
}

// Whether most of what may be the model's, of the time or, where none was taken, of the FLOPs, is
// of names that occur in every run. The runs begin at `first`; the work counts from `from` on.
bool MostRepeats(const std::vector<MeasuredKernel>& kernels, std::size_t first, std::size_t from,
                 std::size_t runs) {
  constexpr double kMost = 0.8;
  std::map<std::string, std::size_t> often;
  for (std::size_t i = first; i < kernels.size(); ++i) ++often[kernels[i].name];
  std::array<double, 2> found{}, sum{};
  for (std::size_t i = from; i < kernels.size(); ++i) {
    const MeasuredKernel& kernel = kernels[i];
    if (KindOf(kernel).foreign) continue;
    const std::array<double, 2> values = {kernel.duration.value_or(Seconds(0)).value(),
                                          kernel.VectorFlops().value_or(0)};
    for (std::size_t v = 0; v < values.size(); ++v) {
      sum[v] += values[v];
      if (often[kernel.name] >= runs) found[v] += values[v];
    }
  }
  const std::size_t work = sum[0] > 0 ? 0 : 1;
  return found[work] >= kMost * sum[work];
}

// Calls of a framework that make products, each by its first kernel.
Marks CallMarks(const std::vector<MeasuredKernel>& kernels) {
  Marks marks;
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].call < 0 || !seen.insert(kernels[i].call).second) continue;
    if (IsProduct(FamilyOfCall(kernels[i].op))) marks.Add(i, kernels[i].op, true);
  }
  return marks;
}

// Runs by their products alone: where other kernels ran between, those still repeat. Between the
// last product of a run and the first of the next stand the end of the one and the beginning of the
// other; as many launches belong to the end as follow the last product of all.
bool CutBy(const std::vector<MeasuredKernel>& kernels, const Marks& marks,
           const ExpectedProducts& expected, std::optional<std::int64_t> wanted, Folded& folded) {
  const std::vector<std::size_t>& at = marks.at;
  if (at.size() < 2) return false;
  const Period period = FindPeriod(Numbered(marks.names), marks.kinds, expected, wanted);
  if (period.length == 0) return false;
  // Products that are all called alike repeat with any period.
  const std::set<std::string> distinct(
      marks.names.end() - static_cast<std::ptrdiff_t>(period.length), marks.names.end());
  if (distinct.size() < 2 && expected.least > 1 && !wanted) return false;
  const std::size_t runs = period.runs(), first = at.size() - runs * period.length;
  const std::size_t end = kernels.size() - 1 - at.back();
  std::vector<std::size_t> cuts;  // where runs begin; then the end
  for (std::size_t run = 0; run < runs; ++run) {
    const std::size_t begins = at[first + run * period.length];
    const std::size_t after =
        first + run * period.length == 0 ? 0 : at[first + run * period.length - 1] + 1;
    cuts.push_back(run == 0 && first == 0 ? 0 : std::min(begins, after + end));
  }
  cuts.push_back(kernels.size());
  // The first may have warmed up.
  if (runs > 1 && !wanted && !MostRepeats(kernels, cuts[0], cuts[1], runs)) return false;
  // What precedes the first run's products by more than a later run's beginning is set-up.
  const std::size_t head = runs > 1 ? at[first + period.length] - cuts[1] : 0;
  if (at[first] > head) cuts[0] = std::max(cuts[0], at[first] - head);
  const auto slice = [&](std::size_t from, std::size_t to) {
    return std::vector<MeasuredKernel>(kernels.begin() + static_cast<std::ptrdiff_t>(from),
                                       kernels.begin() + static_cast<std::ptrdiff_t>(to));
  };
  folded.before = slice(0, cuts[0]);
  for (std::size_t run = 1; run < runs; ++run)
    folded.apart.push_back(slice(cuts[run], cuts[run + 1]));
  folded.kernels = folded.apart.back();
  folded.runs = static_cast<std::int64_t>(runs);
  folded.notes.push_back(fmt::format(
      "{} runs of {} products, with other kernels between; the first is warm-up, the rest is "
      "joined one by one, and times are medians",
      runs, period.length));
  return true;
}

}  // namespace

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

Folded FoldRuns(const std::vector<MeasuredKernel>& kernels, const ExpectedProducts& products,
                std::optional<std::int64_t> runs) {
  const std::size_t n = kernels.size();
  Folded folded;
  Period period;
  if (n > kLongest) {
    folded.notes.push_back(fmt::format("{} launches: too many to look for repeated runs", n));
  } else if (n > 0 && runs != 1) {
    std::vector<std::string> names;
    std::vector<LaunchKind> kinds;
    for (const MeasuredKernel& kernel : kernels) {
      names.push_back(kernel.name);
      kinds.push_back(KindOf(kernel));
    }
    period = FindPeriod(Numbered(names), kinds, products, runs);
    const bool exact = period.length > 0 && RepeatsExactly(Numbered(names), period);
    if (!exact && !runs) {
      // All that is the model's repeats as often as it ran, whatever its name tells.
      constexpr std::size_t kMostRuns = 64;
      const auto foreign = std::count_if(kinds.begin(), kinds.end(),
                                         [](const LaunchKind& kind) { return kind.foreign; });
      for (std::size_t count = kMostRuns; count >= 2; --count) {
        const Marks marks = RepeatedMarks(kernels, kinds, count);
        const bool most = static_cast<double>(marks.at.size()) >
                          0.8 * static_cast<double>(n - static_cast<std::size_t>(foreign));
        // What repeats more often than that is no run.
        if (most && ShortestPeriod(Numbered(marks.names)) * count != marks.at.size()) continue;
        if (most && CutBy(kernels, marks, products, std::nullopt, folded)) return folded;
      }
    }
    if (period.length == 0) {
      // Calls tell what is one product; without them, kernels.
      const Marks calls = CallMarks(kernels);
      const ExpectedProducts of_calls{products.least, products.least, products.least, 0};
      if (CutBy(kernels, calls, of_calls, runs, folded)) return folded;
      for (const bool perhaps : {false, true}) {
        if (!calls.at.empty()) break;
        if (CutBy(kernels, ProductMarks(kernels, kinds, perhaps), products, runs, folded))
          return folded;
      }
    }
  }
  if (period.length == 0) {
    if (runs && *runs > 1) {
      throw Error("--runs {}: the launches of the file do not repeat so often ({} launches)", *runs,
                  n);
    }
    folded.kernels = kernels;
    return folded;
  }
  const std::size_t count = period.runs(), begin = n - count * period.length;
  folded.runs = static_cast<std::int64_t>(count);
  folded.before.assign(kernels.begin(), kernels.begin() + static_cast<std::ptrdiff_t>(begin));
  for (std::size_t i = 0; i < period.length; ++i) {
    folded.kernels.push_back(
        MedianOf(kernels, begin + period.length + i, period.length, count - 1));
  }
  folded.notes.push_back(
      fmt::format("{} runs of {} launches; the first is warm-up, the rest is folded "
                  "to the median",
                  count, period.length));
  return folded;
}

std::int64_t Repeats(const std::vector<MeasuredKernel>& kernels) {
  Marks marks = CallMarks(kernels);
  if (marks.at.empty()) {
    std::vector<LaunchKind> kinds;
    for (const MeasuredKernel& kernel : kernels) kinds.push_back(KindOf(kernel));
    marks = ProductMarks(kernels, kinds, false);
  }
  const std::size_t n = marks.at.size();
  if (std::set<std::string>(marks.names.begin(), marks.names.end()).size() < 2) return 1;
  const std::vector<int> ids = Numbered(marks.names);
  for (std::size_t period = 2; 2 * period <= n; ++period) {
    if (n % period != 0 || !RepeatsEvery(ids, period)) continue;
    // Layers of a model repeat, too: what stands beside them tells.
    return MostRepeats(kernels, 0, 0, n / period) ? static_cast<std::int64_t>(n / period) : 1;
  }
  return 1;
}

}  // namespace dlcost
