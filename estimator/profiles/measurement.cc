#include "estimator/profiles/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

std::optional<double> Sum(const MeasuredKernel& kernel, std::initializer_list<Metric> metrics) {
  std::optional<double> sum;
  for (const Metric metric : metrics) {
    if (const Counter* counter = kernel.Find(metric)) sum = sum.value_or(0) + counter->value;
  }
  return sum;
}

}  // namespace

std::string_view Name(TraceLevel level) {
  switch (level) {
    case TraceLevel::kModel:
      return "model";
    case TraceLevel::kLayer:
      return "layer";
    case TraceLevel::kLibrary:
      return "library";
    case TraceLevel::kKernel:
      return "kernel";
  }
  return "";
}

void Measurement::FinishRanges() {
  if (ranges.size() > kMaxRanges) {
    notes.push_back(
        fmt::format("{} outermost ranges are more than runs of a model: left out", ranges.size()));
    ranges.clear();
  }
  std::stable_sort(
      ranges.begin(), ranges.end(),
      [](const MeasuredRange& a, const MeasuredRange& b) { return a.start < b.start; });
}

TraceLevel Measurement::level() const {
  TraceLevel finest = TraceLevel::kModel;
  for (const MeasuredKernel& kernel : kernels) {
    if (kernel.kind == MeasuredKind::kOp) finest = std::max(finest, TraceLevel::kLayer);
    if (kernel.kind == MeasuredKind::kKernel) {
      return format == "onednn" ? TraceLevel::kLibrary : TraceLevel::kKernel;
    }
  }
  return finest;
}

const Counter* MeasuredKernel::Find(Metric metric) const {
  for (const Counter& counter : counters) {
    if (counter.metric == metric) return &counter;
  }
  return nullptr;
}

void MeasuredKernel::SetTimes(std::int64_t from, std::int64_t to) {
  start = Seconds(static_cast<double>(from) * 1e-9);
  start_ns = from;
  duration = Seconds(static_cast<double>(to - from) * 1e-9);
}

std::optional<std::int64_t> MeasuredKernel::StartNs() const {
  if (start_ns || !start) return start_ns;
  return TryTruncate(std::round(start->value() * 1e9));
}

std::optional<double> MeasuredKernel::VectorFlops() const {
  return Sum(*this, {Metric::kFlops, Metric::kFlopsF16, Metric::kFlopsF32, Metric::kFlopsF64});
}

std::optional<double> MeasuredKernel::DramBytes() const {
  if (const Counter* total = Find(Metric::kDram)) return total->value;
  if (!Find(Metric::kDramRead) || !Find(Metric::kDramWrite)) return std::nullopt;
  return Sum(*this, {Metric::kDramRead, Metric::kDramWrite});
}

namespace {

// The mean of `a` launches at `x` and `b` launches at `y`.
double Mean(double x, std::int64_t a, double y, std::int64_t b) {
  return x + (y - x) * static_cast<double>(b) / static_cast<double>(a + b);
}

void MergeCounters(MeasuredKernel& into, const MeasuredKernel& kernel) {
  std::erase_if(into.counters, [&](const Counter& c) { return !kernel.Find(c.metric); });
  for (Counter& counter : into.counters) {
    counter.value =
        Mean(counter.value, into.launches, kernel.Find(counter.metric)->value, kernel.launches);
  }
}

}  // namespace

void Measurement::AddUnknownCounter(std::string_view raw) {
  constexpr std::size_t kMost = 10'000;  // no profiler has as many
  const std::string name = Printable(std::string(Trim(raw)), 200);
  if (name.empty() || unknown_counters.size() >= kMost || !unknown_.insert(name).second) return;
  unknown_counters.push_back(name);
}

void Measurement::Add(MeasuredKernel kernel) {
  if (kernel.duration && kernel.duration->value() < 0) {
    throw Error("{}: row {}: a time of {:g} s is less than none", Printable(path), kernel.line,
                kernel.duration->value());
  }
  if (kernel.launches < 0 || __builtin_add_overflow(launches_, kernel.launches, &launches_)) {
    throw Error("{}: row {}: {} launches are more than any run has", Printable(path), kernel.line,
                kernel.launches);
  }
  if (!folding_ && kernels.size() < kMaxRows) {
    kernels.push_back(std::move(kernel));
    return;
  }
  FoldAll();
  Fold(std::move(kernel));
}

void Measurement::Expect(std::size_t rows) {
  if (kernels.size() + rows <= kMaxRows) return;
  FoldAll();
  folded_launches.reserve(folded_launches.size() + rows);
}

void Measurement::FoldAll() {
  if (folding_) return;
  folding_ = true;
  std::vector<MeasuredKernel> rows;
  rows.swap(kernels);
  for (MeasuredKernel& row : rows) Fold(std::move(row));
  notes.push_back(
      fmt::format("more than {} rows: folded to their mean by kernel and operator", kMaxRows));
}

void Measurement::Fold(MeasuredKernel kernel) {
  const std::string key =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", kernel.name, kernel.op, kernel.module, kernel.device,
                  kernel.process.value_or(-1), static_cast<int>(kernel.kind));
  const auto [at, added] = folded_.emplace(key, kernels.size());
  const bool on_device = kernel.kind == MeasuredKind::kKernel || kernel.kind == MeasuredKind::kCopy;
  const auto start = kernel.StartNs();
  if (on_device && start && kernel.duration && kernel.launches == 1) {
    const auto length = TryTruncate(std::round(kernel.duration->value() * 1e9));
    std::int64_t end = 0;
    if (length && *length >= 0 && !__builtin_add_overflow(*start, *length, &end)) {
      folded_launches.push_back({*start, end, static_cast<std::uint32_t>(at->second)});
    }
  }
  kernel.start.reset();
  kernel.start_ns.reset();
  kernel.correlation.reset();
  kernel.call = -1;
  if (added) {
    kernels.push_back(std::move(kernel));
    return;
  }
  MeasuredKernel& into = kernels[at->second];
  if (into.duration && kernel.duration) {
    into.duration = Seconds(
        Mean(into.duration->value(), into.launches, kernel.duration->value(), kernel.launches));
  } else {
    into.duration.reset();
  }
  if (into.host || kernel.host) {
    into.host = Seconds(Mean(into.host.value_or(Seconds(0)).value(), into.launches,
                             kernel.host.value_or(Seconds(0)).value(), kernel.launches));
  }
  MergeCounters(into, kernel);
  // What launches differ in, the row does not tell.
  if (into.grid != kernel.grid) into.grid.reset();
  if (into.block != kernel.block) into.block.reset();
  if (into.scope != kernel.scope) into.scope.clear();
  if (into.stream != kernel.stream) into.stream.clear();
  into.launches += kernel.launches;
}

}  // namespace dlcost
