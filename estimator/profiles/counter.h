#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlcost {

// What a counter counts, whatever its profiler calls it. Values are per launch.
enum class Metric {
  kFlopsF16,  // on the vector pipes; a fused multiply-add is 2
  kFlopsF32,
  kFlopsF64,
  kFlops,               // of a type that the file does not tell
  kTensorInstructions,  // instructions that the matrix pipe executed, whatever their shape
  kTensorFlops,         // matrix-pipe operations, where the profiler counts those
  kTensorActive,        // fraction of cycles in which the matrix pipe was busy
  kDramRead,            // bytes
  kDramWrite,
  kDram,  // read and written, where the file has only the sum
  kL2Read,
  kL2Write,
  kL2,
  kGlobalLoads,  // transactions (32-byte sectors) between the cores and L1
  kGlobalStores,
  kOccupancy,  // achieved warps over the most that fit, 0 to 1
  kInstructions,
  kCycles,
  kDuration,  // seconds
  kIpc,       // instructions of a warp that an SM executes per cycle in which it is active
  // Fractions, 0 to 1. Shares of peak are of the peak at the clock that the kernel ran at.
  kComputeUtilization,  // of the busiest pipe, share of its peak
  kDramUtilization,     // of device memory's bandwidth, share of peak
  kMemoryUtilization,   // of the busiest level of memory, share of its peak
  kFlopEfficiencyF16,   // achieved FLOP/s, share of the type's peak
  kFlopEfficiencyF32,
  kFlopEfficiencyF64,
  kSmEfficiency,     // of the time, an SM has a warp
  kWarpEfficiency,   // threads that are active in an executed instruction of a warp, of 32
  kLoadEfficiency,   // bytes that threads asked for, of those that loads moved
  kStoreEfficiency,  // the same of stores
  kDramReadRate,     // bytes per second
  kDramWriteRate,
  kDramRate,
  kAllocated,  // bytes of memory that an operator takes for its results
};
std::string_view Name(Metric metric);  // "flops_f32", "dram_read_bytes", ...

// A normalized counter and the raw counters that it was made from.
struct Counter {
  Metric metric;
  double value = 0;
  std::vector<std::string> sources;
};

// How a raw counter becomes a normalized one. Totals win over parts, which add up; where several
// totals are present, the first in the table counts. Of kLargest the largest value counts.
struct CounterRule {
  std::string_view raw;
  Metric metric;
  double factor;
  enum Kind { kTotal, kPart, kLargest } kind;
};
// The whole table, for documentation and tests.
std::span<const CounterRule> CounterRules();
// The rule for a raw name in any profiler's spelling; nullptr when its meaning is not known.
const CounterRule* FindCounterRule(std::string_view raw);

// "14 counters without a meaning here: ipc, inst_per_warp, 12 more": what a reader of people's
// output is told of Measurement::unknown_counters. At most `most` names; "" for none.
std::string UnknownCountersText(std::span<const std::string> names, std::size_t most = 12);

// Collects the raw counters of one kernel.
class CounterSet {
 public:
  // `value` is in base units (bytes, seconds, fractions). False when the counter has no rule.
  bool Add(std::string_view raw, double value);
  bool empty() const { return raw_.empty(); }
  // The normalized counters, in the order of Metric.
  std::vector<Counter> Normalize() const;

 private:
  struct Raw {
    const CounterRule* rule;
    std::string name;
    double value;
  };
  std::vector<Raw> raw_;
};

}  // namespace dlcost
