#include "estimator/profiles/add_counters.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace dlcost {
namespace {

bool IsKernel(const MeasuredKernel& row) { return row.kind == MeasuredKind::kKernel; }

// Counters of `counted` in the order of launch, or their mean where rows fold launches.
std::vector<Counter> MeanOf(const std::vector<const MeasuredKernel*>& counted) {
  std::vector<Counter> means;
  for (const Counter& counter : counted.front()->counters) {
    Counter mean = counter;
    double sum = 0, launches = 0;
    for (const MeasuredKernel* const row : counted) {
      const Counter* const value = row->Find(counter.metric);
      if (!value) break;
      sum += value->value * static_cast<double>(row->launches);
      launches += static_cast<double>(row->launches);
    }
    std::int64_t all = 0;
    for (const MeasuredKernel* const row : counted) all += row->launches;
    if (launches != static_cast<double>(all) || all == 0) continue;  // not of all of them
    mean.value = sum / launches;
    means.push_back(std::move(mean));
  }
  return means;
}

class Adder {
 public:
  Adder(Measurement& trace, const Measurement& counters) {
    bool grids = true, full = true;
    std::set<std::string> names;
    for (const MeasuredKernel& row : trace.kernels) {
      if (!IsKernel(row)) continue;
      grids = grids && row.grid && row.block;
      names.insert(row.name);
    }
    for (const MeasuredKernel& row : counters.kernels) {
      if (!IsKernel(row)) continue;
      grids = grids && row.grid && row.block;
      full = full && names.contains(row.name);
    }
    const auto key = [&](const MeasuredKernel& row) {
      std::string text = full ? row.name : FunctionName(row.name);
      if (grids)
        text += fmt::format("\n{}\n{}", fmt::join(*row.grid, ","), fmt::join(*row.block, ","));
      return text;
    };
    for (MeasuredKernel& row : trace.kernels) {
      if (IsKernel(row)) kernels_[key(row)].traced.push_back(&row);
    }
    for (const MeasuredKernel& row : counters.kernels) {
      if (IsKernel(row)) kernels_[key(row)].counted.push_back(&row);
    }
  }

  AddedCounters Run() {
    for (auto& [name, kernel] : kernels_) {
      for (const MeasuredKernel* const row : kernel.traced) added_.of += row->launches;
      if (!Add(kernel)) {
        for (const MeasuredKernel* const row : kernel.counted) added_.left_over += row->launches;
      }
    }
    return added_;
  }

 private:
  struct Kernel {
    std::vector<MeasuredKernel*> traced;
    std::vector<const MeasuredKernel*> counted;
  };

  bool Add(Kernel& kernel) {
    if (kernel.traced.empty() || kernel.counted.empty()) return false;
    const auto single = [](const MeasuredKernel* row) { return row->launches == 1; };
    const bool one_by_one = std::all_of(kernel.traced.begin(), kernel.traced.end(), single) &&
                            std::all_of(kernel.counted.begin(), kernel.counted.end(), single);
    const std::size_t traced = kernel.traced.size(), counted = kernel.counted.size();
    if (!one_by_one) {
      const std::vector<Counter> mean = MeanOf(kernel.counted);
      for (MeasuredKernel* const row : kernel.traced) Give(*row, mean);
      return !mean.empty();
    }
    // Several runs in either file are whole runs; else nobody knows which launch is which.
    if (traced % counted != 0 && counted % traced != 0) return false;
    for (std::size_t i = 0; i < traced; ++i)
      Give(*kernel.traced[i], kernel.counted[i % counted]->counters);
    return true;
  }

  void Give(MeasuredKernel& row, const std::vector<Counter>& counters) {
    for (const Counter& counter : counters) {
      if (!row.Find(counter.metric)) row.counters.push_back(counter);
    }
    if (!counters.empty()) added_.launches += row.launches;
  }

  std::map<std::string, Kernel> kernels_;
  AddedCounters added_;
};

}  // namespace

std::string FunctionName(const std::string& kernel) {
  std::string name = kernel;
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (std::size_t at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous))
    name.erase(at, kAnonymous.size());
  name = name.substr(0, name.find_first_of("<("));
  name.erase(0, name.find_last_of(" :") + 1);  // npos + 1 is 0
  return name.empty() ? kernel : name;
}

AddedCounters AddCounters(Measurement& trace, const Measurement& counters) {
  for (const std::string& unknown : counters.unknown_counters) trace.AddUnknownCounter(unknown);
  return Adder(trace, counters).Run();
}

}  // namespace dlcost
