#include "estimator/sweep/distribution.h"

#include <algorithm>
#include <cmath>

namespace dlcost {
namespace {

// Sizes of one distribution, ascending, with what a run takes at each.
class Distribution {
 public:
  Distribution(const SweepAxis& axis, const std::vector<const SweepPoint*>& points)
      : axis_(axis), points_(points) {
    for (const double weight : axis.weights) {
      all_ += weight;
      whole_ &= weight == std::floor(weight);
    }
    for (std::size_t i = 0; i < points.size(); ++i) {
      used_ += axis.weights[i] * static_cast<double>(axis.sizes[i]);
    }
  }

  double items() const { return all_; }
  bool whole() const { return whole_; }
  bool timed() const {
    return std::all_of(points_.begin(), points_.end(),
                       [](const SweepPoint* point) { return point->latency().has_value(); });
  }
  std::int64_t batch() const { return points_.front()->items; }

  // Runs of each size, as each way of batching makes them.
  std::vector<double> OneLength() const {
    return Runs([&](std::size_t i) { return i; });
  }
  std::vector<double> Longest() const {
    return Runs([&](std::size_t) { return LastObserved(); });
  }
  std::vector<double> Bucketed() const {
    return Runs([&](std::size_t i) {
      const auto end = std::lower_bound(axis_.buckets.begin(), axis_.buckets.end(), axis_.sizes[i]);
      const auto at = std::lower_bound(axis_.sizes.begin(), axis_.sizes.end(), *end);
      return static_cast<std::size_t>(at - axis_.sizes.begin());
    });
  }
  // The largest of `batch` draws is at most a size with the power of what one draw has:
  // P(max <= size) = F(size)^batch.
  std::vector<double> AsTheyCome() const {
    std::vector<double> runs(points_.size());
    const double batch = static_cast<double>(this->batch());
    double below = 0, last = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      below += axis_.weights[i];
      const double at_most = std::pow(std::min(below / all_, 1.0), batch);
      runs[i] = (at_most - last) * all_ / batch;
      last = at_most;
    }
    return runs;
  }
  // From the longest on, so that the batch that is not full is of the shortest.
  std::vector<double> Sorted() const {
    std::vector<double> runs(points_.size());
    const double batch = static_cast<double>(this->batch());
    double room = 0;  // in the batch that is begun
    for (std::size_t i = runs.size(); i-- > 0;) {
      const double left = axis_.weights[i] - std::min(room, axis_.weights[i]);
      room -= axis_.weights[i] - left;
      if (left <= 0) continue;
      runs[i] = std::ceil(left / batch);
      room = runs[i] * batch - left;
    }
    return runs;
  }

  SweepDistribution::Way WayOf(Batching batching, const std::vector<double>& runs) const {
    SweepDistribution::Way way{.batching = batching};
    double positions = 0, seconds = 0;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (runs[i] == 0) continue;
      positions += runs[i] * static_cast<double>(batch()) * static_cast<double>(axis_.sizes[i]);
      way.flops += runs[i] * points_[i]->flops.AsDouble();
      if (points_[i]->latency()) seconds += runs[i] * points_[i]->latency()->value();
    }
    way.padding = positions > 0 ? std::max(0.0, 1 - used_ / positions) : 0;
    way.total = Seconds(seconds);
    return way;
  }

  // Of runs whose items are of one size; `share` of the items is in runs at most so long.
  Seconds Percentile(double share) const {
    std::vector<std::pair<double, double>> seen;  // seconds, weight
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (axis_.weights[i] > 0 && points_[i]->latency()) {
        seen.emplace_back(points_[i]->latency()->value(), axis_.weights[i]);
      }
    }
    std::sort(seen.begin(), seen.end());
    double below = 0;
    for (const auto& [seconds, weight] : seen) {
      below += weight;
      if (below >= share * all_) return Seconds(seconds);
    }
    return seen.empty() ? Seconds() : Seconds(seen.back().first);
  }

 private:
  template <typename To>
  std::vector<double> Runs(To to) const {
    std::vector<double> runs(points_.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (axis_.weights[i] > 0) runs[to(i)] += axis_.weights[i] / static_cast<double>(batch());
    }
    return runs;
  }

  std::size_t LastObserved() const {
    std::size_t last = axis_.weights.size() - 1;
    while (last > 0 && axis_.weights[last] <= 0) --last;
    return last;
  }

  const SweepAxis& axis_;
  const std::vector<const SweepPoint*>& points_;
  double all_ = 0, used_ = 0;
  bool whole_ = true;
};

void Fill(const Distribution& of, bool buckets, SweepDistribution& row) {
  row.items = of.items();
  row.batch = of.batch();
  row.timed = of.timed();
  const SweepDistribution::Way one = of.WayOf(Batching::kOneLength, of.OneLength());
  row.ways.push_back(one);
  if (row.batch > 1 && of.whole()) {
    row.ways.push_back(of.WayOf(Batching::kSorted, of.Sorted()));
  }
  if (buckets) row.ways.push_back(of.WayOf(Batching::kBucketed, of.Bucketed()));
  if (row.batch > 1) row.ways.push_back(of.WayOf(Batching::kAsTheyCome, of.AsTheyCome()));
  row.ways.push_back(of.WayOf(Batching::kLongest, of.Longest()));
  std::stable_sort(row.ways.begin(), row.ways.end(),
                   [](const auto& a, const auto& b) { return a.padding < b.padding; });
  row.mean_flops = one.flops / row.items;
  row.mean = Seconds(one.total.value() * static_cast<double>(row.batch) / row.items);
  row.p50 = of.Percentile(0.5);
  row.p90 = of.Percentile(0.9);
  row.p99 = of.Percentile(0.99);
  row.longest = of.Percentile(1);
}

}  // namespace

std::string_view Name(Batching batching) {
  switch (batching) {
    case Batching::kOneLength:
      return "one length";
    case Batching::kSorted:
      return "sorted";
    case Batching::kBucketed:
      return "bucketed";
    case Batching::kAsTheyCome:
      return "as they come";
    case Batching::kLongest:
      return "longest";
  }
  return "";
}

const SweepDistribution::Way* SweepDistribution::Find(Batching batching) const {
  for (const Way& way : ways) {
    if (way.batching == batching) return &way;
  }
  return nullptr;
}

std::vector<SweepDistribution> DistributionsOf(const Sweep& sweep,
                                               const std::vector<SweepPoint>& points) {
  std::vector<SweepDistribution> distributions;
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    const SweepAxis& axis = sweep.axes[a];
    if (!axis.IsDistribution()) continue;
    for (const auto& [key, members] : PointsAlong(points, a)) {
      const bool known = members.size() == axis.sizes.size() &&
                         std::all_of(members.begin(), members.end(), [](const SweepPoint* point) {
                           return point->why_not.empty() && point->items > 0;
                         });
      if (!known) continue;
      // Where the observed size is the batch itself, a run is an item.
      std::vector<SweepPoint> alone;
      std::vector<const SweepPoint*> runs = members;
      if (axis.batch) {
        alone.reserve(members.size());
        for (std::size_t i = 0; i < members.size(); ++i) {
          alone.push_back(*members[i]);
          alone.back().items = 1;
          runs[i] = &alone.back();
        }
      }
      SweepDistribution& row = distributions.emplace_back();
      row.device = std::get<0>(key);
      row.setup = std::get<1>(key);
      row.fixed = std::get<2>(key);
      row.axis = a;
      Fill(Distribution(axis, runs), !axis.buckets.empty(), row);
    }
  }
  return distributions;
}

}  // namespace dlcost
