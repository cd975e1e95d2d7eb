#include "estimator/sweep/compiled_model.h"

#include <algorithm>
#include <set>

#include "estimator/core/error.h"
#include "estimator/plan/kernel_memory.h"
#include "estimator/plan/kernel_sizes.h"
#include "estimator/report/run_options.h"
#include "estimator/sweep/power.h"

namespace dlcost {
namespace {

// What a point needs of a model beside its kernels, in this order.
enum Fixed : std::uint32_t { kItems, kTokens, kWeights, kMacs, kFlops, kBytes, kFixed };

struct Sample {
  CountTally tally;
  std::vector<Kernel> kernels;     // where asked for
  std::vector<std::size_t> first;  // per kernel: its first number in the tally
  std::size_t live = 0;            // first number of bytes that live
};

Sample SampleOf(const InferredModel& model, const SweepPoint& counts, const ReportOptions& options,
                bool keep_kernels) {
  Sample sample;
  CountTally& tally = sample.tally;
  const auto mix = [&](std::size_t hash) { tally.structure = tally.structure * 1000003 + hash; };
  for (const CountedNode& counted : model.nodes) {
    mix(static_cast<std::size_t>(counted.status));
    mix((counted.upper_bound ? 2u : 0u) + (counted.assumed ? 1u : 0u));
  }
  mix(counts.tokens ? 1 : 0);
  tally.values.assign(kFixed, 0);
  tally.values[kItems] = counts.items;
  tally.values[kTokens] = counts.tokens.value_or(0);
  tally.values[kWeights] = model.weight_bytes.value();
  const Convention& convention = FindConvention(options.convention);
  Count macs, flops, bytes;
  for (const CountedNode& counted : model.nodes) {
    macs += counted.cost.work.macs().count();
    flops += CountFlops(counted.cost.work, convention).count();
  }
  ForEachKernel(model, options.plan, [&](Kernel kernel) {
    bytes += kernel.bytes().count();
    sample.first.push_back(tally.values.size());
    CollectSizes(kernel, tally.values, tally.structure);
    if (keep_kernels) sample.kernels.push_back(std::move(kernel));
  });
  tally.values[kMacs] = macs.value();
  tally.values[kFlops] = flops.value();
  tally.values[kBytes] = bytes.value();
  sample.first.push_back(tally.values.size());
  sample.live = tally.values.size();
  for (const Bytes live : LiveBytes(model, options.plan)) tally.values.push_back(live.value());
  mix(tally.values.size());
  return sample;
}

// Corners of what a sweep asks for.
std::vector<Point> CornersOf(const Sweep& sweep) {
  std::vector<Point> corners = {{}};
  for (const SweepAxis& axis : sweep.axes) {
    const auto [low, high] = std::minmax_element(axis.sizes.begin(), axis.sizes.end());
    std::vector<Point> longer;
    for (const Point& corner : corners) {
      for (const std::int64_t size : {*low, *high}) {
        longer.push_back(corner);
        longer.back().push_back(size);
      }
    }
    corners = std::move(longer);
  }
  return corners;
}

}  // namespace

CompiledModel::CompiledModel(const Sweep& sweep, const SweepModel& model, std::size_t setup,
                             const Point& base)
    : sweep_(sweep), setup_(setup) {
  const auto sample_at = [&](const Point& sizes, bool keep_kernels) {
    const InferredModel inferred = model.Infer(sizes, setup);
    if (keep_kernels) run_ = RunOptionsOf(sweep.setups[setup].report, inferred);
    SweepPoint counts{.sizes = sizes};
    model.SetSizes(inferred, counts);
    return SampleOf(inferred, counts, sweep.setups[setup].report, keep_kernels);
  };
  const Sample at_base = sample_at(base, true);
  RegionOptions options{.limit = 1, .verify = 24, .also_verify = CornersOf(sweep)};
  for (const SweepAxis& axis : sweep.axes) {
    options.limit =
        std::max(options.limit, *std::max_element(axis.sizes.begin(), axis.sizes.end()));
  }
  const std::vector<CountFamily> families(at_base.tally.values.size(), CountFamily::kNodes);
  region_ = FindRegion([&](const Point& sizes) { return sample_at(sizes, false).tally; }, base,
                       families, options);
  if (!region_.holes.empty()) throw Error("the structure depends on several sizes at once");
  std::vector<std::uint32_t> columns;
  std::map<std::uint32_t, std::uint32_t> column_of;
  const auto column = [&](std::size_t slot) {
    const std::uint32_t p = region_.polynomial_of[slot];
    if (region_.none[p]) throw Error("a count is no polynomial");
    const auto [at, fresh] = column_of.emplace(p, static_cast<std::uint32_t>(columns.size()));
    if (fresh) columns.push_back(p);
    return at->second;
  };
  items_ = column(kItems);
  tokens_ = column(kTokens);
  weights_ = column(kWeights);
  macs_ = column(kMacs);
  flops_ = column(kFlops);
  bytes_ = column(kBytes);
  std::vector<Polynomial> kept;
  Point from;
  for (const RegionRange& range : region_.ranges[0]) from.push_back(range.from);
  std::set<std::uint32_t> seen;
  for (std::size_t slot = at_base.live; slot < families.size(); ++slot) {
    const std::uint32_t p = region_.polynomial_of[slot];
    if (!seen.insert(p).second) continue;
    if (region_.bends[p].others.empty() && !region_.none[p]) {
      Polynomial moment = region_.PolynomialOf(p);
      if (std::any_of(kept.begin(), kept.end(),
                      [&](const Polynomial& larger) { return NeverBelow(larger, moment, from); })) {
        continue;
      }
      kept.push_back(std::move(moment));
    }
    live_.push_back(column(slot));
  }
  totals_.emplace(region_, columns);
  if (!sweep.devices.empty()) {
    std::map<std::pair<std::size_t, std::vector<std::uint32_t>>, std::uint32_t> known;
    for (std::size_t k = 0; k < at_base.kernels.size(); ++k) {
      const Kernel& kernel = at_base.kernels[k];
      std::vector<std::uint32_t> of_kernel;
      for (std::size_t slot = at_base.first[k]; slot < at_base.first[k + 1]; ++slot) {
        of_kernel.push_back(column(slot));
      }
      std::vector<std::int64_t> unused;
      std::size_t structure = 0;
      CollectSizes(kernel, unused, structure);
      const auto [at, fresh] = known.emplace(std::pair(structure, of_kernel),
                                             static_cast<std::uint32_t>(kernels_.size()));
      if (fresh) kernels_.push_back({.like = kernel, .columns = std::move(of_kernel)});
      ++kernels_[at->second].times;
      order_.push_back(at->second);
    }
  }
  const SweepPoint reported = model.At(base, setup).front();
  has_tokens_ = reported.tokens.has_value();
  exact_ = reported.exact;
  evaluator_.emplace(region_, columns);
  for (const Device& device : sweep.devices) {
    bounds_.emplace_back(region_, *evaluator_, kernels_, KernelTimes(device, run_));
  }
}

bool CompiledModel::EvaluateBlock(const PointBlock& points, std::deque<KernelTimes>& times,
                                  Block& out) const {
  const std::optional<BlockEvaluator::Values> values = totals_->At(points);
  if (!values) return false;
  out.items = values->col(items_);
  out.tokens = values->col(tokens_);
  out.macs = values->col(macs_);
  out.flops = values->col(flops_);
  out.bytes = values->col(bytes_);
  out.needed = values->col(live_.front());
  for (const std::uint32_t moment : live_) out.needed = out.needed.max(values->col(moment)).eval();
  out.needed += values->col(weights_);
  out.bound.resize(bounds_.size());
  std::optional<BlockEvaluator::Values> all;
  for (std::size_t device = 0; device < bounds_.size(); ++device) {
    if (!bounds_[device].IsComplete() && !all) {
      all = evaluator_->At(points);
      if (!all) return false;
    }
    bounds_[device].At(points, all ? &*all : nullptr, times[device], out.bound[device]);
  }
  return true;
}

bool CompiledModel::Contains(const Point& sizes) const {
  return region_.Contains(sizes, CountFamily::kNodes);
}

void CompiledModel::Time(std::span<const std::int64_t> values, const Device& device,
                         KernelTimes& times, SweepPoint& point) const {
  const bool eager = sweep_.setups[setup_].report.run.Calls();
  times.ForgetWhenFull();
  std::vector<const KernelTimes::Time*> of_kernel;
  std::vector<std::int64_t> sizes;
  for (std::uint32_t k = 0; k < kernels_.size(); ++k) {
    sizes.clear();
    for (const std::uint32_t column : kernels_[k].columns) sizes.push_back(values[column]);
    of_kernel.push_back(&times.Of(k, kernels_[k].like, sizes));
  }
  double bound = 0, expected = 0, low = 0, high = 0, busy = 0;
  bool timed = false, partial = false;
  std::map<std::string_view, double> waits_for;
  CallQueue calls(IsOwnHost(device));
  const auto add = [&](const CompiledKernel& kernel, const KernelTimes::Time& time, double count) {
    if (!kernel.like.upper_bound) bound += count * time.bound;
    if (!time.expected) {
      partial |= times.timing() != nullptr && kernel.like.repeat > Count(0) &&
                 !kernel.like.unknown && kernel.like.work.macs() > Macs(0);
      return;
    }
    const TimeRange range =
        eager ? calls.Add(*time.expected, kernel.like.repeat.AsDouble(), time.bound)
              : time.expected->time;
    timed = true;
    expected += count * range.expected;
    low += count * range.low;
    high += count * range.high;
    busy += count * std::min(time.expected->busy, range.expected);
    waits_for[time.expected->limiter] += count * range.expected;
  };
  if (eager) {
    for (const std::uint32_t k : order_) add(kernels_[k], *of_kernel[k], 1);
  } else {
    for (std::size_t k = 0; k < kernels_.size(); ++k) {
      add(kernels_[k], *of_kernel[k], static_cast<double>(kernels_[k].times));
    }
  }
  point.bound = Seconds(bound);
  if (timed && !partial) {
    point.expected = Seconds(expected);
    point.expected_low = Seconds(low);
    point.expected_high = Seconds(high);
    point.watts = ExpectedWatts(device, *point.expected, Seconds(busy));
  } else {
    return;
  }
  const auto most =
      std::max_element(waits_for.begin(), waits_for.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != waits_for.end()) point.limiter = most->first;
}

namespace {

PointBlock BlockOf(std::span<const Point> points, std::size_t axes) {
  PointBlock block(static_cast<Eigen::Index>(points.size()), static_cast<Eigen::Index>(axes));
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t v = 0; v < axes; ++v) {
      block(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(v)) = points[i][v];
    }
  }
  return block;
}

}  // namespace

