#include <algorithm>
#include <map>

#include "estimator/timeline/timeline.h"

namespace dlcost {
namespace {

struct Interval {
  double start, end;
  std::size_t task;
};

// What runs on a resource, by start; tasks without duration left out.
std::vector<Interval> Busy(const Timeline& timeline, std::size_t resource) {
  std::vector<Interval> busy;
  for (std::size_t i = 0; i < timeline.tasks().size(); ++i) {
    const PlacedTask& placed = timeline.placed()[i];
    if (timeline.tasks()[i].resource == resource && placed.end > placed.start) {
      busy.push_back({placed.start.value(), placed.end.value(), i});
    }
  }
  std::sort(busy.begin(), busy.end(),
            [](const Interval& a, const Interval& b) { return a.start < b.start; });
  return busy;
}

}  // namespace

ResourceUse UseOf(const Timeline& timeline, std::size_t resource) {
  ResourceUse use;
  std::map<std::string, double> gaps;
  double free = 0;
  for (const Interval& one : Busy(timeline, resource)) {
    if (one.start > free) {
      const Waiting& waiting = timeline.placed()[one.task].waiting;
      gaps[waiting.reason == Waiting::For::kNothing ? "start"
                                                    : timeline.tasks()[waiting.task].name] +=
          one.start - free;
    }
    use.busy += Seconds(one.end - std::max(one.start, free > one.end ? one.end : one.start));
    free = std::max(free, one.end);
  }
  const double rest = timeline.Span().value() - free;
  if (rest > 0) gaps["end of the step"] += rest;
  for (const auto& [cause, time] : gaps) {
    use.idle += Seconds(time);
    use.gaps.push_back({cause, Seconds(time)});
  }
  std::stable_sort(use.gaps.begin(), use.gaps.end(),
                   [](const auto& a, const auto& b) { return a.time > b.time; });
  return use;
}

std::vector<std::pair<std::size_t, Seconds>> Beside(const Timeline& timeline, std::size_t resource,
                                                    std::size_t other) {
  const std::vector<Interval> theirs = Busy(timeline, other);
  std::vector<std::pair<std::size_t, Seconds>> beside;
  auto first = theirs.begin();  // that may run beside the next task
  for (const Interval& one : Busy(timeline, resource)) {
    while (first != theirs.end() && first->end <= one.start) ++first;
    double time = 0;
    for (auto at = first; at != theirs.end() && at->start < one.end; ++at) {
      time += std::min(one.end, at->end) - std::max(one.start, at->start);
    }
    if (time > 0) beside.emplace_back(one.task, Seconds(time));
  }
  return beside;
}

Seconds Exposed(const Timeline& timeline, std::size_t resource, std::size_t other) {
  const std::vector<Interval> theirs = Busy(timeline, other);
  double exposed = 0, counted = 0;  // until when time was looked at
  auto hiding = theirs.begin();
  for (const Interval& one : Busy(timeline, resource)) {
    double at = std::max(one.start, counted);
    counted = std::max(counted, one.end);
    while (at < one.end) {
      while (hiding != theirs.end() && hiding->end <= at) ++hiding;
      if (hiding == theirs.end() || hiding->start >= one.end) {
        exposed += one.end - at;
        break;
      }
      exposed += std::max(0.0, hiding->start - at);
      at = std::max(at, hiding->end);
    }
  }
  return Seconds(exposed);
}

}  // namespace dlcost
