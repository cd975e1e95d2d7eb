#include "estimator/sweep/sweep.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "estimator/core/error.h"
#include "estimator/sweep/compiled_model.h"
#include "estimator/sweep/parallel.h"
#include "estimator/sweep/sweep_model.h"

namespace dlcost {

std::int64_t Sweep::Combinations() const {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / (1 << 20);
  std::int64_t count = 1;
  for (const SweepAxis& axis : axes) {
    const auto sizes = static_cast<std::int64_t>(axis.sizes.size());
    if (sizes > 0 && count > kMost / sizes) return kMost;
    count *= sizes;
  }
  return count;
}

std::int64_t Sweep::Points() const {
  const std::size_t each = setups.size() * std::max<std::size_t>(devices.size(), 1);
  return (Count(Combinations()) * static_cast<std::int64_t>(each)).value();
}

Point Sweep::SizesOf(std::int64_t combination) const {
  Point sizes(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    const auto count = static_cast<std::int64_t>(axes[a].sizes.size());
    sizes[a] = axes[a].sizes[static_cast<std::size_t>(combination % count)];
    combination /= count;
  }
  return sizes;
}

std::optional<double> SweepPoint::items_per_second() const {
  const std::optional<Seconds> time = latency();
  if (!time || time->value() <= 0) return std::nullopt;
  return static_cast<double>(items) / time->value();
}

std::optional<double> SweepPoint::tokens_per_second() const {
  const std::optional<Seconds> time = latency();
  if (!time || !tokens || time->value() <= 0) return std::nullopt;
  return static_cast<double>(*tokens) / time->value();
}

std::optional<double> SweepPoint::joules_per_item() const {
  const std::optional<double> rate = items_per_second();
  if (!rate || *rate <= 0 || !watts) return std::nullopt;  // of no items there is no share
  return *watts / *rate;
}

std::optional<double> SweepPoint::intensity() const {
  if (bytes == Count(0)) return std::nullopt;
  return flops.AsDouble() / bytes.AsDouble();
}

namespace {

// One setup's compiled regions, made as points ask for them.
class Regions {
 public:
  Regions(const Sweep& sweep, const SweepModel& model, std::size_t setup)
      : sweep_(sweep), model_(model), setup_(setup) {}

  const CompiledModel* Find(const Point& sizes) {
    for (const auto& region : compiled_) {
      if (region->Contains(sizes)) return region.get();
    }
    return nullptr;
  }

  // A region around the sizes, where enough points were asked for outside of all others.
  void Add(const Point& sizes) {
    constexpr std::size_t kMost = 8;  // each costs some hundred inferences
    if (tried_ == kMost) return;
    ++tried_;
    try {
      compiled_.push_back(std::make_unique<CompiledModel>(sweep_, model_, setup_, sizes));
    } catch (const Error&) {  // its points are inferred one by one
    }
  }

 private:
  const Sweep& sweep_;
  const SweepModel& model_;
  const std::size_t setup_;
  std::vector<std::unique_ptr<CompiledModel>> compiled_;
  std::size_t tried_ = 0;
};

// Sizes in the middle of every axis: likelier inside a large region than at its edge.
Point MiddleOf(const Sweep& sweep) {
  Point middle;
  for (const SweepAxis& axis : sweep.axes) {
    std::vector<std::int64_t> sizes = axis.sizes;
    const auto at = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
    std::nth_element(sizes.begin(), at, sizes.end());
    middle.push_back(*at);
  }
  return middle;
}

// Hands points over from the first that the model takes on, with those before it.
class Results {
 public:
  explicit Results(const std::function<void(const SweepPoint&)>& take) : take_(take) {}

  void Take(SweepPoint&& point) {
    if (!open_ && !point.why_not.empty()) {
      held_.push_back(std::move(point));
      open_ = held_.size() == kMostHeld;
      if (open_) HandOver();
      return;
    }
    open_ = true;
    HandOver();
    take_(point);
  }

  void RequireAny() const {
    if (!held_.empty()) throw Error("{}", held_.front().why_not);
  }

 private:
  static constexpr std::size_t kMostHeld = 1 << 16;  // more say one by one why they are none

  void HandOver() {
    for (const SweepPoint& point : held_) take_(point);
    held_.clear();
  }

  const std::function<void(const SweepPoint&)>& take_;
  std::vector<SweepPoint> held_;
  bool open_ = false;
};

class SweepRunner {
 public:
  explicit SweepRunner(const Sweep& sweep) : sweep_(sweep), model_(sweep) {
    for (std::size_t setup = 0; setup < sweep.setups.size(); ++setup) {
      regions_.emplace_back(sweep, model_, setup);
    }
  }

