#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/job_options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/hardware/quantity_text.h"
#include "estimator/request/input.h"

namespace dlcost {
namespace {

struct InputArguments {
  std::string system;
  InputTexts input;
  int devices = 1;
  std::string compute, work;
  std::string format = "text";
  std::string output;
};

constexpr const char* kInputExamples =
    "Examples:\n"
    "  dlcost input --item 150528B --storage 10GB/s --host-link 32GB/s --compute 1050\n"
    "  dlcost input --item 150528B --stored 116667B --storage 10GB/s --host-link 32GB/s --compute "
    "151TFLOP/s --work 20e9\n"
    "  dlcost input --system dgx-a100 --item 602112B --stored 110kB --storage 20GB/s --decode 250 "
    "--augment 800 --compute 2500 --devices 8\n"
    "Rates of --decode and --augment are those of one core, of --compute those of one device.\n";

InputRequest InputRequestOf(const InputArguments& options, const System* system) {
  InputRequest request{
      .input = ParseInput(options.input), .system = system, .devices = options.devices};
  if (!options.work.empty()) {
    request.flops_per_item = ParseItemRate("--work", options.work);
    if (!options.compute.empty()) {
      request.compute_flops_per_s =
          ParseWith("--compute", options.compute, Dimension::kOperationRate);
    }
  } else if (!options.compute.empty()) {
    request.compute_items_per_s = ParseItemRate("--compute", options.compute);
  }
  return request;
}

int RunInputCommand(const InputArguments& options) {
  RequireOneOf("--format", options.format, {"text", "json"});
  std::optional<System> system;
  if (!options.system.empty()) system = OpenSystems().Find(options.system);
  const InputBounds bounds = BoundInput(InputRequestOf(options, system ? &*system : nullptr));
  WriteRendered(
      options.output, options.format,
      options.format == "json" ? InputJson(bounds) : InputText(bounds, WidthOf(options.output)));
  return 0;
}

}  // namespace

void AddInputCommand(Commands& commands) {
  auto options = std::make_shared<InputArguments>();
  CLI::App* app = commands.app.add_subcommand(
      "input", "which stage bounds a training: storage, decoding, copies or the devices");
  app->footer(kInputExamples);
  AddSystemOption(*app, options->system, "for cores, storage and host link");
  AddInputOptions(*app, options->input);
  app->add_option("--compute", options->compute, "items/s of one device, or FLOP/s with --work")
      ->type_name("RATE");
  app->add_option("--work", options->work, "FLOP to train on one item")->type_name("FLOP");
  app->add_option("--devices", options->devices, "that train")
      ->type_name("N")
      ->capture_default_str();
  AddOutputOptions(*app, options->format, options->output);
  app->callback(
      [&commands, options] { commands.run = [options] { return RunInputCommand(*options); }; });
}

}  // namespace dlcost
