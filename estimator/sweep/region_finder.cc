#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

#include "estimator/core/count.h"
#include "estimator/core/error.h"
#include "estimator/sweep/axis_search.h"
#include "estimator/sweep/newton_grid.h"
#include "estimator/sweep/region.h"
#include "estimator/sweep/region_ends.h"
#include "estimator/sweep/sampler.h"

namespace dlcost {
namespace {

constexpr std::uint64_t kRegionSeed =
    20240601;  // of the points that are checked: the same every time

class RegionFinder {
 public:
  RegionFinder(const CountAt& count, const Point& base, const std::vector<CountFamily>& families,
               const RegionOptions& options)
      : sampler_(count), base_(base), families_(families), options_(options) {}

  CountRegion Run() {
    const CountTally& tally = sampler_.Require(base_);
    region_.structure = tally.structure;
    region_.axes.resize(base_.size());
    for (std::size_t v = 0; v < base_.size(); ++v) region_.axes[v].base = base_[v];
    for (std::size_t v = 0; v < base_.size(); ++v) {
      region_.axes[v] =
          FindAxis(sampler_, region_.axes, v, region_.structure, families_.size(), base_, options_);
    }
    Interpolate();
    Verify();
    Bend();
    if (options_.ranges) FindRanges();
    MarkNone();
    region_.samples = sampler_.counted();
    return std::move(region_);
  }

 private:
  // The tally at a point of the same structure, null elsewhere.
  const CountTally* At(const Point& point) { return sampler_.Like(point, region_.structure); }

  Point Moved(std::size_t v, std::int64_t to) const {
    Point point = base_;
    for (std::size_t u = 0; u < point.size(); ++u) point[u] = region_.axes[u].base;
    point[v] = to;
    return point;
  }

  void Interpolate() {
    const std::size_t points = GridSize(region_.axes);
    std::vector<const CountTally*> grid;
    for (std::size_t i = 0; i < points; ++i) {
      const CountTally* tally = At(GridPoint(region_.axes, i));
      if (tally == nullptr) {
        throw Error("no formula around these sizes: the model changes between {} and {}",
                    fmt::join(base_, ", "), fmt::join(GridPoint(region_.axes, i), ", "));
      }
      grid.push_back(tally);
      used_.insert(GridPoint(region_.axes, i));
    }
    std::map<std::vector<std::int64_t>, std::uint32_t> known;
    region_.polynomial_of.resize(families_.size());
    std::vector<std::int64_t> values(points);
    for (std::size_t slot = 0; slot < families_.size(); ++slot) {
      for (std::size_t i = 0; i < points; ++i) values[i] = grid[i]->values[slot];
      const auto [at, fresh] =
          known.emplace(values, static_cast<std::uint32_t>(region_.newton.size()));
      if (fresh) region_.newton.push_back(Differences(region_.axes, values));
      region_.polynomial_of[slot] = at->second;
    }
    region_.none.assign(region_.newton.size(), false);
    region_.bends.resize(region_.newton.size());
  }

  // At points that were not used, around the base.
  void Verify() {
    std::mt19937_64 random(kRegionSeed);
    for (int i = 0; i < options_.verify; ++i) {
      Point point(base_.size());
      for (std::size_t v = 0; v < point.size(); ++v) {
        const RegionAxis& axis = region_.axes[v];
        const std::int64_t reach = std::max<std::int64_t>(axis.base / axis.period, 8);
        point[v] = axis.base + axis.period * static_cast<std::int64_t>(
                                                 random() % static_cast<std::uint64_t>(reach));
      }
      Check(point);
    }
  }

