#include "estimator/calibrate/latency_case.h"

#include <algorithm>
#include <cmath>

#include "estimator/calibrate/protocol.h"
#include "estimator/calibrate/row_calls.h"
#include "estimator/core/error.h"
#include "estimator/hardware/device.h"
#include "estimator/hardware/roof.h"

namespace dlcost {
namespace {

std::string SizeClass(double seconds) {
  if (seconds < 10e-6) return "<10us";
  if (seconds < 100e-6) return "10-100us";
  if (seconds < 1e-3) return "0.1-1ms";
  if (seconds < 10e-3) return "1-10ms";
  return ">10ms";
}

// The device as the row's kernels found it.
TimingDevice TimingOf(TimingDevice timing, const LatencyCase& row) {
  if (!row.powered) timing.power = 0;  // no limit
  return timing;
}

class CaseMaker {
 public:
  CaseMaker(const LatencyRow& row, const Device& device, std::string* skipped)
      : row_(row),
        device_(device),
        skipped_(skipped),
        protocol_(FindProtocol(Optional("source"))) {}

  std::optional<LatencyCase> Make(LatencyKind kind) {
    const std::string& dtype = row_.Text("dtype");
    const auto type = FindLatencyType(dtype);
    if (!type) return Skip(fmt::format("unknown dtype '{}'", Printable(dtype, 40)));
    type_ = *type;
    if (dtype == "tf32") case_.options.math = MathMode::kTf32;
    if (!device_.memory.bandwidth) return Skip("no memory bandwidth is listed");
    if (!FindRoof(device_, WorkKind::kMatrix, type_, case_.options.math).known) {
      return Skip(fmt::format("no roof for {}", dtype));
    }
    const double latency = row_.Number("latency_us");
    if (latency <= 0) throw Error("latency_us: {} is not a time", row_.Text("latency_us"));
    case_.measured = latency * 1e-6;
    case_.device = device_.id;
    case_.hardware = &device_;
    case_.source = Optional("source");
    case_.dtype = dtype;
    case_.size = SizeClass(case_.measured);
    case_.options.cache = CacheState::kWarm;
    const bool called = Optional("timing") == "eager" && !protocol_.back_to_back;
    if (called) case_.options.launch = Launch::kEager;
    case_.options.odd_rows = protocol_.as_is;
    case_.options.converts = Optional("layout") != "nhwc";
    case_.options.rested = called;  // one call, then the timer waits for it
    case_.extra_launch = protocol_.extra_launch;
    case_.powered = !(protocol_.zero_halves && Bits(type_) == 16);
    std::optional<RowCalls> calls = CallsOf(kind, row_, type_, protocol_, skipped_);
    if (!calls) return std::nullopt;
    case_.kernels = std::move(calls->kernels);
    for (Kernel& kernel : case_.kernels) kernel.general |= protocol_.as_is;  // PyTorch's own
    case_.type = std::move(calls->type);
    case_.options.attention = calls->attention;
    if (calls->quantizes) case_.extra_launch += protocol_.quantize_calls;
    if (calls->weights > Bytes(0)) {
      const double copies = device_.WarmCapacity().AsDouble() / calls->weights.AsDouble();
      case_.options.weight_copies =
          std::clamp(std::ceil(copies), 1.0, static_cast<double>(protocol_.weight_copies));
    }
    Bounds();
    return std::move(case_);
  }

 private:
  std::nullopt_t Skip(std::string why) {
    *skipped_ = std::move(why);
    return std::nullopt;
  }
  std::string Optional(const std::string& column) const { return OptionalText(row_, column); }

  void Bounds() {
    const Runner runner(&device_, case_.options);
    const double rate = device_.memory.bandwidth->value();
    const Roof roof = FindRoof(device_, WorkKind::kMatrix, type_, case_.options.math);
    for (const Kernel& kernel : case_.kernels) {
      case_.bound += runner.Run(kernel).bound.time.value();
      const double flops = 2 * kernel.work.macs().AsDouble();
      case_.naive += std::max(flops / roof.reached.value(), kernel.bytes().AsDouble() / rate);
    }
  }

  const LatencyRow& row_;
  const Device& device_;
  std::string* skipped_;
  const Protocol& protocol_;
  DType type_ = DType::kFloat32;
  LatencyCase case_;
};

}  // namespace

std::optional<LatencyCase> MakeCase(LatencyKind kind, const LatencyRow& row, const Device& device,
                                    std::string* skipped) {
  return CaseMaker(row, device, skipped).Make(kind);
}

TimeRange ExpectedRange(const TimingDevice& timing, const LatencyCase& row) {
  const Runner runner(*row.hardware, row.options, TimingOf(timing, row));
  TimeRange sum{row.extra_launch, row.extra_launch, row.extra_launch};
  for (const Kernel& kernel : row.kernels) {
    const KernelRun run = runner.Run(kernel);
    if (!run.expected) throw Error("a measured kernel has no expected time");
    sum.low += run.expected->time.low;
    sum.expected += run.expected->time.expected;
    sum.high += run.expected->time.high;
  }
  return sum;
}

double ExpectedSeconds(const TimingDevice& timing, const LatencyCase& row) {
  return ExpectedRange(timing, row).expected;
}

Execution ExecutionOf(const TimingDevice& timing, const LatencyCase& row) {
  const Runner runner(*row.hardware, row.options, TimingOf(timing, row));
  const KernelRun run = runner.Run(row.kernels.back());
  return run.execution ? *run.execution : Execution();
}

Constant RangeOf(const LatencyCase& row) {
  const LoopNest& nest = row.kernels.back().nest;
  if (const auto* gemm = std::get_if<GemmNest>(&nest)) {
    return gemm->batch > Count(1) ? Constant::kRangeBatched : Constant::kRangeGemm;
  }
  if (const auto* attention = std::get_if<AttentionNest>(&nest)) {
    return attention->q_len == Count(1) ? Constant::kRangeDecode : Constant::kRangeAttention;
  }
  if (std::holds_alternative<ConvNest>(nest)) return Constant::kRangeConv;
  if (std::holds_alternative<RecurrentNest>(nest)) return Constant::kRangeBatched;
  return Constant::kRangeElementwise;
}

}  // namespace dlcost
