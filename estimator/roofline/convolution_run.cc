#include <algorithm>

#include "estimator/roofline/choose_conv.h"
#include "estimator/roofline/conv_time.h"
#include "estimator/roofline/elementwise_time.h"
#include "estimator/roofline/explain_tiles.h"
#include "estimator/roofline/part.h"
#include "estimator/roofline/terms.h"

namespace dlcost {
namespace {

ConvProblem ConvProblemOf(const Part& part, const ConvNest& nest, const ComputeUnit& unit,
                          bool paired, bool by_tap) {
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
                .of_weights = nest.of_weights,
                .by_tap = by_tap,
                .element_bytes = unit.bytes,
                .energy_width = unit.energy_width,
                .paired = paired,
                .tensor = unit.tensor,
                .peak = unit.peak,
                .spare = unit.spare};
  if (nest.transposed) {
    const double positions = p.batch * p.out_height * p.out_width;
    p.met = 1 / PhasesOf(nest).AsDouble();
    p.reached = positions > 0 ? ImplicitGemmOf(nest).m.AsDouble() / positions : 1;
  }
  const double outputs = p.batch * p.filters * p.out_height * p.out_width;
  const double own = (p.batch * p.channels * p.height * p.width + outputs) * p.element_bytes +
                     WeightElements(nest).AsDouble() * p.element_bytes;
  p.extra_bytes = std::max(0.0, part.bytes() - own);
  if (!nest.transposed) p.rows_read = std::min(1.0, p.out_height * p.kernel_height / p.height);
  return p;
}

// A tile of a matrix unit covers several small groups at once: what it multiplies between them is
// zero. So one of 32 groups of 4 channels runs as one of 2 groups of 64.
constexpr int kPackedChannels = 64;  // of the smallest tile

ConvNest PackGroups(const Target& target, ConvNest nest, DType type) {
  const std::optional<ComputeUnit> unit = FindUnit(target, type);
  const bool depthwise = nest.in_channels == nest.groups;
  if (!unit || !unit->tensor || Bits(type) != 16 || nest.of_weights || depthwise) return nest;
  if (target.options.conv) return nest;  // what the user forces computes each group by itself
  const Count widest = std::max(nest.in_channels, nest.out_channels);
  while (nest.groups % 2 == Count(0) && widest / nest.groups * 2 <= Count(kPackedChannels)) {
    nest.groups = nest.groups / 2;
  }
  return nest;
}

// The pass over the result that adds what the convolution's kernel does not.
void AddBiasPass(const Target& target, const Part& part, const ConvNest& nest, PartRun& run) {
  const Count outputs = OutputElements(nest);
  if (!target.options.bias_apart || nest.of_weights || part.work.Of(OpClass::kAdd) < outputs)
    return;
  const Bytes bytes = SizeOf(part.type, outputs);
  Stage stage{.name = "bias", .extra_read = bytes, .extra_written = bytes};
  const StreamTime pass = ExpectedStream(*target.timing,
                                         {.bytes = 2 * bytes.AsDouble(),
                                          .element_bytes = std::max(Bits(part.type), 4) / 8.0,
                                          .places = outputs.AsDouble()},
                                         ConditionsOf(target, part, 0));
  run.execution.stages.push_back(std::move(stage));
  run.time->apart += pass.seconds;
  run.time->seconds += pass.seconds;
  if (target.options.explain) TermWriter(run.time->terms).Time("adding the bias", pass.seconds);
}

void ExplainConvolution(const Target& target, const Execution& execution, const ConvTime& t,
                        PartTime& time) {
  TermWriter terms(time.terms);
  terms.TimeIfAny("launch", time.launch);
  TermWriter side =
      terms.Norm("together", Overlap(t.overlap, t.units_seconds, t.memory_seconds, t.cache_seconds),
                 t.overlap);
  side.Time("all waves", t.units_seconds);
  if (t.start_seconds > 0) {
    side.Below().Fact("start", 1e6 * t.start_seconds, "us", "before the first product");
  }
  ExplainTiles(target.timing->units, *execution.Grid(),
               {t.waves, t.tile_seconds, t.efficiency, t.busy}, side.Below(), time.advice);
  side.Time("device memory", t.memory_seconds);
  side.Below().Fact("bytes", t.memory_bytes, "B");
  side.TimeIfAny("cache", t.cache_seconds);
  terms.TimeIfAny("transforms through memory", t.transform_seconds,
                  "what the algorithm writes and reads beside the operands");
  terms.TimeIfAny("adding up parts of k", t.split_seconds);
}

PartRun RunInMath(const Target& target, const Part& part, const ConvNest& asked) {
  const ConvNest nest = PackGroups(target, asked, part.type);
  const ConvChooser chooser(target, nest, part.type);
  // A stencil per channel is no matrix product: it streams its input.
  if (chooser.IsDepthwise()) {
    PartRun run = RunStream(target, part);
    run.execution = chooser.Depthwise();
    run.forced = chooser.IsForced();
    return run;
  }
  const std::optional<ComputeUnit> unit = chooser.ProductUnit();
  if (!unit || target.timing == nullptr) {
    auto [execution, runner_up] = chooser.ByRule();
    return {std::move(execution), std::move(runner_up), std::nullopt, chooser.IsForced()};
  }
  ConvProblem p = ConvProblemOf(part, nest, *unit, chooser.IsPaired(), chooser.IsByTap());
  const double weights = WeightElements(nest).AsDouble() * p.element_bytes;
  const Conditions conditions = ConditionsOf(target, part, weights);
  const auto time_of = [&](const Execution& execution,
                           double best = std::numeric_limits<double>::infinity()) {
    ConvProblem problem = p;
    // Transforms and what is between them run on vector units.
    const bool product = execution.On(Pipe::kTensor).fma > Count(0);
    if (problem.tensor && !product) {
      const std::optional<ComputeUnit> vector = FindVectorUnit(target, part.type);
      if (vector) problem.peak = vector->peak;
      problem.tensor = false;
    }
    return TimeOfConv(*target.timing, problem, execution, conditions, best);
  };
  PartRun run;
  run.forced = chooser.IsForced();
  auto choice =
      chooser.Choose([&](const Execution& e, double best) { return time_of(e, best).seconds; });
  run.execution = std::move(choice.execution);
  run.runner_up = std::move(choice.runner_up);
  const ConvTime t = time_of(run.execution);
  PartTime& time = run.time.emplace();
  time.launch = t.launch_seconds;
  time.setup = SetupOfLayer(*target.timing);
  time.asked = (*target.timing)[Constant::kLaunchConv];
  time.units = t.units_seconds;
  time.hot = t.hot_seconds;
  time.memory = t.memory_seconds;
  time.cache = t.cache_seconds;
  time.apart = t.transform_seconds;
  time.parts = t.split_seconds;
  time.seconds = t.seconds;
  time.range = (*target.timing)[Constant::kRangeConv];
  if (target.options.explain) ExplainConvolution(target, run.execution, t, time);
  AddBiasPass(target, part, asked, run);
  ComputeUnit used = *unit;
  used.tensor = run.execution.On(Pipe::kTensor).fma > Count(0);
  ApplySustainedPower(target, used, 2 * t.batch * t.m * t.n * t.k, time);
  return run;
}

}  // namespace

PartRun RunConvolution(const Target& target, const Part& part, const ConvNest& asked) {
  if (MacsOf(asked) == Count(0) || asked.axes.empty()) return {};
  if (target.options.converts && part.kernel.channels_last) {  // nothing to convert
    RunOptions options = target.options;
    options.converts = false;
    return RunConvolution({target.device, target.timing, target.library, options}, part, asked);
  }
  PartRun run = RunInMath(target, part, asked);
  const bool may_round = part.type == DType::kFloat32 && target.options.math != MathMode::kDefault;
  if (!may_round || !run.time || run.forced) return run;
  // What may be rounded need not be: libraries keep kernels of both kinds.
  RunOptions options = target.options;
  options.math = MathMode::kDefault;
  PartRun exact = RunInMath({target.device, target.timing, target.library, options}, part, asked);
  if (!exact.time || exact.time->seconds >= run.time->seconds) return run;
  exact.runner_up = run.execution.name;
  return exact;
}

}  // namespace dlcost
