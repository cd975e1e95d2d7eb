#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/job_options.h"
#include "estimator/cli/output.h"
#include "estimator/cli/progress.h"
#include "estimator/request/parallel.h"

namespace dlcost {
namespace {

struct ParallelArguments {
  ParallelRequest request;
  GradientTexts gradients;
  std::size_t top = 10;
  std::string format = "text";
  std::string output;
};

constexpr const char* kParallelExamples =
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

int RunParallelCommand(const ParallelArguments& options) {
  RequireOneOf("--format", options.format, {"text", "json"});
  Progress steps(0, "steps of a device looked at");
  ParallelRequest request = options.request;
  request.gradients = ParseGradients(options.gradients);
  request.on_step = [&] { steps.Add(); };
  const PlanReport report = Parallelize(request);
  WriteRendered(options.output, options.format,
                options.format == "json" ? PlanJson(report, options.top)
                                         : PlanText(report, options.top, WidthOf(options.output)));
  return 0;
}

}  // namespace

void AddParallelCommand(Commands& commands) {
  auto options = std::make_shared<ParallelArguments>();
  CLI::App* app = commands.app.add_subcommand(
      "parallel",
      "a model laid out on devices: replicas, split operators, stages, ZeRO; or the best");
  app->footer(kParallelExamples);
  AddJobOptions(*app, options->request.job);
  app->add_option("--parallel", options->request.plan,
                  "dp=N,tp=N,sp=1,cp=N,ep=N,pp=N,zero=N,fsdp=2,chunks=N, or auto: all plans of "
                  "--devices, the best "
                  "first; or annotated: as the file says")
      ->type_name("PLAN")
      ->capture_default_str();
  app->add_option("--micro-batch", options->request.micro_batch,
                  "items that pass a stage at a time")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--global-batch", options->request.global_batch, "items of a step on all devices")
      ->type_name("N");
  app->add_option("--schedule", options->request.schedule,
                  "gpipe, 1f1b or zb-h1; interleaved with chunks=N")
      ->type_name("NAME")
      ->capture_default_str();
  app->add_option("--devices", options->request.devices, "for auto; else a node's")->type_name("N");
  AddSpreadOption(*app, options->request.spread);
  app->add_option("--expert-load", options->request.expert_load,
                  "tokens of the busiest device's experts over the mean")
      ->type_name("FACTOR")
      ->capture_default_str();
  app->add_option("--overlap", options->request.overlap,
                  "exchanges that run beside computation: of split operators (tp), a ring's of the "
                  "sequence (cp), of experts (ep), of replicas for an update (dp)")
      ->type_name("tp,cp,ep,dp");
  AddGradientOptions(*app, options->gradients);
  AddSumOptions(*app, options->gradients);
  app->add_option("--top", options->top, "plans to show")->type_name("N")->capture_default_str();
  AddOutputOptions(*app, options->format, options->output);
  app->callback(
      [&commands, options] { commands.run = [options] { return RunParallelCommand(*options); }; });
}

}  // namespace dlcost
