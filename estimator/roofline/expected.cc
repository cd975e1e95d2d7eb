#include "estimator/roofline/expected.h"

#include <algorithm>
#include <cmath>

#include "estimator/roofline/attention_time.h"
#include "estimator/roofline/conv_time.h"
#include "estimator/roofline/elementwise_time.h"
#include "estimator/roofline/explain_steps.h"
#include "estimator/roofline/gemm_time.h"
#include "estimator/roofline/recurrent_time.h"

namespace dlcost {
namespace {

// The type that most multiply-accumulates, or else most operations, are done in.
DType MainType(const Kernel& kernel) {
  if (kernel.math != DType::kUndefined) return kernel.math;
  DType best = DType::kFloat32;
  Count most(0);
  for (const Work::Entry& entry : kernel.work.entries()) {
    const Count macs = entry.counts[static_cast<std::size_t>(OpClass::kMac)];
    if (macs > most) {
      most = macs;
      best = entry.dtype;
    }
  }
  return best;
}

class Estimator {
 public:
  Estimator(const Kernel& kernel, const Device& device, const TimingDevice& timing,
            const Bound& bound, const ExpectedOptions& options)
      : kernel_(kernel), device_(device), timing_(timing), bound_(bound), options_(options) {
    conditions_.eager = options.eager;
    if (options.cache == CacheState::kCold) StartCold();
    type_ = MainType(kernel);
  }

  std::optional<Expected> Run() {
    if (kernel_.unknown || kernel_.launches == Count(0)) return std::nullopt;
    bool timed = false;
    if (const auto* gemm = std::get_if<GemmNest>(&kernel_.nest)) {
      timed = Gemm(*gemm);
    } else if (const auto* conv = std::get_if<ConvNest>(&kernel_.nest)) {
      timed = Conv(*conv);
    } else if (const auto* attention = std::get_if<AttentionNest>(&kernel_.nest)) {
      timed = Attention(*attention);
    } else if (const auto* recurrent = std::get_if<RecurrentNest>(&kernel_.nest)) {
      timed = Recurrent(*recurrent);
    } else {
      timed = Stream();
    }
    if (!timed) return std::nullopt;
    return std::move(result_);
  }

 private:
  // Weights and the model's inputs come from memory; what the kernels before have written may still
  // be in the cache, and so may what is written for the next ones.
  void StartCold() {
    const double bytes = kernel_.bytes().AsDouble();
    conditions_.kept_weights = 0;
    conditions_.kept_rest = bytes > 0 ? kernel_.bytes_passed.AsDouble() / bytes : 0;
  }

  // The same where `weights` bytes of the kernel are weights, or the inputs that come in their
  // place.
  void SetWeights(double weights) {
    if (options_.cache != CacheState::kCold) return;
    const double bytes = kernel_.bytes().AsDouble(), passed = kernel_.bytes_passed.AsDouble();
    const double cold = std::max(0.0, bytes - passed);
    const double rest = std::max(bytes - weights, 1.0);
    conditions_.kept_weights = weights > 0 ? 1 - std::min(1.0, cold / weights) : 0;
    conditions_.kept_rest = 1 - std::min(1.0, std::max(0.0, cold - weights) / rest);
  }

  bool FindMatrixRoof() {
    const Roof roof = FindRoof(device_, WorkKind::kMatrix, type_, options_.math);
    if (!roof.known) return false;
    peak_ = roof.reached.value();
    tensor_ = roof.unit == UnitKind::kTensor;
    element_bytes_ = std::max(Bits(type_), 4) / 8.0;
    return true;
  }

  // How often the nest runs within the kernel: a loop body counts once per round.
  double Repeats(double nest_macs) const {
    const double macs = kernel_.work.macs().AsDouble();
    return nest_macs > 0 ? std::max(1.0, std::round(macs / nest_macs)) : 1;
  }

