#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/onnx/writer.h"

namespace dlcost {
namespace {

struct TrainArguments {
  ModelOptions model;
  std::string output;
  std::string attention = "materialized";
};

constexpr const char* kTrainExamples =
    "Examples:\n"
    "  dlcost train resnet50.onnx -o step.onnx --batch 32 --train adamw\n"
    "  dlcost train model.onnx --train none --loss none -o gradients.onnx\n"
    "Parameters, states of the optimizer and labels are inputs of the step; `dlcost model.onnx "
    "--train adamw` reports what it costs.\n";

int RunTrainCommand(const TrainArguments& options) {
  if (options.output.empty()) throw Error("where to? dlcost train model.onnx -o step.onnx");
  if (!options.model.dtype.empty()) {
    throw Error(
        "--dtype changes nothing that is written; types as frameworks mix them: "
        "--precision fp16");
  }
  RequireNothingSought(options.model);
  ModelOptions model = options.model;
  RequireOneOf("--attention", options.attention, NamesOf(AttentionForms()));
  model.plan.fusion = Fusion::kDefault;
  model.plan.attention = ParseAttentionForm(options.attention);
  const TrainingStep step = BuildTrainingStep(model);
  WriteOutput(options.output, WriteModel(step.model, step.inputs));
  return 0;
}

}  // namespace

void AddTrainCommand(Commands& commands) {
  auto options = std::make_shared<TrainArguments>();
  options->model.train = "sgd";
  CLI::App* app = commands.app.add_subcommand("train", "write a training step as an ONNX file");
  app->footer(kTrainExamples);
  AddModelOptions(*app, options->model);
  app->add_option("-o,--output", options->output, "file to write, - for standard output")
      ->type_name("FILE");
  app->add_option("--attention", options->attention,
                  "materialized: products and a softmax, as ONNX has them; flash: one node there "
                  "and one back (dlcost.training), flash-16bit: of types of at most 16 bits")
      ->type_name("FORM")
      ->capture_default_str();
  app->callback(
      [&commands, options] { commands.run = [options] { return RunTrainCommand(*options); }; });
}

}  // namespace dlcost
