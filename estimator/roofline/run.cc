#include "estimator/roofline/run.h"

#include <algorithm>
#include <array>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/roofline/call_queue.h"
#include "estimator/roofline/choose.h"
#include "estimator/roofline/explain_kernel.h"
#include "estimator/roofline/part.h"
#include "estimator/roofline/timing_device.h"
#include "models/algorithms/convolution.h"
#include "models/algorithms/pointwise.h"

namespace dlcost {
namespace {

// What a batched product's call takes of a linear layer's beyond others', on its own: recorded
// times of the shortest ones (P100 10 of 42 us, V100 10 of 28, T4 6 of 24, P4 4 of 17, A100 none).
// Beside other calls it goes unseen: networks under TorchScript, whose calls are timed well without
// it.
constexpr double kBatchedCall = 0.27;

bool IsBatched(const LoopNest& nest) {
  const auto* gemm = std::get_if<GemmNest>(&nest);
  return gemm != nullptr && gemm->batch > Count(1);
}

struct RunPart {
  const Target& target;
  const Part& part;
  PartRun operator()(const GemmNest& nest) const { return RunProduct(target, part, nest); }
  PartRun operator()(const ConvNest& nest) const { return RunConvolution(target, part, nest); }
  PartRun operator()(const AttentionNest& nest) const { return RunAttention(target, part, nest); }
  PartRun operator()(const RecurrentNest& nest) const { return RunRecurrence(target, part, nest); }
  template <typename Other>
  PartRun operator()(const Other&) const {
    return RunStream(target, part);
  }
};

// Units that the board's power slows by this share of their time wait for power.
constexpr double kHot = 0.1;

// The largest term of a time.
std::string LimiterOf(const PartTime& time) {
  const std::array<std::pair<const char*, double>, 8> terms = {
      {{time.hot > kHot * time.units ? "power" : "compute", time.units},
       {"device memory", time.memory},
       {"cache", time.cache},
       {"dependent steps", time.steps},
       {"transforms", time.apart},
       {"parts of sums", time.parts},
       {"launch", time.launch},
       {"power", time.power}}};
  return std::max_element(terms.begin(), terms.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

void AddTo(PartTime& sum, const PartTime& part) {
  sum.launch += part.launch;
  sum.units += part.units;
  sum.hot += part.hot;
  sum.memory += part.memory;
  sum.cache += part.cache;
  sum.steps += part.steps;
  sum.apart += part.apart;
  sum.parts += part.parts;
  sum.power += part.power;
  sum.setup = std::max(sum.setup, part.setup);
  sum.asked = std::max(sum.asked, part.asked);
  sum.calls = std::max(sum.calls, part.calls);
  sum.before = std::max(sum.before, part.before);
  sum.seconds += part.seconds;
  sum.range = std::max(sum.range, part.range);
}

class KernelRunner {
 public:
  KernelRunner(const Kernel& kernel, const Target& target) : kernel_(kernel), target_(target) {}

  KernelRun Run() {
    run_.algorithm = kernel_.nest_name;
    run_.launches = kernel_.repeat;
    run_.executed = run_.least = kernel_.needed;
    const bool product = kernel_.needed.Of(OpClass::kMac) > Count(0) && IsProduct(kernel_.nest);
    for (const Part& part : PartsOf(kernel_, target_)) {
      parts_.push_back(RunPartOf(part, product));
      run_.forced |= parts_.back().forced;
    }
    Execute(product);
    run_.bound = BoundKernel(kernel_, run_.least, least_on_, ForcedTraffic(), target_.device,
                             target_.options.ForBound());
    Time();
    return std::move(run_);
  }

 private:
  PartRun RunPartOf(const Part& part, bool product) const {
    if (target_.device.systolic) return RunOnArrays(target_, part, product);
    if (target_.device.cores) return RunOnCores(target_, part, product);
    return product ? std::visit(RunPart{target_, part}, part.nest) : RunStream(target_, part);
  }

  void Execute(bool product) {
    if (!product) return ExecutePasses();
    Execution all;
    for (PartRun& part : parts_) {
      if (part.execution.stages.empty()) continue;
      if (all.stages.empty()) {
        all = std::move(part.execution);
        continue;
      }
      all.name += " + " + part.execution.name;
      all.workspace = std::max(all.workspace, part.execution.workspace);
      for (Stage& stage : part.execution.stages) all.stages.push_back(std::move(stage));
      if (MacsOf(kernel_.nest) > Count(0)) all.algorithm = part.execution.algorithm;
    }
    SetLeast(all);
    if (all.stages.empty()) return;
    Repeat(all, kernel_.repeat);
    // An attention kernel's own terms cover its softmax and masks; layers of recurrent cells end
    // with the stage that computes the gates.
    if (!std::holds_alternative<AttentionNest>(kernel_.nest)) {
      AddPointwise(all, "bias, activation and fused neighbours", TermKind::kEpilogue,
                   kernel_.needed.WithoutMacs());
    }
    run_.runner_up = parts_.size() == 1 ? parts_.front().runner_up : "";
    run_.executed = ToWork(all);
    Take(std::move(all));
  }

  // An update that runs in passes.
  void ExecutePasses() {
    Execution& all = parts_.front().execution;
    if (parts_.size() > 1 || all.stages.empty()) return;
    Repeat(all, kernel_.repeat);
    Take(std::move(all));
  }

  void Take(Execution all) {
    run_.algorithm = all.name;
    run_.launches = all.Launches();
    run_.execution = std::make_shared<const Execution>(std::move(all));
  }

  // Parts that need fewer multiply-accumulates than the mathematics writes down.
  void SetLeast(const Execution& all) {
    const Count macs = kernel_.needed.Of(OpClass::kMac);
    if (const auto* conv = std::get_if<ConvNest>(&kernel_.nest);
        conv != nullptr && kernel_.parts.size() < 2) {
      return SetLeastConvolution(*conv, macs);
    }
    Count written, least;
    const auto add = [&](const LoopNest& nest) {
      written += MacsOf(nest);
      least += LeastMacs(nest, all.algorithm);
    };
    if (kernel_.parts.size() < 2) {
      add(kernel_.nest);
    } else {
      for (const CostPart& part : kernel_.parts) add(part.nest);
    }
    SetLeastMacs(written, least, macs);
  }

  // Whatever runs takes no less than the algorithm that the device does fastest at its peak; a
  // forced one no less than its own.
  void SetLeastConvolution(const ConvNest& nest, Count macs) {
    const DType type = kernel_.math;
    const std::optional<ComputeUnit> product = FindFastestUnit(target_, type),
                                     vector = FindVectorUnit(target_, type);
    Count least = MacsOf(nest);
    if (!product || !vector) return SetLeastMacs(MacsOf(nest), least, macs);
    double seconds = least.AsDouble() / product->peak;
    for (const Algorithm algorithm : {Algorithm::kWinogradNonfused, Algorithm::kFft}) {
      const bool allowed = !target_.options.conv || *target_.options.conv == algorithm ||
                           (*target_.options.conv == Algorithm::kWinograd &&
                            algorithm == Algorithm::kWinogradNonfused);
      if (!allowed || WhyNot(algorithm, nest, type)) continue;
      const Count needed = LeastMacs(nest, algorithm);
      if (needed.AsDouble() / vector->peak >= seconds) continue;
      seconds = needed.AsDouble() / vector->peak;
      least = needed;
      least_on_ = WorkKind::kVector;
    }
    SetLeastMacs(MacsOf(nest), least, macs);
  }

  void SetLeastMacs(Count written, Count least, Count macs) {
    if (least >= written || written == Count(0)) return;
    run_.least = kernel_.needed.WithoutMacs();
    run_.least.Add(OpClass::kMac, kernel_.math,
                   Count(Truncate(macs.AsDouble() * least.AsDouble() / written.AsDouble())));
  }

  // What an algorithm that the user forces moves beside the operands: no other may avoid it.
  Bytes ForcedTraffic() const {
    const auto materializes = [&](const auto& of) {
      const auto* nest = std::get_if<AttentionNest>(&of.nest);
      return nest != nullptr && Materializes(target_.options.attention, kernel_.math, nest->q_len);
    };
    const bool materialized = materializes(kernel_) ||
                              std::any_of(kernel_.parts.begin(), kernel_.parts.end(), materializes);
    if (!(run_.forced || materialized) || run_.execution == nullptr) return Bytes(0);
    // What one stage hands to the next may stay on the chip, as much as fits.
    const Bytes kept = target_.device.WarmCapacity();
    Bytes through;
    for (const Stage& stage : run_.execution->stages) {
      const Bytes handed = stage.extra_read + stage.extra_written;
      through += handed - std::min(handed, kept);
    }
    return through;
  }

  void Time() {
    if (kernel_.unknown) return;
    PartTime sum;
    for (const PartRun& part : parts_) {
      if (!part.time) return;
      AddTo(sum, *part.time);
    }
    const double times = kernel_.repeat.AsDouble();
    Expected expected;
    expected.units = sum.units * times;
    expected.memory = sum.memory * times;
    expected.device = sum.seconds * times;
    expected.busy = std::max(sum.seconds - sum.launch, 0.0) * times;
    const bool own_host = IsOwnHost(target_.device);
    if (target_.options.Calls()) {
      const TimingDevice& d = *target_.timing;
      if (!own_host) expected.host = d[Constant::kLaunchHost];
      if (!own_host && IsBatched(kernel_.nest))
        expected.host += kBatchedCall * d[Constant::kLaunchProduct];
      const double before = SetsUp() ? sum.before * d[Constant::kLaunchCall] : 0;
      expected.prepared = (PreparationOf(sum) + before) * times;
      expected.calls = (d[Constant::kLaunchCall] * sum.calls - before) * times;
      expected.between = BetweenCalls(sum);
      const double seen =
          own_host ? expected.calls : std::max(expected.calls - expected.device, 0.0);
      sum.launch += (expected.host + expected.prepared + seen) / times;
    }
    expected.launch = sum.launch * times;
    const double seconds =
        expected.host + expected.prepared + CallsAndDevice(expected, target_.device);
    const double bound = run_.bound.time.value();
    expected.basis = BasisOf(target_.device);
    expected.time = WithRange(seconds, WidenRange(expected.basis, sum.range), bound);
    expected.limiter = seconds < bound ? LimiterOfBound() : LimiterOf(sum);
    if (target_.options.explain) {
      ExplainKernel(target_, {kernel_, parts_, run_.bound, sum.seconds}, expected);
    }
    run_.expected = std::move(expected);
  }

  // In the words of expected times: which unit computes is not one of them.
  std::string LimiterOfBound() const {
    return run_.bound.memory > run_.bound.compute ? run_.bound.limiter : "compute";
  }

  // Whether a call finds out which kernel runs, or how: of a framework or its library, not of what
  // was compiled.
  bool SetsUp() const {
    switch (target_.options.selection) {
      case Selection::kCall:
      case Selection::kFirst:
        return true;
      case Selection::kCompiled:
        return IsProduct(kernel_.nest);  // what compilers leave to libraries
      case Selection::kBuild:
        break;
    }
    return false;
  }

  // As objects of Python, each of which calls functions and asks for views.
  bool CallsLayers() const {
    return target_.options.launch == Launch::kEager &&
           target_.options.selection != Selection::kCompiled;
  }

  // The host's time until it comes to the next kernel.
  double BetweenCalls(const PartTime& time) const {
    if (!SetsUp()) return 0;
    double calls = kViewCall * kernel_.views.AsDouble();
    if (CallsLayers()) {
      const bool function = kernel_.model_call && time.setup == 0;
      calls += kModelCall * (kernel_.model_views + (function ? kernel_.repeat : 0)).AsDouble();
    }
    return calls * (*target_.timing)[Constant::kLaunchCall];
  }

  // The host's time before each run of the kernel.
  double PreparationOf(const PartTime& time) const {
    if (!SetsUp()) return 0;
    const double layer = CallsLayers() ? 0 : kLayerCall * (*target_.timing)[Constant::kLaunchCall];
    const double setup = std::max(time.setup - layer, 0.0);
    return target_.options.selection == Selection::kCall ? std::max(setup, time.asked) : setup;
  }

  const Kernel& kernel_;
  const Target& target_;
  std::vector<PartRun> parts_;
  WorkKind least_on_ = WorkKind::kMatrix;
  KernelRun run_;
};

}  // namespace

Work ToWork(const Execution& execution) {
  Work work;
  for (const Stage& stage : execution.stages) {
    for (const Term& term : stage.terms) {
      work.Add(OpClass::kMac, term.type, term.instructions.fma);
      work.Add(OpClass::kAdd, term.type, term.instructions.add);
      work.Add(OpClass::kMul, term.type, term.instructions.mul);
      work.Add(OpClass::kExp, term.type, term.instructions.special);
    }
  }
  return work;
}

Runner::Runner(const Device* device, const RunOptions& options)
    : device_(device), options_(options) {
  // Without a bandwidth or a number of units there is nothing to expect; bounds say so themselves.
  if (device_ != nullptr && device_->memory.bandwidth && device_->units) {
    timing_ = std::make_unique<const TimingDevice>(MakeTimingDevice(*device_));
  }
}

Runner::Runner(const Device& device, const RunOptions& options, const TimingDevice& timing)
    : device_(&device), options_(options), timing_(std::make_unique<const TimingDevice>(timing)) {}

Runner::~Runner() = default;

KernelRun Runner::Run(const Kernel& kernel) const {
  if (device_ == nullptr || kernel.repeat == Count(0)) {
    KernelRun run;
    run.algorithm = kernel.nest_name;
    run.launches = kernel.repeat;
    run.executed = run.least = kernel.needed;
    return run;
  }
  RunOptions options = options_;
  options.math = ModeOf(options.math, std::holds_alternative<ConvNest>(kernel.nest));
  const Target target{*device_, timing(), LibraryOf(*device_), options};
  return KernelRunner(kernel, target).Run();
}

}  // namespace dlcost