  // The same anywhere between the ends that were found.
  void VerifyInside() {
    constexpr std::int64_t kFar = 4096;  // counts of larger sizes may not fit into 64 bits
    std::mt19937_64 random(kRegionSeed + 1);
    for (int i = 0; i < options_.verify; ++i) {
      Point point(base_.size());
      for (std::size_t v = 0; v < point.size(); ++v) {
        const RegionAxis& axis = region_.axes[v];
        const RegionRange& range = region_.ranges[0][v];
        const std::int64_t top = std::min(range.to, std::max(kFar, axis.base));
        const std::int64_t steps = std::max<std::int64_t>((top - range.from) / axis.period, 0);
        point[v] = range.from + axis.period * static_cast<std::int64_t>(
                                                  random() % static_cast<std::uint64_t>(steps + 1));
      }
      Check(point);
    }
    for (const Point& point : options_.also_verify) {
      if (region_.Contains(point, CountFamily::kNodes)) Check(point);
    }
  }

  // Ends where a count bends are looked beyond, and are none where the second piece is found.
  void FindRanges() {
    constexpr int kRounds = 3;
    for (int round = 0; round < kRounds; ++round) {
      FindEnds(sampler_, families_, options_.limit, region_);
      if (!CheckBeyondEnds() || !Bend()) break;
    }
    VerifyInside();
    if (Bend()) FindEnds(sampler_, families_, options_.limit, region_);
  }

  // Whether anything was found there.
  bool CheckBeyondEnds() {
    const std::size_t before = broken_.size();
    for (const std::vector<RegionRange>& ranges : region_.ranges) {
      for (std::size_t v = 0; v < ranges.size(); ++v) {
        const RegionAxis& axis = region_.axes[v];
        for (const std::int64_t beyond : {2, 4, 1}) {
          std::int64_t x = ranges[v].to + axis.period;
          x += (beyond - 1) * (x - axis.base);
          if (!ranges[v].why_to.empty() && x <= options_.limit) Check(Moved(v, x), false);
        }
        const std::int64_t x = ranges[v].from - axis.period;
        if (!ranges[v].why_from.empty() && x >= 1) Check(Moved(v, x), false);
      }
    }
    return broken_.size() > before;
  }

  // Counts a point and takes the numbers that are not as their polynomial says away from it.
  void Check(const Point& point, bool only_inside = true) {
    if (used_.count(point) != 0) return;
    const CountTally* tally = At(point);
    if (tally == nullptr) {
      if (!region_.ranges[0].empty() && region_.Contains(point, CountFamily::kNodes)) {
        region_.holes.push_back(point);
      }
      return;
    }
    if (checked_.insert(point).second) ++region_.verified;
    std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> moved;
    for (std::size_t slot = 0; slot < families_.size(); ++slot) {
      const std::uint32_t p = region_.polynomial_of[slot];
      const std::int64_t value = tally->values[slot];
      if (only_inside && !region_.Contains(point, families_[slot])) continue;
      if (Fits(p, point, value)) continue;
      const auto [at, fresh] =
          moved.emplace(std::pair(p, value), static_cast<std::uint32_t>(region_.newton.size()));
      if (fresh) {
        region_.newton.push_back(std::vector<std::int64_t>(region_.newton[p]));
        region_.bends.emplace_back();
        region_.none.push_back(false);
        std::vector<Point> points = broken_[p];
        points.push_back(point);
        broken_[at->second] = std::move(points);
      }
      region_.polynomial_of[slot] = at->second;
    }
  }

  bool Fits(std::uint32_t p, const Point& point, std::int64_t value) const {
    try {
      return region_.ValueAt(p, point) == value;
    } catch (const OverflowError&) {
      return false;
    }
  }

  // Finds the other pieces of broken counts, at points of them. Whether it found any.
  bool Bend() {
    std::map<std::uint32_t, std::size_t> slot_of;
    for (std::size_t slot = 0; slot < families_.size(); ++slot) {
      slot_of.emplace(region_.polynomial_of[slot], slot);
    }
    // So many broken counts are no tables that end.
    constexpr std::size_t kMost = 200;
    if (broken_.size() > kMost) return false;
    bool found = false;
    for (const auto& [p, points] : broken_) {
      const auto slot = slot_of.find(p);
      if (slot == slot_of.end() || !region_.bends[p].others.empty()) continue;
      found |= BendBy(p, slot->second, points);
    }
    return found;
  }

