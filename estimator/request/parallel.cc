#include "estimator/request/parallel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/onnx/device_configuration.h"
#include "estimator/parallel/plan_search.h"
#include "estimator/sweep/parallel.h"

namespace dlcost {
namespace {

// The plan that a file's own annotations make: as many devices split operators as there are shards,
// in as many stages as are named. "annotated", or "annotated=NAME" where there are several.
HybridPlan AnnotatedPlan(const ParallelRequest& options, DeviceConfiguration& annotations) {
  const std::vector<DeviceConfiguration> all = ReadDeviceConfigurations(options.job.model.path);
  std::vector<std::string> names;
  for (const DeviceConfiguration& each : all) names.push_back(Printable(each.name));
  if (all.empty()) {
    throw Error(
        "--parallel annotated: the file has no device configuration (IR version 11); "
        "dp=N,tp=N,pp=N or auto would do");
  }
  const std::size_t equals = options.plan.find('=');
  const std::string name =
      equals == std::string::npos ? names.front() : options.plan.substr(equals + 1);
  if (equals == std::string::npos && all.size() > 1) {
    throw Error("--parallel annotated: which of {}? annotated={}", fmt::join(names, ", "), name);
  }
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw Error("--parallel {}: the file has {}{}", Printable(options.plan), fmt::join(names, ", "),
                DidYouMean(name, names));
  }
  annotations = all[static_cast<std::size_t>(found - names.begin())];
  HybridPlan plan;
  if (!annotations.axes.empty()) plan.tensor = static_cast<int>(annotations.axes.front().shards);
  for (const auto& [output, stage] : annotations.stage_of) {
    plan.stages = std::max(plan.stages, stage + 1);
  }
  if (plan.devices() < 1 || annotations.devices % (std::int64_t{plan.tensor} * plan.stages) != 0) {
    throw Error(
        "device configuration '{}' has {} devices, and its annotations {} shards in {} stages",
        Printable(name), annotations.devices, plan.tensor, plan.stages);
  }
  plan.data = static_cast<int>(annotations.devices / plan.tensor / plan.stages);
  return plan;
}

// Profiles of micro-batches by what of a plan changes them, each made once.
class PlanProfiles {
 public:
  // All arguments last as long as this.
  PlanProfiles(const Job& job, const ParallelRequest& options, bool trains,
               const DeviceConfiguration* annotations)
      : job_(job),
        options_(options),
        trains_(trains),
        annotations_(annotations),
        types_(GradientTypesOf(options.gradients)) {}

  // Throws Error where the model does not divide so.
  const StepProfile& Of(const HybridPlan& plan) {
    const auto [known, fresh] = made_.try_emplace(KeyOf(plan));
    if (fresh) known->second = Make(plan);
    if (known->second.error) std::rethrow_exception(known->second.error);
    return known->second.profile;
  }

  // Null where the model does not divide so, with micro-batches of any size; `reason` becomes the
  // first that there is.
  const StepProfile* IfDivides(const HybridPlan& plan, std::string& reason) {
    if (plan.tensor * plan.context * plan.experts == 1) return &Of(plan);
    const auto key = std::tuple(plan.tensor, plan.sequence, plan.context, plan.experts);
    if (refused_.count(key) > 0) return nullptr;
    try {
      return &Of(plan);
    } catch (const Error& error) {
      refused_.insert(key);
      if (reason.empty()) reason = error.what();
      return nullptr;
    }
  }

  // Makes them on all cores.
  void Prepare(const std::vector<HybridPlan>& plans) {
    std::vector<std::pair<Made*, const HybridPlan*>> missing;
    for (const HybridPlan& plan : plans) {
      const auto [known, fresh] = made_.try_emplace(KeyOf(plan));
      if (fresh) missing.emplace_back(&known->second, &plan);
    }
    ForEachInParallel(missing.size(), [&](std::size_t i, std::size_t) {
      *missing[i].first = Make(*missing[i].second);
    });
  }

 private:
  // Micro-batch, tp, sp, cp, ep.
  using Key = std::tuple<std::int64_t, int, bool, int, int>;
  static Key KeyOf(const HybridPlan& plan) {
    return {plan.micro_batch, plan.tensor, plan.sequence, plan.context, plan.experts};
  }

  struct Made {
    StepProfile profile;
    std::exception_ptr error;  // instead
  };

