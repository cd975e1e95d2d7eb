#include "estimator/request/parallel.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/onnx/device_configuration.h"

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

// What is to run beside computation has to be exchanged.
void CheckOverlap(const ExchangeOverlap& overlap, const HybridPlan& plan) {
  const auto check = [](bool asked, int devices, const char* kind) {
    if (asked && devices == 1) throw Error("--overlap {0}: the plan has {0}=1", kind);
  };
  check(overlap.tensor, plan.tensor, "tp");
  check(overlap.context, plan.context, "cp");
  check(overlap.experts, plan.experts, "ep");
}

}  // namespace

PlanReport Parallelize(const ParallelRequest& options) {
  if (options.job.model.batch) throw Error("--batch: say --micro-batch and --global-batch instead");
  const Job job(options.job);
  const System& system = job.system();
  const bool annotated = options.plan == "annotated" || options.plan.starts_with("annotated=");
  DeviceConfiguration annotations;
  const bool trains = !options.job.model.train.empty();
  std::map<std::tuple<std::int64_t, int, bool, int, int>, StepProfile> profiles;
  const auto profile_of = [&](const HybridPlan& plan) -> const StepProfile& {
    const auto key =
        std::tuple(plan.micro_batch, plan.tensor, plan.sequence, plan.context, plan.experts);
    const auto known = profiles.find(key);
    if (known != profiles.end()) return known->second;
    if (options.on_step) options.on_step();
    const Division division =
        DivisionOf(plan, trains, options.expert_load, annotated ? &annotations : nullptr);
    return profiles.emplace(key, job.Profile(plan.micro_batch, std::nullopt, division))
        .first->second;
  };
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
    // What does not split among so many devices is left out, with the first reason.
    std::set<std::tuple<int, bool, int, int>> refused;
    const auto profile_if = [&](const HybridPlan& plan) -> const StepProfile* {
      if (plan.tensor * plan.context * plan.experts == 1) return &profile_of(plan);
      const auto key = std::tuple(plan.tensor, plan.sequence, plan.context, plan.experts);
      if (refused.count(key) > 0) return nullptr;
      try {
        return &profile_of(plan);
      } catch (const Error& error) {
        refused.insert(key);
        if (report.left_out.empty()) report.left_out = error.what();
        return nullptr;
      }
    };
    report.steps = AllPlans(profile_if, system, devices, options.global_batch,
                            SpreadOf(options.spread), job.device().memory.size, overlap);
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
    plan.overlap = overlap;
    report.steps = {RunHybrid(profile_of(plan), system, plan)};
  }
  report.profile = profile_of(report.steps.front().plan);
  return report;
}

}  // namespace dlcost
