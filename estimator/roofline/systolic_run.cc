#include <algorithm>

#include "estimator/roofline/part.h"
#include "estimator/roofline/systolic_time.h"
#include "estimator/roofline/terms.h"
#include "models/algorithms/convolution.h"
#include "models/algorithms/gemm.h"
#include "models/algorithms/systolic.h"

namespace dlcost {
namespace {

// Published runs of whole networks (bench/published/systolic.csv) lie within a factor of 1.35 of
// the expected time; single kernels, of which none is published, scatter more.
constexpr double kSystolicRange = 0.35;

// Such a machine has no library to choose from: a nest runs in one way.
struct OnArrays {
  const Target& target;
  DType type;

  const SystolicMachine& machine() const { return *target.device.systolic; }

  Execution operator()(const GemmNest& nest) const {
    return IsDot(nest) ? DotProducts(nest, type) : SystolicGemm(nest, type, machine());
  }
  Execution operator()(const ConvNest& nest) const {
    if (!WhyNot(Algorithm::kDepthwise, nest, type)) return SystolicDepthwise(nest, type);
    return SystolicGemm(AsGemm(InAnyOrder(nest)), type, machine());
  }
  Execution operator()(const AttentionNest& nest) const {
    return SystolicAttention(nest, type, machine(),
                             Materializes(target.options.attention, type, nest.q_len));
  }
  Execution operator()(const RecurrentNest& nest) const {
    return SystolicRecurrent(nest, type, machine());
  }
  template <typename Other>
  Execution operator()(const Other&) const {
    return {};
  }
};

// What a kernel hands to the next one stays on the chip if half of its memory holds it: the
// compiler places it there, and needs the other half for what streams through.
double BytesOf(const Target& target, const Part& part) {
  const double on_chip = target.timing->cache;
  if (target.options.cache == CacheState::kWarm) return std::max(0.0, part.bytes() - on_chip);
  return part.passed <= on_chip / 2 ? part.bytes() - part.passed : part.bytes();
}

double VectorOperations(const Part& part, bool product) {
  double sum = product ? 0 : 2 * part.work.Of(OpClass::kMac).AsDouble();
  for (const OpClass op_class :
       {OpClass::kAdd, OpClass::kMul, OpClass::kDiv, OpClass::kSqrt, OpClass::kExp, OpClass::kLog,
        OpClass::kTrig, OpClass::kCompare, OpClass::kConvert}) {
    sum += part.work.Of(op_class).AsDouble();
  }
  return sum;
}

void ExplainSystolic(const SystolicMachine& machine, const SystolicRates& rates,
                     const SystolicTime& t, PartTime& time) {
  TermWriter terms(time.terms);
  terms.Time("start of the kernels", time.launch);
  TermWriter side = terms.Longest("together", std::max(t.array + t.vector, t.memory));
  TermWriter units = side.Sum("arrays and vector units", t.array + t.vector);
  if (t.cycles > 0) {
    units.Time("arrays", t.array,
               fmt::format("{} of {} x {}, {}", machine.arrays, machine.rows, machine.columns,
                           machine.stationary == Stationary::kWeights
                               ? "weights stay, rows stream past"
                               : "outputs stay, operands stream past"));
    units.Below().Fact("cycles", t.cycles, "",
                       fmt::format("passes, switches between tiles, fill and drain; {:.4g} % of "
                                   "them multiply",
                                   100 * machine.array_share));
  }
  units.Time("vector units", t.vector,
             fmt::format("{:.4g} elementwise operations per ns", machine.vector_rate / 1e9));
  side.Time("device memory", t.memory, "loaded ahead, under the rest");
  side.Below().Fact(
      "bytes", t.bytes, "B",
      fmt::format("at {:.4g} % of {:.4g} GB/s", 100 * machine.memory_share, rates.memory / 1e9));
  if (t.vector > t.array && t.array + t.vector > t.memory) {
    time.advice.push_back("The vector units take longer than the arrays.");
  }
}

}  // namespace

PartRun RunOnArrays(const Target& target, const Part& part, bool product) {
  PartRun run;
  if (product) run.execution = std::visit(OnArrays{target, part.type}, part.nest);
  if (target.timing == nullptr) return run;
  const bool tiled = run.execution.Grid() != nullptr;
  const std::optional<ComputeUnit> unit = FindUnit(target, part.type);
  if (tiled && !unit) return run;
  const double launches = run.execution.stages.empty() ? 1 : run.execution.Launches().AsDouble();
  const SystolicMachine& machine = *target.device.systolic;
  const SystolicLoad load{.vector_operations = VectorOperations(part, tiled),
                          .bytes = BytesOf(target, part),
                          .bytes_read = part.read,
                          .element_bytes = unit ? unit->bytes : 4,
                          .kernels = launches};
  const SystolicRates rates{.peak = unit ? unit->peak : 0,
                            .memory = target.timing->memory_rate,
                            .on_chip = target.timing->cache};
  const SystolicTime t = ExpectedSystolic(
      machine, run.execution.stages.empty() ? nullptr : &run.execution, rates, load);
  if (t.seconds <= 0) return run;
  PartTime& time = run.time.emplace();
  time.launch = t.kernels;
  time.units = t.array + t.vector;
  time.memory = t.memory;
  time.seconds = t.seconds;
  time.range = kSystolicRange;
  if (target.options.explain) ExplainSystolic(machine, rates, t, time);
  return run;
}

}  // namespace dlcost
