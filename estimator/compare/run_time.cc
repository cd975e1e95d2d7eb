#include "estimator/compare/run_time.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"

namespace dlcost {
namespace {

// "ProfilerStep#" of "ProfilerStep#12": ranges that differ in a number are of one kind.
std::string Stem(const std::string& name) {
  const std::size_t last = name.find_last_not_of("0123456789");
  return last == std::string::npos ? name : name.substr(0, last + 1);
}

struct Interval {
  std::int64_t start = 0, end = 0;
};

Seconds SecondsOf(std::int64_t nanoseconds) {
  return Seconds(static_cast<double>(nanoseconds) * 1e-9);
}

// Nanoseconds in which some interval runs.
std::int64_t Union(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.start < b.start; });
  std::int64_t busy = 0, end = INT64_MIN;
  for (const Interval& interval : intervals) {
    if (interval.end <= end) continue;
    busy += interval.end - std::max(interval.start, end);
    end = interval.end;
  }
  return busy;
}

std::int64_t MedianNanoseconds(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return values[(n - 1) / 2] + (values[n / 2] - values[(n - 1) / 2]) / 2;
}

// Ranges of one kind, and what was launched in each.
struct RangeKind {
  std::string name;
  std::vector<Interval> ranges;  // by start
  std::vector<std::vector<Interval>> launches;
  double total = 0, on_device = 0;  // nanoseconds of all ranges; of all launches
};

class Ranges {
 public:
  Ranges(const Measurement& measurement, const Joined& joined, const NodeNames& names)
      : joined_(joined) {
    for (const MeasuredRange& range : measurement.ranges) {
      if (names.Find(range.name) || !InReach(range.start) || !InReach(range.end)) continue;
      const std::string stem = Stem(range.name);
      const auto [at, added] = known_.emplace(stem, kinds_.size());
      if (added) kinds_.push_back({.name = stem, .ranges = {}, .launches = {}});
      RangeKind& kind = kinds_[at->second];
      kind.ranges.push_back({range.start, range.end});
      kind.launches.emplace_back();
      kind.total += static_cast<double>(range.end - range.start);
    }
    for (const MeasuredKernel& row : measurement.kernels) {
      if (row.kind == MeasuredKind::kKernel || row.kind == MeasuredKind::kCopy) AddLaunch(row);
    }
  }

  std::optional<RunTime> Run() const {
    if (kinds_.empty()) return std::nullopt;
    const auto weight = [](const RangeKind& kind) { return std::pair(kind.on_device, kind.total); };
    // One range around several runs holds what is between them, too.
    const RangeKind* most = nullptr;
    for (const RangeKind& kind : kinds_) {
      if (static_cast<std::int64_t>(kind.ranges.size()) < joined_.runs) continue;
      if (!most || weight(*most) < weight(kind)) most = &kind;
    }
    if (!most) return std::nullopt;
    const RangeKind& model = *most;
    const std::size_t n = model.ranges.size(), first = n > 1 ? 1 : 0;
    std::vector<std::int64_t> wall, device;
    for (std::size_t i = first; i < n; ++i) {
      std::int64_t end = model.ranges[i].end;
      for (const Interval& launch : model.launches[i]) end = std::max(end, launch.end);
      wall.push_back(end - model.ranges[i].start);
      device.push_back(Union(model.launches[i]));
    }
    RunTime time;
    time.wall = SecondsOf(MedianNanoseconds(wall));
    if (model.on_device > 0) time.device = SecondsOf(MedianNanoseconds(device));
    time.from = fmt::format("range '{}'", Printable(model.name, 60));
    for (const RangeKind& kind : kinds_) {
      if (&kind == &model) continue;
      const auto all = static_cast<double>(n);
      RangeTime beside{.name = kind.name,
                       .per_run = static_cast<double>(kind.ranges.size()) / all,
                       .time = Seconds(kind.total * 1e-9) / all,
                       .device = std::nullopt};
      if (kind.on_device > 0) beside.device = Seconds(kind.on_device * 1e-9) / all;
      time.beside.push_back(std::move(beside));
    }
    return time;
  }

 private:
  // Within 70 years of the profiler's origin, so that differences fit.
  static bool InReach(std::int64_t time) {
    constexpr std::int64_t kMost = std::int64_t{1} << 61;
    return time > -kMost && time < kMost;
  }

  // To the range that launched it, or else that it ran in.
  void AddLaunch(const MeasuredKernel& row) {
    const auto start = row.StartNs();
    if (!start || !row.duration || row.launches != 1 || !InReach(*start)) return;
    const auto length = TryTruncate(std::round(row.duration->value() * 1e9));
    if (!length || !InReach(*length)) return;
    const Interval launch{*start, *start + *length};
    for (const std::string& scope : row.scope) {
      const auto kind = known_.find(Stem(scope));
      if (kind == known_.end()) continue;
      Place(kinds_[kind->second], launch, false);
      return;
    }
    for (RangeKind& kind : kinds_) {
      if (Place(kind, launch, true)) return;
    }
  }

  // In the last range that began before it; `within`: and had not ended.
  static bool Place(RangeKind& kind, const Interval& launch, bool within) {
    const auto after =
        std::upper_bound(kind.ranges.begin(), kind.ranges.end(), launch.start,
                         [](std::int64_t start, const Interval& r) { return start < r.start; });
    if (after == kind.ranges.begin()) return false;
    if (within && (after - 1)->end < launch.end) return false;
    kind.launches[static_cast<std::size_t>(after - kind.ranges.begin()) - 1].push_back(launch);
    kind.on_device += static_cast<double>(launch.end - launch.start);
    return true;
  }

  const Joined& joined_;
  std::vector<RangeKind> kinds_;
  std::unordered_map<std::string, std::size_t> known_;
};

}  // namespace

std::optional<RunTime> RunTimeOf(const Measurement& measurement, const Joined& joined,
                                 const NodeNames& names) {
  if (auto time = Ranges(measurement, joined, names).Run()) return time;
  if (!joined.span || !joined.idle) return std::nullopt;
  return RunTime{.wall = *joined.span,
                 .device = *joined.span - *joined.idle,
                 .from = "from the first kernel's start to the last one's end",
                 .beside = {}};
}

}  // namespace dlcost