  // Kernels that follow each other leave a power-limited board no pause to recover in: over all of
  // them it does no more FLOP/s than its power carries.
  double AtSustainedPower(double seconds, double launch, double flops) {
    const double limit = PowerLimit(timing_, tensor_, element_bytes_);
    if (options_.eager || launch + flops / limit <= seconds) return seconds;
    if (options_.explain) ExplainPower(timing_, limit, flops / limit, result_);
    return launch + flops / limit;
  }

  void Finish(double seconds, double repeats, double launch, double log_range) {
    result_.launch = launch * repeats;
    result_.time = WithRange(seconds * repeats, log_range, bound_.time.value());
    if (options_.explain) ExplainTotal(result_, repeats, log_range);
  }

  bool Gemm(const GemmNest& nest) {
    if (!FindMatrixRoof()) return false;
    GemmProblem p{.batch = nest.batch.AsDouble(),
                  .m = nest.m.AsDouble(),
                  .n = nest.n.AsDouble(),
                  .k = nest.k.AsDouble(),
                  .input_bytes = element_bytes_,
                  .output_bytes = element_bytes_,
                  .tensor = tensor_,
                  .peak = peak_};
    if (p.m * p.n * p.k * p.batch <= 0) return false;
    const double repeats = Repeats(p.batch * p.m * p.n * p.k);
    const double results = p.batch * p.m * p.n;
    p.output_bytes = std::clamp(kernel_.bytes_written.AsDouble() / repeats / results, 1.0, 8.0);
    const double first = p.batch * p.m * p.k * p.input_bytes;
    const double rest = kernel_.bytes_read.AsDouble() / repeats - first;
    const double weights = p.batch * p.n * p.k * p.input_bytes;
    if (rest > 0 && rest < weights) p.weight_bytes = rest;  // stored in fewer bits, or broadcast
    p.extra_bytes = std::max(0.0, rest - weights);
    SetWeights(repeats * p.weight_bytes.value_or(weights));
    const GemmTime t = ExpectedGemm(timing_, p, conditions_);
    result_.units = t.units_seconds * repeats;
    result_.memory = t.memory_seconds * repeats;
    if (options_.explain) ExplainGemm(timing_, p, conditions_, t, result_);
    Finish(AtSustainedPower(t.seconds, t.launch_seconds, 2 * p.batch * p.m * p.n * p.k), repeats,
           t.launch_seconds, timing_[p.batch > 1 ? Constant::kRangeBatched : Constant::kRangeGemm]);
    return true;
  }

  bool Conv(const ConvNest& nest) {
    if (!FindMatrixRoof() || nest.axes.empty()) return false;
    // Axes before the last count as rows; one axis alone is a row.
    const auto height = [&](std::int64_t ConvAxis::*extent) {
      double product = 1;
      for (std::size_t i = 0; i + 1 < nest.axes.size(); ++i) {
        product *= static_cast<double>(nest.axes[i].*extent);
      }
      return product;
    };
    const auto width = [&](std::int64_t ConvAxis::*extent) {
      return static_cast<double>(nest.axes.back().*extent);
    };
    ConvProblem p{.batch = nest.batch.AsDouble(),
                  .channels = nest.in_channels.AsDouble(),
                  .height = height(&ConvAxis::in),
                  .width = width(&ConvAxis::in),
                  .filters = nest.out_channels.AsDouble(),
                  .kernel_height = height(&ConvAxis::kernel),
                  .kernel_width = width(&ConvAxis::kernel),
                  .out_height = height(&ConvAxis::out),
                  .out_width = width(&ConvAxis::out),
                  .groups = nest.groups.AsDouble(),
                  .element_bytes = element_bytes_,
                  .tensor = tensor_,
                  .peak = peak_};
    const double outputs = p.batch * p.filters * p.out_height * p.out_width;
    const double macs = outputs * p.channels / p.groups * p.kernel_height * p.kernel_width;
    if (macs <= 0) return false;
    // A stencil per channel is no matrix product: it streams its input.
    if (p.channels == p.groups && p.groups > 1) return Stream();
    const double repeats = Repeats(macs);
    const double weights = p.filters * p.channels / p.groups * p.kernel_height * p.kernel_width;
    const double own =
        (p.batch * p.channels * p.height * p.width + outputs + weights) * p.element_bytes;
    p.extra_bytes = std::max(0.0, kernel_.bytes().AsDouble() / repeats - own);
    SetWeights(repeats * weights * p.element_bytes);
    const ConvTime t = FasterOf(RunConv(p), p);
    result_.units = t.units_seconds * repeats;
    result_.memory = (t.memory_seconds + t.transform_seconds) * repeats;
    if (options_.explain) ExplainConv(timing_, p, t, result_);
    Finish(AtSustainedPower(t.seconds, t.launch_seconds, 2 * t.batch * t.m * t.n * t.k), repeats,
           t.launch_seconds, timing_[Constant::kRangeConv]);
    return true;
  }

