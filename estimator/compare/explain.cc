#include "estimator/compare/explain.h"

#include <fmt/ranges.h>

#include <cmath>
#include <map>

#include "estimator/core/integer.h"
#include "estimator/report/format.h"

namespace dlcost {
namespace {

// Differences below these need no explanation.
constexpr double kSameFlops = 0.005;
constexpr double kSameBytes = 0.3;
// A reason explains a difference when what it computes comes this close to the measurement. For
// Winograd and Fourier transforms, whose padding differs between libraries, within the second.
constexpr double kExplained = 0.03;
constexpr double kExplainedTransformed = 0.1;
// Parts of the executed work below this share of it are not named.
constexpr double kSmallPart = 0.0005;
// A launch from a stream costs a few microseconds; kernels around that length measure it.
constexpr double kLaunchBound = 10e-6;
constexpr double kLowOccupancy = 0.3;
// Of expected times: differences below need no explanation, and from where on they lack one.
constexpr double kAsExpected = 1.3, kFarFromExpected = 2;
// Good kernels stay within a small factor of their bound.
constexpr double kFarFromBound = 5;

bool Near(double ratio, double tolerance) { return std::abs(ratio - 1) <= tolerance; }

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

// "measured 101.7 % of what winograd F(2x2,3x3) executes"
std::string OfExecuted(const CompareRow& row) {
  return fmt::format("measured {:.1f} % of what {} executes", 100 * *row.executed_ratio,
                     row.execution         ? row.execution->name
                     : row.planned.empty() ? std::string("their algorithm")
                                           : row.planned);
}

// As many whole operations per output as were counted; "" where they are no whole number.
std::string PerOutput(const CompareRow& row) {
  if (!row.outputs || *row.outputs <= 0 || !row.measured_flops) return "";
  const double each = *row.measured_flops / *row.outputs;
  const double whole = std::round(each);
  if (whole < 1 || whole > 64 || !Near(each / whole, kExplained)) return "";
  return whole == 1 ? "the counter sees one operation per output"
                    : fmt::format("the counter sees {:.0f} operations per output", whole);
}

// Counts of a whole number of runs, where the file or the user says that it holds fewer.
std::string Repeated(const CompareRow& row) {
  const double ratio = row.executed_ratio ? *row.executed_ratio : *row.flops_ratio;
  const double whole = std::round(ratio);
  if (whole < 2 || whole > 1e6 || !Near(ratio / whole, kExplained)) return "";
  return fmt::format(
      "{:.0f} times the work of one run: --runs {:.0f} if the model ran so often, else another "
      "batch or length",
      whole, whole);
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
  const bool winograd = MethodOf(main.algorithm) == KernelMethod::kWinograd;
  const bool fourier = MethodOf(main.algorithm) == KernelMethod::kFft;
  const double tolerance = winograd || fourier ? kExplainedTransformed : kExplained;
  if (row.executed_ratio && Near(*row.executed_ratio, tolerance)) {
    if (winograd) {
      return fmt::format("{}: fewer products, more additions; {}", Name(main.algorithm),
                         OfExecuted(row));
    }
    if (fourier) return "FFT: products of frequencies replace the window; " + OfExecuted(row);
    const std::string parts = PartsOf(row);
    if (!parts.empty()) return parts + "; " + OfExecuted(row);
    if (row.execution || row.executed != row.algorithmic) return OfExecuted(row);
  }
  if (const std::string counted = PerOutput(row); !counted.empty()) return counted;
  if (*row.measured_flops == 0) return "the counter sees none: comparisons and moves are no FLOPs";
  if (const std::string repeated = Repeated(row); !repeated.empty()) return repeated;
  // Something is known, and not all.
  if (row.executed_ratio && row.execution &&
      std::abs(*row.executed_ratio - 1) < std::abs(ratio - 1) / 2) {
    return fmt::format("{}{}, the rest unexplained",
                       fourier ? "FFT: products of frequencies replace the window; " : "",
                       OfExecuted(row));
  }
  return "FLOPs unexplained";
}

// What a cache of the device may keep of the operands of so many kernels.
double Kept(const CompareRow& row) {
  return row.cache
             ? row.cache->AsDouble() * static_cast<double>(std::max<std::size_t>(1, row.kernels))
             : 0;
}

std::string ExplainBytes(const CompareRow& row) {
  if (!row.bytes_ratio || std::abs(*row.bytes_ratio - 1) < kSameBytes) return "";
  const double predicted = row.predicted_bytes.AsDouble();
  const double measured = *row.measured.dram_bytes;
  if (measured < predicted) {
    // What one kernel left, and what this one leaves for the next.
    if (predicted - measured <= 2 * Kept(row))
      return "cache reuse: what is missing fits into the last cache";
    if (!row.cache) return "bytes unexplained: fewer than predicted";
    return fmt::format("bytes unexplained: {} fewer than predicted, and the caches hold {}",
                       ReadableBytes(Bytes(RoundToInteger(predicted - measured))),
                       ReadableBytes(*row.cache));
  }
  if (row.execution) {
    const Bytes extra = row.execution->ExtraRead() + row.execution->ExtraWritten();
    const double with = predicted + extra.AsDouble();
    if (extra > Bytes(0) && Near(measured / with, kSameBytes)) {
      return fmt::format("{} moves {} more than its operands", row.execution->name,
                         ReadableBytes(extra));
    }
    // Tiles walk an operand once per tile of the other side: possible only beyond the cache.
    if (row.cache && predicted > row.cache->AsDouble()) {
      return fmt::format(
          "operands cross the memory interface {:.1f} times: the cache does not hold them",
          *row.bytes_ratio);
    }
  }
  return fmt::format("bytes unexplained: {:.1f} times the predicted", *row.bytes_ratio);
}

std::string ExplainTime(const CompareRow& row) {
  if (!row.bound || !row.measured.time || row.measured.time->value() <= 0) return "";
  const double measured = row.measured.time->value();
  const double bound = row.bound->value();
  if (bound > 0 && measured < 0.98 * bound) {
    const KernelName& main = row.measured.main;
    if (IsTransformed(main.algorithm)) return "";  // said above
    if (main.tensor && main.type == "tf32") return "ran in TF32: bound it with --math tf32";
    const bool by_memory = row.memory && row.compute && *row.memory >= *row.compute;
    if (!by_memory) return "time unexplained: faster than its compute bound";
    const double missing = row.predicted_bytes.AsDouble() * (1 - measured / row.memory->value());
    return missing <= Kept(row)
               ? "faster than its memory bound: inputs were still in a cache (--cache warm)"
               : "time unexplained: faster than its memory bound by more than the caches hold";
  }
  if (row.expected && measured < kAsExpected * row.expected->value()) return "";
  const double per_launch = measured / std::max(1.0, row.measured.launches);
  // Expected times of kernels have it.
  const bool launch_known = row.expected && row.time_level == TraceLevel::kKernel;
  if (!launch_known && per_launch < kLaunchBound && measured > 2 * bound)
    return "launch overhead: the work is too short to show";
  const auto occupancy = row.measured.occupancy.Value();
  if (occupancy && *occupancy < kLowOccupancy && measured > 2 * bound) {
    return fmt::format("low occupancy ({:.0f} %)", 100 * *occupancy);
  }
  if (launch_known) {
    const double times = measured / row.expected->value();
    return times > kFarFromExpected
               ? fmt::format("time unexplained: {:.1f} times what is expected", times)
               : "";
  }
  if (bound > 0 && measured > kFarFromBound * bound) {
    return fmt::format("time unexplained: {:.1f} times its bound", measured / bound);
  }
  return "";
}

}  // namespace

std::string Explain(const CompareRow& row) {
  if (!row.launched) return "a view or a constant: nothing to do but the runtime's call";
  if (row.beside) {
    return "bias, activation, transforms and layout changes of these operators: the file does not "
           "tell whose";
  }
  std::vector<std::string> reasons;
  for (std::string reason : {ExplainFlops(row), ExplainBytes(row), ExplainTime(row)}) {
    if (!reason.empty()) reasons.push_back(std::move(reason));
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace dlcost
