#include <memory>

#include "estimator/cli/applies.h"
#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/report/explain.h"
#include "estimator/request/memory_fit.h"

namespace dlcost {
namespace {

struct ExplainArguments {
  ModelOptions model;
  DeviceOptions device;
  CountOptions count;
  std::string node, output;
  std::string format = "text";
};

constexpr const char* kExplainExamples =
    "Examples:\n"
    "  dlcost explain bert.onnx --gpu a100 --node /encoder/layer.0/attention/self/MatMul\n"
    "  dlcost explain resnet50.onnx --gpu v100-pcie-32gb --batch 8\n"
    "  dlcost explain resnet50.onnx --gpu a100 --format json\n"
    "Without --node: the kernel that takes longest.\n";

int RunExplainCommand(ExplainArguments options, const Applicability& applies) {
  RequireOneOf("--format", options.format, {"text", "json"});
  applies.Require(options.count.convention != CountOptions().convention, "--convention",
                  "here: times do not depend on what counts as a FLOP", {"--convention"});
  const std::optional<Device> device = FindDevice(options.device);
  if (!device) throw Error("explain needs a device: --gpu a100 (dlcost gpus lists them)");
  const ReportOptions report = ReportOptionsOf(options.count, options.device, options.model);
  options.model.plan = report.plan;
  ResolveFit(options.model, device, report);
  const InferredModel model = InferModel(options.model);
  const Explanation explained = Explain(model, *device, report, options.node);
  WriteRendered(options.output, options.format,
                options.format == "json" ? ExplanationJson(explained)
                                         : ExplanationText(explained, WidthOf(options.output)));
  return 0;
}

}  // namespace

void AddExplainCommand(Commands& commands) {
  CLI::App* app =
      commands.app.add_subcommand("explain", "the expected time of one kernel, step by step");
  app->footer(kExplainExamples);
  auto options = std::make_shared<ExplainArguments>();
  AddModelOptions(*app, options->model, "model", Search::kFit);
  AddDeviceOptions(*app, options->device);
  AddCountOptions(*app, options->count);
  app->add_option("--node", options->node, "a node of the kernel; the longest kernel if none")
      ->type_name("NAME");
  app->add_option("--format", options->format, "text or json")
      ->type_name("FORMAT")
      ->capture_default_str();
  app->add_option("-o,--output", options->output, "file to write; standard output if none");
  app->callback([&commands, options] {
    commands.run = [&commands, options] {
      return RunExplainCommand(*options, Applicability(commands.words));
    };
  });
}

}  // namespace dlcost