  // Libraries leave the planned algorithm where its tiles would leave most units idle.
  ConvTime FasterOf(const ConvTime& planned, const ConvProblem& p) const {
    if (p.tensor || p.groups > 1) return planned;
    const ConvTime split = ExpectedConv(timing_, p, ConvMethod::kSplitGemm, conditions_);
    return split.seconds < planned.seconds ? split : planned;
  }

  ConvTime RunConv(const ConvProblem& p) const {
    const auto run = [&](ConvMethod method) {
      return ExpectedConv(timing_, p, method, conditions_);
    };
    const Algorithm algorithm = kernel_.execution
                                    ? kernel_.execution->algorithm
                                    : ParseAlgorithm(kernel_.algorithm).value_or(Algorithm::kNone);
    switch (algorithm) {
      case Algorithm::kWinograd:
        return run(ConvMethod::kWinogradFused);
      case Algorithm::kWinogradNonfused:
        return run(ConvMethod::kWinogradStaged);
      case Algorithm::kFft:
        return run(ConvMethod::kFft);
      case Algorithm::kIm2colGemm:
        return run(ConvMethod::kExplicitGemm);
      default:
        return run(ConvMethod::kImplicitGemm);
    }
  }

  bool Attention(const AttentionNest& nest) {
    if (!FindMatrixRoof()) return false;
    AttentionProblem p{.phase = AttentionPhase::kEncoder,
                       .causal = nest.causal,
                       .batch = nest.batch.AsDouble(),
                       .query_length = nest.q_len.AsDouble(),
                       .key_length = nest.kv_len.AsDouble(),
                       .heads = nest.q_heads.AsDouble(),
                       .key_value_heads = nest.kv_heads.AsDouble(),
                       .head_size = (nest.qk_dim + nest.v_dim).AsDouble() / 2,
                       .query_bytes = element_bytes_,
                       .key_value_bytes = element_bytes_,
                       .peak = peak_};
    if (p.batch * p.query_length * p.key_length * p.heads * p.key_value_heads <= 0) return false;
    if (p.query_length == 1) p.phase = AttentionPhase::kDecode;
    const AttentionTime t = ExpectedAttention(timing_, p, conditions_);
    // Scores that go through memory: what the kernel moves beyond the operands of a fused one.
    const double extra = std::max(0.0, kernel_.bytes().AsDouble() - t.memory_bytes) /
                         (timing_.memory_rate * timing_[Constant::kMemorySustained]);
    result_.units = t.units_seconds;
    result_.memory = t.memory_seconds + extra;
    if (options_.explain) ExplainAttention(timing_, p, t, extra, result_);
    Finish(t.seconds + extra, 1, t.launch_seconds,
           timing_[p.phase == AttentionPhase::kDecode ? Constant::kRangeDecode
                                                      : Constant::kRangeAttention]);
    return true;
  }

