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
};
std::string_view Name(Metric metric);  // "flops_f32", "dram_read_bytes", ...

// A normalized counter and the raw counters that it was made from.
struct Counter {
  Metric metric;
  double value = 0;
  std::vector<std::string> sources;
};

// How a raw counter becomes a normalized one. Totals win over parts, which add up; where several
// totals are present, the first in the table counts.
struct CounterRule {
  std::string_view raw;
  Metric metric;
  double factor;
  enum Kind { kTotal, kPart } kind;
};
// The whole table, for documentation and tests.
std::span<const CounterRule> CounterRules();
// The rule for a raw name in any profiler's spelling; nullptr when its meaning is not known.
const CounterRule* FindCounterRule(std::string_view raw);

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
