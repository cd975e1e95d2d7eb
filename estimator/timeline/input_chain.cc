#include "estimator/timeline/input_chain.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlcost {

const InputStage* SlowestStage(const std::vector<InputStage>& stages) {
  const auto slowest =
      std::min_element(stages.begin(), stages.end(),
                       [](const InputStage& a, const InputStage& b) { return a.rate < b.rate; });
  return slowest == stages.end() ? nullptr : &*slowest;
}

Timeline PrefetchTimeline(Seconds prepare, Seconds train, int batches, int prefetch, int loaders) {
  Timeline timeline;
  const std::size_t host = timeline.AddResource("loader", loaders);
  const std::size_t device = timeline.AddResource("compute");
  std::vector<std::size_t> trained;
  for (int batch = 0; batch < batches; ++batch) {
    Task load{fmt::format("prepare batch {}", batch), TaskKind::kHost, host, prepare};
    // A place in the queue is free once training of an earlier batch began, that is when the one
    // before it has ended.
    const int waits_for = batch - 1 - prefetch;
    if (waits_for >= 0) load.after.push_back(trained[static_cast<std::size_t>(waits_for)]);
    const std::size_t loaded = timeline.Add(std::move(load));
    trained.push_back(timeline.Add(
        {fmt::format("train batch {}", batch), TaskKind::kKernel, device, train, {loaded}}));
  }
  timeline.Schedule();
  return timeline;
}

Seconds SteadyStep(Seconds prepare, Seconds train, int prefetch, int loaders) {
  // Loaders take turns: after a multiple of their number the pattern repeats.
  const int period = loaders;
  const int before = 2 * (prefetch + 2) * period;
  const auto span = [&](int batches) {
    return PrefetchTimeline(prepare, train, batches, prefetch, loaders).Span();
  };
  return (span(before + period) - span(before)) / period;
}

}  // namespace dlcost