  void Run(const std::function<void(const SweepPoint&)>& take) {
    const std::int64_t all = sweep_.Combinations();
    Results results(take);
    const bool compile = all >= kWorthCompiling;
    if (compile) {
      for (Regions& of_setup : regions_) of_setup.Add(MiddleOf(sweep_));
    }
    const std::int64_t block = compile ? kBlock : kSmallBlock;
    for (std::int64_t begin = 0; begin < all; begin += block) {
      const std::int64_t size = std::min(block, all - begin);
      std::vector<Point> points;
      for (std::int64_t i = 0; i < size; ++i) points.push_back(sweep_.SizesOf(begin + i));
      std::vector<std::vector<std::vector<SweepPoint>>> setups;  // setup, point, device
      for (std::size_t setup = 0; setup < regions_.size(); ++setup) {
        setups.push_back(Evaluate(setup, points, compile && all - begin >= kWorthCompiling));
      }
      for (std::size_t i = 0; i < points.size(); ++i) {
        for (auto& of_setup : setups) {
          for (SweepPoint& point : of_setup[i]) results.Take(std::move(point));
        }
      }
    }
    results.RequireAny();
  }

 private:
  static constexpr std::int64_t kBlock = 16384;  // combinations in memory at a time
  // Where each is inferred anew: handed over as soon as a few are done.
  static constexpr std::int64_t kSmallBlock = 64;
  static constexpr std::int64_t kWorthCompiling = 200;
  static constexpr std::size_t kPiece = 512;  // that a thread takes at a time, at most

  // What a thread timed already.
  using Times = std::map<const CompiledModel*, std::deque<KernelTimes>>;

  std::vector<std::vector<SweepPoint>> Evaluate(std::size_t setup, const std::vector<Point>& points,
                                                bool compile) {
    std::vector<const CompiledModel*> region(points.size());
    std::size_t outside = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      region[i] = regions_[setup].Find(points[i]);
      outside += region[i] == nullptr;
      if (!compile || region[i] != nullptr || outside < kWorthCompiling) continue;
      regions_[setup].Add(points[i]);
      outside = 0;
      for (std::size_t j = 0; j <= i; ++j) {
        if (region[j] == nullptr) region[j] = regions_[setup].Find(points[j]);
      }
    }
    std::vector<std::vector<SweepPoint>> out(points.size());
    const std::size_t share = points.size() / (4 * ParallelThreads());
    const std::size_t size = std::clamp<std::size_t>(share, 1, kPiece);
    const std::size_t pieces = (points.size() + size - 1) / size;
    ForEachInParallel(pieces, [&](std::size_t piece, std::size_t thread) {
      const std::size_t begin = piece * size, end = std::min(begin + size, points.size());
      EvaluatePiece(setup, points, region, begin, end, times_[thread], out);
    });
    return out;
  }

  // Points of one region go together.
  void EvaluatePiece(std::size_t setup, const std::vector<Point>& points,
                     const std::vector<const CompiledModel*>& region, std::size_t begin,
                     std::size_t end, Times& times,
                     std::vector<std::vector<SweepPoint>>& out) const {
    std::map<const CompiledModel*, std::vector<std::size_t>> members;
    for (std::size_t i = begin; i < end; ++i) members[region[i]].push_back(i);
    for (const auto& [compiled, indices] : members) {
      std::vector<Point> sizes;
      for (const std::size_t i : indices) sizes.push_back(points[i]);
      std::vector<std::vector<SweepPoint>> values;
      if (compiled != nullptr) {
        std::deque<KernelTimes>& known = times[compiled];
        if (known.empty()) {
          for (const Device& device : sweep_.devices) known.emplace_back(device, compiled->run());
        }
        if (compiled->Evaluate(sizes, known, values)) {
          for (std::size_t m = 0; m < indices.size(); ++m) out[indices[m]] = std::move(values[m]);
          continue;
        }
      }
      for (const std::size_t i : indices) out[i] = model_.At(points[i], setup);
    }
  }

  const Sweep& sweep_;
  const SweepModel model_;
  std::deque<Regions> regions_;  // one for each setup
  std::vector<Times> times_{ParallelThreads()};
};

}  // namespace

void RunSweep(const Sweep& sweep, const std::function<void(const SweepPoint&)>& take) {
  SweepRunner(sweep).Run(take);
}

}  // namespace dlcost
