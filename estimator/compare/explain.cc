#include "estimator/compare/explain.h"

#include <fmt/ranges.h>

#include <cmath>
#include <map>

#include "estimator/profiles/text.h"

namespace dlcost {
namespace {

// Differences below these need no explanation.
constexpr double kSameFlops = 0.005;
constexpr double kSameBytes = 0.3;
// Parts of the executed work below this share of it are not named.
constexpr double kSmallPart = 0.0005;
// A launch from a stream costs a few microseconds; kernels around that length measure it.
constexpr double kLaunchBound = 10e-6;
constexpr double kLowOccupancy = 0.3;
// Good kernels stay within a small factor of their bound.
constexpr double kFarFromBound = 5;

std::string PercentOff(double ratio) { return fmt::format("{:+.1f} %", 100 * (ratio - 1)); }

// "padding +1.4 %, epilogue +0.4 %": what the execution issues on the vector pipe beside the
// products that the mathematics needs, relative to these.
std::string PartsOf(const CompareRow& row) {
  if (!row.execution) return "";
  std::map<TermKind, double> parts;
  for (const Stage& stage : row.execution->stages) {
    for (const Term& term : stage.terms) {
      if (term.pipe == Pipe::kVector && term.kind != TermKind::kProducts) {
        parts[term.kind] += term.instructions.flops().AsDouble();
      }
    }
  }
  std::vector<std::string> texts;
  for (const auto& [kind, flops] : parts) {
    const double share = flops / row.algorithmic.AsDouble();
    if (std::abs(share) >= kSmallPart)
      texts.push_back(fmt::format("{} {:+.1f} %", Name(kind), 100 * share));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// The execution explains a difference when it comes clearly closer to the measurement.
bool ExecutionExplains(const CompareRow& row) {
  return row.executed_ratio &&
         std::abs(*row.executed_ratio - 1) < std::abs(*row.flops_ratio - 1) / 2;
}

std::string ExplainFlops(const CompareRow& row) {
  if (!row.flops_ratio || row.algorithmic == Flops(0)) return "";
  const double ratio = *row.flops_ratio;
  const KernelName& main = row.measured.main;
  const bool tensor = main.tensor || row.measured.tensor;
  if (tensor && !row.measured.tensor_flops && ratio < 0.5) {
    return "matrix pipe: its products are in no FLOP counter, only the vector pipe's are";
  }
  if (std::abs(ratio - 1) < kSameFlops) return "";
  const std::string parts = PartsOf(row);
  const std::string executed = ExecutionExplains(row)
                                   ? fmt::format("; measured {} of what {} executes",
                                                 fmt::format("{:.1f} %", 100 * *row.executed_ratio),
                                                 row.execution ? row.execution->name : row.planned)
                                   : "";
  if (Contains(main.algorithm, "Winograd")) {
    return fmt::format("{}: fewer products, more additions{}", main.algorithm, executed);
  }
  if (Contains(main.algorithm, "FFT")) {
    return "FFT: products of frequencies replace the window" + executed;
  }
  if (row.op == "Relu" || row.op == "Clip" || Contains(row.op, "MaxPool")) {
    return "comparisons: FLOP counters do not see them";
  }
  if (ratio > 1) {
    if (!parts.empty() && ExecutionExplains(row)) return parts + executed;
    if (row.op == "Conv" || row.op == "Gemm" || row.op == "MatMul") {
      const std::string what = main.algorithm == "matrix times vector"
                                   ? "reduction across threads and epilogue"
                                   : "tiles padded to whole blocks, and epilogue";
      return fmt::format("{}, {}", what, PercentOff(ratio));
    }
    return fmt::format(
        "instructions beyond the formula, {}: indices, special functions, conversions",
        PercentOff(ratio));
  }
  if (ratio < 0.05) return "the counter sees next to none: moves or another pipe do the work";
  if (ExecutionExplains(row)) return "the algorithm needs fewer" + executed;
  return "fewer than the formula: another algorithm, or part of it in kernels that were not joined";
}

std::string ExplainBytes(const CompareRow& row) {
  if (!row.bytes_ratio || std::abs(*row.bytes_ratio - 1) < kSameBytes) return "";
  if (*row.bytes_ratio < 1) return "cache reuse: part of the operands was still in L2";
  return fmt::format(
      "operands cross the memory interface {:.1f} times: the cache does not hold them",
      *row.bytes_ratio);
}

std::string ExplainTime(const CompareRow& row) {
  if (!row.bound || !row.measured.time || row.measured.time->value() <= 0) return "";
  const double measured = row.measured.time->value();
  const double bound = row.bound->value();
  if (bound > 0 && measured < 0.98 * bound) {
    const KernelName& main = row.measured.main;
    if (Contains(main.algorithm, "Winograd") || Contains(main.algorithm, "FFT"))
      return "";  // said above
    if (main.tensor && main.type == "tf32") return "ran in TF32: bound it with --math tf32";
    const bool by_memory = row.memory && row.compute && *row.memory >= *row.compute;
    return by_memory ? "faster than its memory bound: inputs were still in a cache (--cache warm)"
                     : "faster than its compute bound: another algorithm, another math mode or a "
                       "higher clock";
  }
  const double per_launch = measured / std::max(1.0, row.measured.launches);
  if (per_launch < kLaunchBound && measured > 2 * bound)
    return "launch overhead: the work is too short to show";
  if (row.measured.occupancy && *row.measured.occupancy < kLowOccupancy) {
    return fmt::format("low occupancy ({:.0f} %)", 100 * *row.measured.occupancy);
  }
  if (bound > 0 && measured > kFarFromBound * bound) {
    return "far from both roofs: latency, idle units or a generic implementation";
  }
  return "";
}

}  // namespace

std::string Explain(const CompareRow& row) {
  if (!row.launched) return "a view or a constant: nothing to do but the runtime's call";
  std::vector<std::string> reasons;
  for (std::string reason : {ExplainFlops(row), ExplainBytes(row), ExplainTime(row)}) {
    if (!reason.empty()) reasons.push_back(std::move(reason));
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace dlcost