bool CompiledModel::Evaluate(std::span<const Point> points, std::deque<KernelTimes>& times,
                             std::vector<std::vector<SweepPoint>>& out) const {
  const PointBlock sizes = BlockOf(points, sweep_.axes.size());
  Block block;
  if (!EvaluateBlock(sizes, times, block)) return false;
  const bool timed = !sweep_.devices.empty() && !sweep_.bounds_only;
  std::optional<BlockEvaluator::Values> values;
  if (timed) values = evaluator_->At(sizes);
  if (timed && !values) return false;
  out.assign(points.size(), {});
  std::vector<std::int64_t> row(timed ? static_cast<std::size_t>(values->cols()) : 0);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    SweepPoint point{
        .sizes = points[i], .setup = setup_, .items = block.items[at], .exact = exact_};
    if (has_tokens_) point.tokens = block.tokens[at];
    point.macs = block.macs[at];
    point.flops = block.flops[at];
    point.bytes = block.bytes[at];
    point.needed = block.needed[at];
    for (std::size_t c = 0; c < row.size(); ++c) {
      row[c] = (*values)(at, static_cast<Eigen::Index>(c));
    }
    const std::size_t devices = std::max<std::size_t>(sweep_.devices.size(), 1);
    for (std::size_t device = 0; device < devices; ++device) {
      SweepPoint& on = out[i].emplace_back(point);
      on.device = device;
      if (sweep_.devices.empty()) continue;
      const std::optional<Bytes>& memory = sweep_.devices[device].memory.size;
      if (memory) on.fits = Bytes(on.needed) <= *memory;
      if (timed) {
        Time(row, sweep_.devices[device], times[device], on);
      } else {
        on.bound = Seconds(block.bound[device][at]);
        on.by_bound = true;
      }
    }
  }
  return true;
}

}  // namespace dlcost
