#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/core/error.h"
#include "estimator/onnx/writer.h"

namespace dlcost {
namespace {

struct Options {
  ModelOptions model;
  std::string output;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  dlcost train resnet50.onnx -o step.onnx --batch 32 --train adamw\n"
    "  dlcost train model.onnx --train none --loss none -o gradients.onnx\n"
    "Parameters, states of the optimizer and labels are inputs of the step; `dlcost model.onnx "
    "--train adamw` reports what it costs.\n";

int Run(const Options& options) {
  if (options.output.empty()) throw Error("where to? dlcost train model.onnx -o step.onnx");
  const TrainingStep step = BuildTrainingStep(options.model);
  WriteOutput(options.output, WriteModel(step.model, step.inputs));
  return 0;
}

}  // namespace

void AddTrainCommand(Commands& commands) {
  auto options = std::make_shared<Options>();
  options->model.train = "sgd";
  CLI::App* app = commands.app.add_subcommand("train", "write a training step as an ONNX file");
  app->footer(kExamples);
  AddModelOptions(*app, options->model);
  app->add_option("-o,--output", options->output, "file to write, - for standard output")
      ->type_name("FILE");
  app->callback([&commands, options] { commands.run = [options] { return Run(*options); }; });
}

}  // namespace dlcost
