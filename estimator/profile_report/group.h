#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "estimator/profile_report/row_work.h"
#include "estimator/profiles/weighted_mean.h"

namespace dlcost {

// What limits a kernel, as far as counters say. Latency does where neither compute nor memory can,
// and every pipe and level of memory was watched.
enum class ProfileLimiter { kCompute, kMemory, kLatency };
std::string_view Name(ProfileLimiter limiter);  // "compute", "memory", "latency"

// Nsight Compute's guide calls a kernel bound by latency where neither reaches 60 % of its peak.
inline constexpr double kLatencyShare = 0.6;

// Sums over rows that have something in common: a name, a family, an operator, everything. Rates
// and shares are of the launches that tell both of their parts.
class ProfileGroup {
 public:
  explicit ProfileGroup(std::string name = "") : name_(std::move(name)) {}
  void Add(const MeasuredKernel& row, const RowWork& work);

  const std::string& name() const { return name_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t launches() const { return launches_; }

  // A sum, and whether all launches told their part; a lower bound otherwise.
  struct Sum {
    double value = 0;
    bool whole = true;
  };
  std::optional<Sum> Time() const;  // seconds
  std::optional<Sum> Flops() const;
  std::optional<Sum> Bytes() const;
  std::optional<Sum> Instructions() const;
  std::optional<Sum> Cycles() const;
  bool FlopsAtLeast() const { return flops_at_least_; }  // the matrix pipe's are in no counter
  std::optional<double> MeanTime() const;                // seconds per launch
  std::optional<double> FlopRate() const;  // nothing where FLOPs are only a lower bound
  std::optional<double> ByteRate() const;
  std::optional<double> Intensity() const;  // FLOP/byte
  // Of the device's peaks, or as a counter says.
  std::optional<double> ComputeShare() const;
  std::optional<double> MemoryShare() const;
  // Mean of a counter, by time where every row that has the counter tells its time, else by launch.
  std::optional<double> Mean(Metric metric) const;
  std::optional<ProfileLimiter> Limiter() const;
  // Seconds that nothing beats at the device's peaks; nothing unless all launches tell it.
  std::optional<double> LeastTime() const;

  // What the rows have in common beside the name; "" and nothing where they differ.
  std::string family, library, op, op_type, module, device;
  std::optional<std::array<std::int64_t, 3>> grid, block;

 private:
  struct Part {  // of launches that tell it
    double sum = 0;
    std::int64_t launches = 0;
    void Add(const std::optional<double>& value, std::int64_t count);
  };
  struct Pair {  // of rows that tell both
    double above = 0, below = 0;
    bool any = false;
    void Add(const std::optional<double>& a, const std::optional<double>& b);
    std::optional<double> Ratio() const;
  };
  std::optional<Sum> SumOf(const Part& part) const;

  std::string name_;
  std::int64_t rows_ = 0, launches_ = 0;
  Part time_, flops_, bytes_, least_, instructions_, cycles_;
  Pair flop_rate_, byte_rate_, intensity_, compute_, memory_;
  WeightedMean told_rate_;
  bool flops_at_least_ = false, all_pipes_ = true;
  std::map<Metric, WeightedMean> means_;
};

}  // namespace dlcost
