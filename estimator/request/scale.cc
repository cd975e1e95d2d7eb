#include "estimator/request/scale.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

// What the input of a step takes, and how long devices wait for it. Every node reads and prepares
// the items of its own devices.
void AddInput(const ScaleRequest& options, const System& system, ScalePoint& point,
              Scaling& scaling) {
  const int local = std::min(point.devices, system.node_devices);
  const std::vector<InputStage> stages = StagesOf(options.input, &system, local);
  const InputStage* slowest = SlowestStage(stages);
  if (slowest == nullptr) {
    throw Error("--item without a stage: --storage, --decode, --augment or --host-link");
  }
  scaling.bound_by = slowest->name;
  point.input = Seconds(static_cast<double>(point.batch) * local / slowest->rate);
  // With batches ahead only what takes longer than a step is waited for.
  const Seconds hidden = options.prefetch > 0 ? std::min(point.input, point.step.time) : Seconds();
  point.waits = point.input - hidden;
}

}  // namespace

Scaling Scale(const ScaleRequest& options) {
  if (options.job.model.train.empty()) throw Error("scale needs --train OPTIMIZER, such as sgd");
  if (options.prefetch < 0 || options.prefetch > 1024) {
    throw Error("--prefetch {}: 0 to 1024 batches", options.prefetch);
  }
  if (options.zero < 0 || options.zero > 3) throw Error("--zero {}: 0, 1, 2 or 3", options.zero);
  if (options.devices.empty()) throw Error("--devices: how many?");
  if (options.samples && !(*options.samples > 0 && *options.samples <= 1e18)) {
    throw Error("--samples {}: 1 or more", *options.samples);
  }
  if (options.price && !options.samples) throw Error("--price needs --samples");
  const Job job(options.job, "--batch");
  const System& system = job.system();
  const std::optional<std::int64_t> given = BindingsOf(options.job.model).batch;
  const std::int64_t batch = given.value_or(1);
  if (batch < 1) throw Error("--batch {}: 1 or more", batch);
  Scaling scaling;
  scaling.model = options.job.model.path;
  scaling.system = system.id;
  scaling.device = job.device().id;
  scaling.strong = options.strong;
  scaling.plan.zero = options.zero;
  scaling.plan.gradients = options.gradients.sends;
  scaling.plan.spread = SpreadOf(options.spread);
  scaling.question = {options.samples, options.price, job.device().memory.size};
  if (!given) scaling.notes.emplace_back("no --batch given: a device trains one item a step");
  const GradientTypes types = GradientTypesOf(options.gradients);
  const StepProfile whole = job.Profile(batch, types);
  if (!whole.Note().empty()) scaling.notes.push_back(whole.Note());
  ScalePoint alone{1, batch, RunDataParallel(whole, system, {1}), {}, {}};
  if (options.input.given()) AddInput(options, system, alone, scaling);
  for (const std::int64_t size : options.devices) {
    job.CheckSize("--devices", size);
    if (options.strong && batch % size != 0) {
      throw Error("--batch {} does not divide among {} devices; {} would", batch, size,
                  batch / size * size > 0 ? batch / size * size : size);
    }
    ScalePoint point;
    point.devices = static_cast<int>(size);
    point.batch = options.strong ? batch / size : batch;
    scaling.plan.devices = point.devices;
    point.step = options.strong && size > 1
                     ? RunDataParallel(job.Profile(point.batch, types), system, scaling.plan)
                     : RunDataParallel(whole, system, scaling.plan);
    if (options.input.given()) AddInput(options, system, point, scaling);
    scaling.points.push_back(std::move(point));
  }
  SetEfficiencies(scaling, alone);
  scaling.pays_up_to = PaysUpTo(scaling, alone);
  return scaling;
}

}  // namespace dlcost