  Made Make(const HybridPlan& plan) const {
    if (options_.on_step) options_.on_step();
    try {
      return {job_.Profile(plan.micro_batch, types_,
                           DivisionOf(plan, trains_, options_.expert_load, annotations_)),
              nullptr};
    } catch (const Error&) {
      return {{}, std::current_exception()};
    }
  }

  const Job& job_;
  const ParallelRequest& options_;
  bool trains_;
  const DeviceConfiguration* annotations_;
  GradientTypes types_;
  std::map<Key, Made> made_;
  std::set<std::tuple<int, bool, int, int>> refused_;  // tp, sp, cp, ep
};

// What is to run beside computation has to be exchanged.
void CheckOverlap(const ExchangeOverlap& overlap, const HybridPlan& plan) {
  const auto check = [](bool asked, int devices, const char* kind) {
    if (asked && devices == 1) throw Error("--overlap {0}: the plan has {0}=1", kind);
  };
  check(overlap.tensor, plan.tensor, "tp");
  check(overlap.context, plan.context, "cp");
  check(overlap.experts, plan.experts, "ep");
  check(overlap.replicas, plan.replicas(), "dp");
}

}  // namespace

PlanReport Parallelize(const ParallelRequest& options) {
  if (options.job.model.batch) throw Error("--batch: say --micro-batch and --global-batch instead");
  const Job job(options.job, "--micro-batch", options.plan != "auto");
  const System& system = job.system();
  const bool annotated = options.plan == "annotated" || options.plan.starts_with("annotated=");
  DeviceConfiguration annotations;
  const bool trains = !options.job.model.train.empty();
  PlanProfiles profiles(job, options, trains, annotated ? &annotations : nullptr);
  CheckItems("--global-batch", options.global_batch);
  if (!(options.expert_load >= 1 && options.expert_load <= 1000)) {
    throw Error("--expert-load {}: 1 to 1000 times the mean", options.expert_load);
  }
  const ExchangeOverlap overlap = ParseExchangeOverlap(options.overlap);
  PlanReport report{
      options.job.model.path, system.id, job.device().id, {}, job.device().memory.size, "", {}};
  if (options.plan == "auto") {
    if (!trains) throw Error("--parallel auto needs --train OPTIMIZER, such as adamw");
    const int devices = options.devices > 0 ? options.devices : system.node_devices;
    job.CheckSize("--devices", devices);
    if (options.global_batch < 1) throw Error("--parallel auto needs --global-batch");
    FoundPlans found = AllPlans(
        [&](const HybridPlan& plan) { return profiles.IfDivides(plan, report.left_out); }, system,
        {.devices = devices,
         .global_batch = options.global_batch,
         .spread = SpreadOf(options.spread),
         .memory = job.device().memory.size,
         .overlap = overlap,
         .gradients = options.gradients.sends,
         .prepare = [&](const std::vector<HybridPlan>& plans) { profiles.Prepare(plans); },
         .for_each =
             [](std::size_t count, const std::function<void(std::size_t)>& body) {
               ForEachInParallel(count, [&](std::size_t i, std::size_t) { body(i); });
             }});
    report.steps = std::move(found.steps);
    report.too_large = found.too_large;
    if (report.steps.empty()) {
      throw Error("--global-batch {} divides by no plan of {} devices; {} would",
                  options.global_batch, devices, devices);
    }
  } else {
    HybridPlan plan = annotated ? AnnotatedPlan(options, annotations) : ParsePlan(options.plan);
    if (options.devices > 0 && options.devices != plan.devices()) {
      throw Error("--devices {}: --parallel {} is for {}", options.devices, options.plan,
                  plan.devices());
    }
    plan = PlanOf(
        {options.plan, options.micro_batch, options.global_batch, options.schedule, options.spread},
        job, plan, trains);
    CheckOverlap(overlap, plan);
    const GradientSends& sends = options.gradients.sends;
    if (plan.stages > 1 && (!sends.overlap || sends.bucket != GradientSends().bucket)) {
      throw Error(
          "--bucket and --no-overlap are for plans without a pipeline: with pp={} gradients are "
          "sent at once, behind the last backward pass without --overlap dp",
          plan.stages);
    }
    plan.overlap = overlap;
    plan.gradients = options.gradients.sends;
    report.steps = {RunHybrid(profiles.Of(plan), system, plan)};
  }
  report.profile = profiles.Of(report.steps.front().plan);
  return report;
}

}  // namespace dlcost
