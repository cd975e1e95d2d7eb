#include <algorithm>

#include "estimator/roofline/gemm_time.h"
#include "estimator/roofline/part.h"
#include "estimator/roofline/recurrent_time.h"
#include "estimator/roofline/terms.h"
#include "models/algorithms/recurrent.h"

namespace dlcost {
namespace {

// Within a layer the kernels follow each other from the library, without the framework, and find
// the weights where the step before has left them.
Conditions WithinLayer(const Conditions& conditions) {
  Conditions step = conditions;
  step.eager = step.rested = false;
  step.kept_weights = step.kept_rest = 1;
  step.weight_copies = 1;
  return step;
}

struct LayerTime {
  GemmTime inputs;
  StepTime step;
  double launch = 0;   // of the layer's steps
  double seconds = 0;  // of one direction
};

class Layer {
 public:
  Layer(const Target& target, const Part& part, const RecurrentNest& nest)
      : target_(target), part_(part), nest_(nest), unit_(FindUnit(target, part.type)) {
    if (!Timed()) return;
    problem_ = {.gates = nest.gates.AsDouble(),
                .hidden = nest.hidden.AsDouble(),
                .batch = nest.batch.AsDouble(),
                .steps = nest.steps.AsDouble(),
                .element_bytes = unit_->bytes};
  }

  PartRun Run() const {
    PartRun run;
    const RecurrentOptions options = Options();
    run.execution = RecurrentInputGemm(nest_, options, target_.library);
    run.runner_up = Name(Algorithm::kRecurrentPersistent);
    if (!Timed()) return run;
    const LayerTime time = TimeOf(run.execution);
    run.time = Told(time);
    return run;
  }

 private:
  // The tiles of both products are those of the matrix library.
  RecurrentOptions Options() const {
    const ComputeUnit unit = unit_.value_or(ComputeUnit());
    RecurrentOptions options{.pipe = unit.pipe(), .type = part_.type};
    const Count columns = nest_.gates * nest_.hidden;
    const auto choose = [&](const GemmNest& nest, const Conditions& conditions, bool shares_k) {
      if (!Timed()) return ChooseProduct(target_, part_.type, nest, unit, nullptr);
      const GemmProblem p = ProductOf(nest.m.AsDouble(), nest.k.AsDouble());
      const GemmTimer timer(*target_.timing, p, conditions);
      return ChooseProduct(target_, part_.type, nest, unit, &timer, shares_k);
    };
    const Conditions conditions = ConditionsOf(target_, part_);
    if (nest_.input > Count(0)) {
      options.tile =
          choose({.m = nest_.batch * nest_.steps, .n = columns, .k = nest_.input}, conditions,
                 /*shares_k=*/true)
              .tile;
    }
    // Blocks do not share k: each walks all of it (Library::recurrent_clocks).
    const GemmOptions step =
        choose({.m = nest_.batch, .n = columns, .k = nest_.hidden}, WithinLayer(conditions),
               /*shares_k=*/false);
    options.step_tile = step.tile;
    if (nest_.input == Count(0)) options.tile = step.tile;
    return options;
  }

  bool Timed() const { return unit_ && target_.timing != nullptr; }

  GemmProblem ProductOf(double m, double k) const {
    return {.m = m,
            .n = problem_.gates * problem_.hidden,
            .k = k,
            .input_bytes = unit_->bytes,
            .energy_width = unit_->energy_width,
            .output_bytes = unit_->bytes,
            .tensor = unit_->tensor,
            .peak = unit_->peak};
  }

  GemmTime ProductTime(double m, double k, const Stage& stage, const Conditions& conditions) const {
    const GemmProblem p = ProductOf(m, k);
    const GemmTimer timer(*target_.timing, p, conditions);
    if (!stage.grid) return timer.Vector();
    TileGrid grid = *stage.grid;
    grid.batch = 1;
    return timer.Tiled(grid);
  }

  LayerTime TimeOf(const Execution& execution) const {
    const TimingDevice& d = *target_.timing;
    const Conditions conditions = ConditionsOf(target_, part_);
    LayerTime t;
    if (nest_.input > Count(0)) {
      t.inputs = ProductTime(problem_.batch * problem_.steps, nest_.input.AsDouble(),
                             execution.stages[0], conditions);
    }
    const Stage& step = execution.stages[1];
    t.step.product =
        ProductTime(problem_.batch, problem_.hidden, step, WithinLayer(conditions)).seconds;
    if (step.grid) t.step.product = std::max(t.step.product, WalkSeconds(d, problem_));
    t.step.wait = GatesSeconds(d, problem_);
    t.launch = d[Constant::kLaunchGraph];
    t.seconds = t.inputs.seconds + t.launch + problem_.steps * t.step.seconds();
    return t;
  }

  PartTime Told(const LayerTime& t) const {
    const double directions = nest_.directions.AsDouble();
    PartTime time;
    time.launch = directions * (t.inputs.launch_seconds + t.launch);
    time.units = directions * t.inputs.units_seconds;
    time.hot = directions * t.inputs.hot_seconds;
    time.memory = directions * t.inputs.memory_seconds;
    time.cache = directions * t.inputs.cache_seconds;
    time.steps = directions * problem_.steps * t.step.seconds();
    time.seconds = directions * t.seconds;
    time.range = (*target_.timing)[Constant::kRangeBatched];
    if (!target_.options.explain) return time;
    TermWriter terms(time.terms);
    TermWriter layer = directions > 1
                           ? terms
                                 .Times("directions", time.seconds, directions,
                                        fmt::format("{:.0f}, one after the other", directions))
                                 .Sum("one direction", t.seconds)
                           : terms;
    layer.Time("inputs of all steps in one product", t.inputs.seconds);
    layer.Time("launch", t.launch);
    TermWriter step =
        layer
            .Times("steps", problem_.steps * t.step.seconds(), problem_.steps,
                   fmt::format("{:.0f}, each waits for the one before", problem_.steps))
            .Sum("one step", t.step.seconds());
    step.Time("product", t.step.product, "weights come from the cache every step");
    step.Time("gates", t.step.wait);
    time.advice.push_back("Steps run one after the other: larger batches make each one fuller.");
    return time;
  }

  const Target& target_;
  const Part& part_;
  const RecurrentNest& nest_;
  std::optional<ComputeUnit> unit_;
  RecurrentProblem problem_;
};

}  // namespace

PartRun RunRecurrence(const Target& target, const Part& part, const RecurrentNest& nest) {
  if (MacsOf(nest) == Count(0)) return {};
  return Layer(target, part, nest).Run();
}

}  // namespace dlcost