  // The polynomial that a count follows from a point upwards, nullopt where it follows none.
  std::optional<std::vector<std::int64_t>> PieceAt(std::size_t slot, const Point& from) {
    CountRegion beyond;
    beyond.axes = region_.axes;
    for (std::size_t v = 0; v < from.size(); ++v) beyond.axes[v].base = from[v];
    const std::size_t points = GridSize(region_.axes);
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < points; ++i) {
      const CountTally* tally = At(GridPoint(beyond.axes, i));
      if (tally == nullptr) return std::nullopt;
      values.push_back(tally->values[slot]);
    }
    beyond.newton = {Differences(region_.axes, values)};
    try {  // as coefficients around the region's own base
      for (std::size_t i = 0; i < points; ++i) {
        values[i] = beyond.StraightAt(0, GridPoint(region_.axes, i));
      }
    } catch (const OverflowError&) {
      return std::nullopt;
    }
    return Differences(region_.axes, values);
  }

  // Pieces at the points where a count is broken, until the smallest or the largest of them all is
  // the count wherever it is known.
  bool BendBy(std::uint32_t p, std::size_t slot, const std::vector<Point>& points) {
    constexpr std::size_t kMaxTried = 12;
    std::vector<std::uint32_t> others;
    for (std::size_t i = 0; i < std::min(points.size(), kMaxTried); ++i) {
      std::optional<std::vector<std::int64_t>> piece = PieceAt(slot, points[i]);
      const auto known = [&](std::uint32_t other) { return region_.newton[other] == *piece; };
      if (!piece || known(p) || std::any_of(others.begin(), others.end(), known)) continue;
      const auto other = static_cast<std::uint32_t>(region_.newton.size());
      region_.newton.push_back(std::move(*piece));
      region_.bends.emplace_back();
      region_.none.push_back(false);
      others.push_back(other);
      if (IsBend(p, slot, {other}) || IsBend(p, slot, others)) return true;
    }
    region_.bends[p] = {};
    return false;
  }

  bool IsBend(std::uint32_t p, std::size_t slot, const std::vector<std::uint32_t>& others) {
    for (const bool smallest : {true, false}) {
      region_.bends[p] = {others, smallest};
      if (sampler_.All(region_.structure, [&](const Point& point, const CountTally& tally) {
            return !InClass(point) || Fits(p, point, tally.values[slot]);
          })) {
        return true;
      }
    }
    return false;
  }

  bool InClass(const Point& point) const {
    for (std::size_t v = 0; v < point.size(); ++v) {
      if ((point[v] - region_.axes[v].base) % region_.axes[v].period != 0) return false;
    }
    return true;
  }

  // What was broken inside the ranges, and has no second piece.
  void MarkNone() {
    for (std::size_t slot = 0; slot < families_.size(); ++slot) {
      const std::uint32_t p = region_.polynomial_of[slot];
      const auto points = broken_.find(p);
      if (points == broken_.end() || !region_.bends[p].others.empty()) continue;
      for (const Point& point : points->second) {
        if (region_.Contains(point, families_[slot])) region_.none[p] = true;
      }
    }
  }

  Sampler sampler_;
  const Point base_;
  const std::vector<CountFamily>& families_;
  const RegionOptions& options_;
  std::set<Point> used_, checked_;
  std::map<std::uint32_t, std::vector<Point>> broken_;  // where a polynomial is not the count
  CountRegion region_;
};

}  // namespace

CountRegion FindRegion(const CountAt& count, const Point& base,
                       const std::vector<CountFamily>& families, const RegionOptions& options) {
  return RegionFinder(count, base, families, options).Run();
}

}  // namespace dlcost
