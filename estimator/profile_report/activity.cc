#include "estimator/profile_report/activity.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "estimator/core/integer.h"

namespace dlcost {
namespace {

struct Interval {
  std::int64_t start = 0, end = 0;
  std::size_t row = 0;
};

struct Timeline {
  std::string device;
  std::optional<std::int64_t> process;
  std::vector<Interval> launches;
};

bool OnDevice(const MeasuredKernel& row) {
  return row.kind == MeasuredKind::kKernel || row.kind == MeasuredKind::kCopy;
}

// Timelines by process and device; none where a kernel has no place on one.
std::vector<Timeline> TimelinesOf(const Measurement& measurement) {
  std::vector<Timeline> timelines;
  std::map<std::pair<std::int64_t, std::string>, std::size_t> at;
  // False for times beyond 70 years from the profiler's origin, whose differences may not fit.
  const auto add = [&](std::size_t row, std::int64_t start, std::int64_t end) {
    constexpr std::int64_t kMost = std::int64_t{1} << 61;
    if (start < -kMost || end > kMost) return false;
    const MeasuredKernel& kernel = measurement.kernels[row];
    const auto [found, fresh] =
        at.emplace(std::pair(kernel.process.value_or(-1), kernel.device), timelines.size());
    if (fresh) {
      timelines.push_back({kernel.device, kernel.process, {}});
      if (timelines.size() == 1)
        timelines.back().launches.reserve(measurement.folded_launches.size());
    }
    timelines[found->second].launches.push_back({start, end, row});
    return true;
  };
  if (!measurement.folded_launches.empty()) {
    std::int64_t launches = 0;
    for (const MeasuredKernel& row : measurement.kernels) {
      if (row.kind == MeasuredKind::kKernel) launches += row.launches;
    }
    std::int64_t placed = 0;
    for (const LaunchTime& launch : measurement.folded_launches) {
      placed += measurement.kernels[launch.row].kind == MeasuredKind::kKernel;
      if (!add(launch.row, launch.start, launch.end)) return {};
    }
    return placed == launches ? timelines : std::vector<Timeline>();
  }
  for (std::size_t r = 0; r < measurement.kernels.size(); ++r) {
    const MeasuredKernel& row = measurement.kernels[r];
    if (!OnDevice(row)) continue;
    const auto start = row.StartNs();
    if (!start || !row.duration || row.launches != 1) {
      if (row.kind == MeasuredKind::kKernel) return {};
      continue;
    }
    const Seconds length = *row.duration;
    const auto nanoseconds = TryTruncate(std::round(length.value() * 1e9));
    std::int64_t end = 0;
    if (!nanoseconds || *nanoseconds < 0 || __builtin_add_overflow(*start, *nanoseconds, &end)) {
      return {};
    }
    if (!add(r, *start, end)) return {};
  }
  return timelines;
}

Seconds Nanoseconds(std::int64_t count) { return Seconds(static_cast<double>(count) * 1e-9); }

class Walk {
 public:
  Walk(const Measurement& measurement, Timeline& timeline)
      : measurement_(measurement), launches_(timeline.launches) {
    activity_.device = timeline.device;
    activity_.process = timeline.process;
  }

  DeviceActivity Run() {
    std::stable_sort(launches_.begin(), launches_.end(),
                     [](const Interval& a, const Interval& b) { return a.start < b.start; });
    std::int64_t end = launches_.front().end, idle = 0;
    std::size_t last = launches_.front().row;  // what ended last
    for (const Interval& launch : launches_) {
      if (launch.start > end) {
        Gap(last, launch, launch.start - end);
        idle += launch.start - end;
      }
      if (launch.end >= end) {
        end = launch.end;
        last = launch.row;
      }
    }
    activity_.launches = static_cast<std::int64_t>(launches_.size());
    activity_.span = Nanoseconds(end - launches_.front().start);
    activity_.idle = Nanoseconds(idle);
    activity_.busy = Nanoseconds(end - launches_.front().start - idle);
    Sizes();
    return activity_;
  }

 private:
  void Gap(std::size_t before, const Interval& launch, std::int64_t gap) {
    if (gap > longest_) {
      longest_ = gap;
      activity_.before_longest = measurement_.kernels[before].name;
      activity_.after_longest = measurement_.kernels[launch.row].name;
    }
    gaps_.push_back(gap);
    if (Nanoseconds(gap) > kLaunchGap) return;
    ++activity_.launch_gaps;
    activity_.launch_idle += Nanoseconds(gap);
    if (launch.end - launch.start >= gap) return;
    ++activity_.launch_bound;
    activity_.launch_bound_time += Nanoseconds(launch.end - launch.start);
    activity_.launch_bound_gaps += Nanoseconds(gap);
  }

  void Sizes() {
    activity_.gaps = static_cast<std::int64_t>(gaps_.size());
    if (gaps_.empty()) return;
    std::sort(gaps_.begin(), gaps_.end());
    const std::size_t n = gaps_.size();
    activity_.median_gap = Nanoseconds(gaps_[(n - 1) / 2]);
    activity_.p90_gap = Nanoseconds(gaps_[(9 * n + 9) / 10 - 1]);
    activity_.longest_gap = Nanoseconds(gaps_.back());
  }

  const Measurement& measurement_;
  std::vector<Interval>& launches_;
  DeviceActivity activity_;
  std::vector<std::int64_t> gaps_;
  std::int64_t longest_ = 0;
};

}  // namespace

std::vector<DeviceActivity> ActivityOf(const Measurement& measurement) {
  std::vector<DeviceActivity> activities;
  for (Timeline& timeline : TimelinesOf(measurement)) {
    if (timeline.launches.size() > 1) activities.push_back(Walk(measurement, timeline).Run());
  }
  return activities;
}

}  // namespace dlcost