  bool Recurrent(const RecurrentNest& nest) {
    if (!FindMatrixRoof()) return false;
    const double directions = nest.directions.AsDouble();
    const double gates = nest.gates.AsDouble(), hidden = nest.hidden.AsDouble();
    RecurrentProblem p{.gates = gates,
                       .hidden = hidden,
                       .batch = nest.batch.AsDouble(),
                       .steps = nest.steps.AsDouble(),
                       .element_bytes = element_bytes_,
                       .tensor = tensor_,
                       .peak = peak_};
    if (p.hidden * p.batch * p.steps * gates * nest.input.AsDouble() <= 0) return false;
    if (device_.per_unit.registers) {
      p.register_bytes = device_.per_unit.registers->AsDouble() * timing_.units;
    }
    const GemmTime inputs = ExpectedGemm(timing_,
                                         {.m = p.batch * p.steps,
                                          .n = gates * hidden,
                                          .k = nest.input.AsDouble(),
                                          .input_bytes = element_bytes_,
                                          .output_bytes = element_bytes_,
                                          .tensor = tensor_,
                                          .peak = peak_},
                                         conditions_);
    const RecurrentTime steps = ExpectedRecurrentSteps(timing_, p, conditions_);
    const RecurrentTime persistent = ExpectedPersistent(timing_, p, conditions_);
    const bool keep = persistent.seconds > 0 && persistent.seconds < steps.seconds;
    const RecurrentTime& t = keep ? persistent : steps;
    result_.units = directions * (inputs.units_seconds + p.steps * t.product_seconds);
    result_.memory = directions * (inputs.memory_seconds + p.steps * t.pointwise_seconds);
    if (options_.explain) ExplainRecurrent(p, inputs, t, directions, result_);
    Finish(inputs.seconds + t.seconds, directions, inputs.launch_seconds + t.launch_seconds,
           timing_[Constant::kRangeBatched]);
    return true;
  }

  bool Stream() {
    StreamProblem p;
    p.bytes = kernel_.bytes().AsDouble();
    if (p.bytes <= 0) return false;
    p.element_bytes = std::max(Bits(type_), 8) / 8.0;
    if (const auto* rows = std::get_if<ReduceNest>(&kernel_.nest)) {
      p.row_elements = rows->reduce.AsDouble();
      // Reductions with exponentials are softmaxes; those with square roots normalizations.
      if (kernel_.work.Of(OpClass::kExp) > Count(0)) {
        p.kind = StreamKind::kSoftmax;
      } else if (kernel_.work.Of(OpClass::kSqrt) > Count(0)) {
        p.kind = StreamKind::kNormalization;
      }
    }
    Arithmetic(p);
    const StreamTime t = ExpectedStream(timing_, p, conditions_);
    result_.units = std::max(t.arithmetic_seconds, t.fill_seconds);
    result_.memory = t.memory_seconds;
    if (options_.explain) ExplainStream(p, t, result_);
    Finish(t.seconds, 1, t.launch_seconds, timing_[Constant::kRangeElementwise]);
    return true;
  }

  // Multiply-accumulates and other arithmetic on vector units, special functions on theirs: a
  // quarter of the lanes (NVIDIA: 16 of 64 or 128 per SM; AMD: one in four cycles).
  void Arithmetic(StreamProblem& p) const {
    const Roof roof = FindRoof(device_, WorkKind::kVector, type_, options_.math);
    if (!roof.known) return;
    const auto of = [&](OpClass op_class) { return kernel_.work.Of(op_class).AsDouble(); };
    p.arithmetic_peak = roof.reached.value();
    p.arithmetic = 2 * of(OpClass::kMac) + of(OpClass::kAdd) + of(OpClass::kMul) +
                   of(OpClass::kCompare) + of(OpClass::kDiv);
    p.specials = of(OpClass::kSqrt) + of(OpClass::kExp) + of(OpClass::kLog) + of(OpClass::kTrig);
    p.special_rate = roof.reached.value() / 2 / 4;
  }

  const Kernel& kernel_;
  const Device& device_;
  const TimingDevice& timing_;
  const Bound& bound_;
  const ExpectedOptions& options_;
  Conditions conditions_;
  DType type_ = DType::kFloat32;
  double peak_ = 0, element_bytes_ = 4;
  bool tensor_ = false;
  Expected result_;
};

}  // namespace

std::optional<Expected> ExpectedKernel(const Kernel& kernel, const Device& device,
                                       const TimingDevice& timing, const Bound& bound,
                                       const ExpectedOptions& options) {
  return Estimator(kernel, device, timing, bound, options).Run();
}

}  // namespace dlcost
