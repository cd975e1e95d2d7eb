#include <fmt/format.h>

#include <map>
#include <memory>
#include <tuple>

#include "estimator/cli/commands.h"
#include "estimator/cli/job.h"
#include "estimator/core/error.h"
#include "estimator/parallel/hybrid_render.h"

namespace dlcost {
namespace {

struct Options {
  JobOptions job;
  std::string plan = "auto";
  std::int64_t micro_batch = 1;
  std::int64_t global_batch = 0;
  std::string schedule = "1f1b";
  int devices = 0;
  double spread = kDeviceSpread * 100;
  std::size_t top = 10;
  std::string format = "text";
  std::string output;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  dlcost parallel gpt2.onnx --system dgx-a100 --train adamw --dim sequence=1024 --dtype bf16 "
    "--parallel dp=4,pp=2,zero=1 --micro-batch 4 --global-batch 128\n"
    "  dlcost parallel resnet50.onnx --system dgx-1 --train sgd --parallel auto --devices 16 "
    "--global-batch 1024\n"
    "  dlcost parallel bert.onnx --system dgx-h100 --train lamb --dim sequence=512 --parallel "
    "pp=4,chunks=2 --global-batch 64\n"
    "  dlcost parallel llama.onnx --system dgx-h100 --dim sequence=2048 --dtype bf16 --parallel "
    "tp=8 --micro-batch 4\n"
    "Without --train it is the forward pass alone.\n";

constexpr std::int64_t kMostItems = std::int64_t{1} << 32;  // so that products stay far from 2^63

// A forward pass has nothing to share out, and passes through one stage after the other.
void CheckForwardPlan(const HybridPlan& plan) {
  if (plan.zero > 0 || plan.stages > 1 || plan.micro_batches() > 1) {
    throw Error("{} needs --train OPTIMIZER; a forward pass has dp, tp and sp",
                plan.zero > 0     ? fmt::format("zero={}", plan.zero)
                : plan.stages > 1 ? fmt::format("pp={}", plan.stages)
                                  : fmt::format("a batch in {} passes", plan.micro_batches()));
  }
}

int Run(const Options& options) {
  RequireOneOf("--format", options.format, {"text", "json"});
  if (options.job.model.batch) throw Error("--batch: say --micro-batch and --global-batch instead");
  const Job job(options.job);
  const System& system = job.system();
  const bool trains = !options.job.model.train.empty();
  std::map<std::tuple<std::int64_t, int, bool>, StepProfile> profiles;
  const auto profile_of = [&](const HybridPlan& plan) -> const StepProfile& {
    const auto key = std::tuple(plan.micro_batch, plan.tensor, plan.sequence);
    const auto known = profiles.find(key);
    if (known != profiles.end()) return known->second;
    const TensorParallel split = {plan.tensor, plan.sequence, trains};
    return profiles.emplace(key, job.Profile(plan.micro_batch, std::nullopt, split)).first->second;
  };
  if (options.global_batch < 0 || options.global_batch > kMostItems) {
    throw Error("--global-batch {}: 1 to {}", options.global_batch, kMostItems);
  }
  PlanReport report{options.job.model.path,   system.id, job.device().id, {},
                    job.device().memory.size, {}};
  if (options.plan == "auto") {
    if (!trains) throw Error("--parallel auto needs --train OPTIMIZER, such as adamw");
    const int devices = options.devices > 0 ? options.devices : system.node_devices;
    job.CheckSize("--devices", devices);
    if (options.global_batch < 1) throw Error("--parallel auto needs --global-batch");
    report.steps =
        AllPlans(profile_of, system, devices, options.global_batch, SpreadOf(options.spread));
    if (report.steps.empty()) {
      throw Error("--global-batch {} divides by no plan of {} devices; {} would",
                  options.global_batch, devices, devices);
    }
  } else {
    HybridPlan plan = ParsePlan(options.plan);
    job.CheckSize("--parallel " + options.plan + ":", plan.devices());
    if (options.devices > 0 && options.devices != plan.devices()) {
      throw Error("--devices {}: --parallel {} is for {}", options.devices, options.plan,
                  plan.devices());
    }
    plan.schedule = ParsePipelineSchedule(options.schedule);
    plan.micro_batch = options.micro_batch;
    if (plan.micro_batch < 1 || plan.micro_batch > kMostItems) {
      throw Error("--micro-batch {}: 1 to {}", plan.micro_batch, kMostItems);
    }
    plan.global_batch = options.global_batch > 0 ? options.global_batch
                                                 : plan.micro_batch * plan.data * plan.stages;
    plan.spread = SpreadOf(options.spread);
    CheckPlan(plan);
    if (!trains) CheckForwardPlan(plan);
    report.steps = {RunHybrid(profile_of(plan), system, plan)};
  }
  report.profile = profile_of(report.steps.front().plan);
  WriteOutput(options.output, options.format == "json" ? PlanJson(report, options.top)
                                                       : PlanText(report, options.top));
  return 0;
}

}  // namespace

void AddParallelCommand(Commands& commands) {
  auto options = std::make_shared<Options>();
  CLI::App* app = commands.app.add_subcommand(
      "parallel",
      "a model laid out on devices: replicas, split operators, stages, ZeRO; or the best");
  app->footer(kExamples);
  AddJobOptions(*app, options->job);
  app->add_option("--parallel", options->plan,
                  "dp=N,tp=N,sp=1,pp=N,zero=N,chunks=N, or auto: all plans of --devices, the best "
                  "first")
      ->type_name("PLAN")
      ->capture_default_str();
  app->add_option("--micro-batch", options->micro_batch, "items that pass a stage at a time")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--global-batch", options->global_batch, "items of a step on all devices")
      ->type_name("N");
  app->add_option("--schedule", options->schedule,
                  "gpipe, 1f1b or zb-h1; interleaved with chunks=N")
      ->type_name("NAME")
      ->capture_default_str();
  app->add_option("--devices", options->devices, "for auto; else a node's")->type_name("N");
  AddSpreadOption(*app, options->spread);
  app->add_option("--top", options->top, "plans to show")->type_name("N")->capture_default_str();
  AddOutputOptions(*app, options->format, options->output);
  app->callback([&commands, options] { commands.run = [options] { return Run(*options); }; });
}

}  // namespace dlcost
