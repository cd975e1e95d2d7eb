#include "estimator/profile_report/group.h"

#include <algorithm>

#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

// Counters that are means, not sums.
constexpr std::array kMeans = {Metric::kOccupancy,         Metric::kIpc,
                               Metric::kTensorActive,      Metric::kComputeUtilization,
                               Metric::kDramUtilization,   Metric::kMemoryUtilization,
                               Metric::kFlopEfficiencyF16, Metric::kFlopEfficiencyF32,
                               Metric::kFlopEfficiencyF64, Metric::kSmEfficiency,
                               Metric::kWarpEfficiency,    Metric::kLoadEfficiency,
                               Metric::kStoreEfficiency};

// Whether a utilization is that of all pipes: Nsight Compute's is, nvprof has a counter for each.
bool CoversPipes(const Counter& counter) {
  constexpr std::size_t kPipes = 3;  // single and double precision, special functions
  const bool levels = Contains(counter.sources.front(), "_fu_utilization");
  return !levels || counter.sources.size() >= kPipes;
}

std::optional<double> Largest(std::initializer_list<std::optional<double>> values) {
  std::optional<double> largest;
  for (const auto& value : values) {
    if (value) largest = std::max(largest.value_or(*value), *value);
  }
  return largest;
}

}  // namespace

std::string_view Name(ProfileLimiter limiter) {
  switch (limiter) {
    case ProfileLimiter::kCompute:
      return "compute";
    case ProfileLimiter::kMemory:
      return "memory";
    case ProfileLimiter::kLatency:
      return "latency";
  }
  return "";
}

void ProfileGroup::Part::Add(const std::optional<double>& value, std::int64_t count) {
  if (!value) return;
  sum += *value;
  launches += count;
}

void ProfileGroup::Pair::Add(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return;
  above += *a;
  below += *b;
  any = true;
}

std::optional<double> ProfileGroup::Pair::Ratio() const {
  if (!any || below <= 0) return std::nullopt;
  return above / below;
}

void ProfileGroup::Add(const MeasuredKernel& row, const RowWork& work) {
  ++rows_;
  launches_ += row.launches;
  time_.Add(work.time, row.launches);
  flops_.Add(work.flops, row.launches);
  bytes_.Add(work.bytes, row.launches);
  for (const auto& [part, metric] :
       {std::pair(&instructions_, Metric::kInstructions), std::pair(&cycles_, Metric::kCycles)}) {
    const Counter* counter = row.Find(metric);
    if (counter) part->Add(counter->value * static_cast<double>(row.launches), row.launches);
  }
  flops_at_least_ = flops_at_least_ || work.flops_at_least;
  flop_rate_.Add(work.flops, work.time);
  byte_rate_.Add(work.bytes, work.time);
  intensity_.Add(work.flops, work.bytes);
  compute_.Add(work.compute_least, work.time);
  memory_.Add(work.memory_least, work.time);
  if (work.compute_least && work.memory_least && !work.flops_at_least) {
    least_.Add(std::max(*work.compute_least, *work.memory_least), row.launches);
  }
  const auto launches = static_cast<double>(row.launches);
  for (const Metric metric : kMeans) {
    const Counter* counter = row.Find(metric);
    if (counter == nullptr) continue;
    means_[metric].Add(counter->value, launches, work.time);
    if (metric == Metric::kComputeUtilization) all_pipes_ = all_pipes_ && CoversPipes(*counter);
  }
  if (work.byte_rate) told_rate_.Add(*work.byte_rate, launches, work.time);
}

std::optional<ProfileGroup::Sum> ProfileGroup::SumOf(const Part& part) const {
  if (part.launches == 0) return std::nullopt;
  return Sum{part.sum, part.launches == launches_};
}

std::optional<ProfileGroup::Sum> ProfileGroup::Time() const { return SumOf(time_); }

std::optional<ProfileGroup::Sum> ProfileGroup::Flops() const {
  auto sum = SumOf(flops_);
  if (sum && flops_at_least_) sum->whole = false;
  return sum;
}

std::optional<ProfileGroup::Sum> ProfileGroup::Instructions() const { return SumOf(instructions_); }

std::optional<ProfileGroup::Sum> ProfileGroup::Cycles() const { return SumOf(cycles_); }

std::optional<ProfileGroup::Sum> ProfileGroup::Bytes() const { return SumOf(bytes_); }

std::optional<double> ProfileGroup::MeanTime() const {
  if (time_.launches == 0) return std::nullopt;
  return time_.sum / static_cast<double>(time_.launches);
}

std::optional<double> ProfileGroup::FlopRate() const {
  return flops_at_least_ ? std::nullopt : flop_rate_.Ratio();
}

std::optional<double> ProfileGroup::ByteRate() const {
  if (const auto rate = byte_rate_.Ratio()) return rate;
  return told_rate_.Value();
}

std::optional<double> ProfileGroup::Intensity() const {
  return flops_at_least_ ? std::nullopt : intensity_.Ratio();
}

std::optional<double> ProfileGroup::Mean(Metric metric) const {
  const auto found = means_.find(metric);
  return found == means_.end() ? std::nullopt : found->second.Value();
}

std::optional<double> ProfileGroup::ComputeShare() const {
  if (!flops_at_least_) {
    if (const auto share = compute_.Ratio()) return share;
  }
  return Largest({Mean(Metric::kFlopEfficiencyF16), Mean(Metric::kFlopEfficiencyF32),
                  Mean(Metric::kFlopEfficiencyF64)});
}

std::optional<double> ProfileGroup::MemoryShare() const {
  if (const auto share = memory_.Ratio()) return share;
  return Mean(Metric::kDramUtilization);
}

std::optional<ProfileLimiter> ProfileGroup::Limiter() const {
  const auto pipes = Mean(Metric::kComputeUtilization), levels = Mean(Metric::kMemoryUtilization);
  const auto compute = Largest({pipes, ComputeShare()}), memory = Largest({levels, MemoryShare()});
  if (!compute || !memory) return std::nullopt;
  if (std::max(*compute, *memory) >= kLatencyShare) {
    return *compute >= *memory ? ProfileLimiter::kCompute : ProfileLimiter::kMemory;
  }
  // FLOPs of one type and device memory are not all that can be busy.
  if (!pipes || !levels || !all_pipes_) return std::nullopt;
  return ProfileLimiter::kLatency;
}

std::optional<double> ProfileGroup::LeastTime() const {
  if (least_.launches != launches_ || launches_ == 0) return std::nullopt;
  return least_.sum;
}

}  // namespace dlcost
