#include "dlcost/parallel.h"

#include "estimator/api/state.h"
#include "estimator/request/parallel.h"
#include "estimator/request/scale.h"

namespace dlcost::api {
namespace {

// Points into the arguments.
JobOptions JobOf(const Model& model, const System& system, const std::optional<Device>& device,
                 const Bindings& bindings, const Options& options) {
  JobOptions job;
  job.model = ModelOptionsOf(model, bindings, options);
  job.count = CountOptionsOf(options);
  job.device = DeviceOptionsOf(options, device ? &device->state().device : nullptr);
  job.found = &system.state().system;
  return job;
}

double PercentOf(const std::optional<double>& spread) {
  return spread.value_or(kDeviceSpread) * 100;
}

GradientOptions GradientsOf(const std::optional<std::int64_t>& bucket_bytes, bool overlap,
                            const std::string& type) {
  GradientOptions gradients{{}, type, {}};
  gradients.sends.overlap = overlap;
  if (bucket_bytes) {
    if (*bucket_bytes < 1) throw dlcost::Error("--bucket {}: 1 byte or more", *bucket_bytes);
    gradients.sends.bucket = Bytes(*bucket_bytes);
  }
  return gradients;
}

}  // namespace

struct ParallelPlans::State {
  PlanReport report;
};

ParallelPlans::ParallelPlans(std::shared_ptr<const State> state) : state_(std::move(state)) {}

ParallelPlans Parallelize(const Model& model, const System& system,
                          const ParallelRequest& request) {
  return Guarded([&] {
    if (request.plan.starts_with("annotated") && !model.state().from_file) {
      throw dlcost::Error(
          "--parallel annotated: {} is no file, and what is kept of a model has no "
          "annotations",
          Printable(model.path()));
    }
    dlcost::ParallelRequest asked;
    asked.job = JobOf(model, system, request.device, request.bindings, request.options);
    asked.plan = request.plan;
    asked.micro_batch = request.micro_batch;
    asked.global_batch = request.global_batch;
    asked.schedule = request.schedule;
    asked.devices = request.devices;
    asked.spread = PercentOf(request.spread);
    asked.expert_load = request.expert_load;
    asked.overlap = request.overlap;
    asked.gradients =
        GradientsOf(request.bucket_bytes, request.overlaps_gradients, request.gradients);
    asked.gradients.sums = request.sums;
    asked.gradients.sends.fused_sums = request.fuses_sums;
    return ParallelPlans(std::make_shared<const ParallelPlans::State>(
        ParallelPlans::State{dlcost::Parallelize(asked)}));
  });
}

std::vector<ParallelPlan> ParallelPlans::plans() const {
  std::vector<ParallelPlan> plans;
  for (const HybridStep& step : state_->report.steps) {
    ParallelPlan& plan = plans.emplace_back();
    plan.plan = ToString(step.plan);
    plan.devices = step.plan.devices();
    plan.micro_batch = step.plan.micro_batch;
    plan.micro_batches = step.plan.micro_batches();
    plan.global_batch = step.plan.global_batch;
    if (step.plan.stages > 1) plan.schedule = Name(step.plan.schedule);
    plan.step_s = step.time.value();
    plan.items_per_s = step.Throughput();
    plan.bubble = step.bubble;
    plan.exposed_communication_s = step.exposed.value();
    plan.split_communication_s = step.split.value();
    plan.sent_bytes = step.sent.value();
    plan.memory_bytes = step.memory.value();
    if (state_->report.memory) plan.fits = step.memory <= *state_->report.memory;
  }
  return plans;
}
std::string ParallelPlans::left_out() const { return state_->report.left_out; }
std::vector<std::string> ParallelPlans::notes() const { return state_->report.profile.notes; }

std::string ParallelPlans::Text(std::size_t top) const {
  const std::size_t all = state_->report.steps.size();
  return Guarded([&] { return PlanText(state_->report, top == 0 ? all : top); });
}
std::string ParallelPlans::Json(std::size_t top) const {
  const std::size_t all = state_->report.steps.size();
  return Guarded([&] { return PlanJson(state_->report, top == 0 ? all : top); });
}

InputOptions InputOptionsOf(const InputPipeline& input) {
  return {.item_bytes = input.item_bytes,
          .stored_bytes = input.stored_bytes,
          .storage_bytes_per_s = input.storage_bytes_per_s,
          .host_link_bytes_per_s = input.host_link_bytes_per_s,
          .decode_items_per_s = input.decode_items_per_s,
          .augment_items_per_s = input.augment_items_per_s,
          .cores = input.cores};
}

struct Scaling::State {
  dlcost::Scaling scaling;
};

Scaling::Scaling(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Scaling Scale(const Model& model, const System& system, const ScaleRequest& request) {
  return Guarded([&] {
    dlcost::ScaleRequest asked;
    asked.job = JobOf(model, system, request.device, request.bindings, request.options);
    asked.devices = request.devices;
    asked.strong = request.strong;
    asked.zero = request.zero;
    asked.gradients = GradientsOf(request.bucket_bytes, request.overlap, request.gradients);
    asked.spread = PercentOf(request.spread);
    asked.samples = request.samples;
    asked.price = request.price_per_hour;
    asked.prefetch = request.input.prefetch;
    asked.input = InputOptionsOf(request.input);
    return Scaling(std::make_shared<const Scaling::State>(Scaling::State{dlcost::Scale(asked)}));
  });
}

std::vector<ScalePoint> Scaling::points() const {
  const dlcost::Scaling& scaling = state_->scaling;
  std::vector<ScalePoint> points;
  for (const dlcost::ScalePoint& from : scaling.points) {
    ScalePoint& point = points.emplace_back();
    point.devices = from.devices;
    point.batch_per_device = from.batch;
    point.step_s = from.Time().value();
    point.items_per_s = from.Throughput();
    point.efficiency = from.efficiency;
    point.compute_s = from.step.compute.value();
    point.communication_s = from.step.communication.value();
    point.exposed_communication_s = from.step.exposed.value();
    point.waits_for_input_s = from.waits.value();
    point.sent_bytes = from.step.sent.value();
    point.memory_bytes = from.step.memory.value();
    if (scaling.question.memory) point.fits = from.step.memory <= *scaling.question.memory;
    point.hours = HoursOf(scaling, from);
    point.price = PriceOf(scaling, from);
  }
  return points;
}
std::optional<int> Scaling::pays_up_to() const { return state_->scaling.pays_up_to; }
std::vector<std::string> Scaling::notes() const { return state_->scaling.notes; }
std::string Scaling::Text() const {
  return Guarded([&] { return ScalingText(state_->scaling); });
}
std::string Scaling::Json() const {
  return Guarded([&] { return ScalingJson(state_->scaling); });
}
std::string Scaling::Perfetto() const {
  return Guarded([&] { return StepTrace(state_->scaling); });
}

}  // namespace dlcost::api
