#include "estimator/profiles/nvprof_metrics.h"

#include <fmt/format.h>

namespace dlcost {

CounterSet& NvprofMetrics::Of(MeasuredKernel kernel, const std::string& counter) {
  const bool same = open_ && kernel.name == kernel_.name && kernel.device == kernel_.device &&
                    kernel.launches == kernel_.launches && !seen_.contains(counter);
  if (!same) {
    Finish();
    kernel_ = std::move(kernel);
    open_ = true;
  }
  seen_.insert(counter);
  return counters_;
}

void NvprofMetrics::Finish() {
  if (!open_) return;
  open_ = false;
  kernel_.counters = counters_.Normalize();
  counters_ = CounterSet();
  seen_.clear();
  const std::string key = fmt::format("{}\n{}\n{}\n{}", kernel_.name, kernel_.device,
                                      kernel_.process.value_or(-1), kernel_.launches);
  std::deque<std::size_t>& events = of_events_[key];
  auto& rows = out_.kernels;
  if (in_events_) {
    events.push_back(rows.size());
    out_.Add(std::move(kernel_));
    return;
  }
  if (events.empty()) return out_.Add(std::move(kernel_));
  const std::size_t row = events.front();
  events.pop_front();
  // Rows that were folded since are not where they were.
  if (row >= rows.size() || rows[row].name != kernel_.name) return out_.Add(std::move(kernel_));
  for (Counter& counter : kernel_.counters) {  // some are an event and a metric
    if (!rows[row].Find(counter.metric)) rows[row].counters.push_back(std::move(counter));
  }
}

}  // namespace dlcost
