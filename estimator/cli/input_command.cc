#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "estimator/cli/commands.h"
#include "estimator/cli/job_options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/hardware/quantity_text.h"
#include "estimator/report/format.h"
#include "estimator/report/table.h"
#include "estimator/timeline/input_chain.h"

namespace dlcost {
namespace {

struct Options {
  std::string system;
  InputTexts input;
  int devices = 1;
  std::string compute, work;
  std::string format = "text";
  std::string output;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  dlcost input --item 150528B --storage 10GB/s --host-link 32GB/s --compute 1050\n"
    "  dlcost input --item 150528B --stored 116667B --storage 10GB/s --host-link 32GB/s --compute "
    "151TFLOP/s --work 20e9\n"
    "  dlcost input --system dgx-a100 --item 602112B --stored 110kB --storage 20GB/s --decode 250 "
    "--augment 800 --compute 2500 --devices 8\n"
    "Rates of --decode and --augment are those of one core, of --compute those of one device.\n";

// The devices themselves, as the last stage.
void AddCompute(const Options& options, std::vector<InputStage>& stages) {
  if (options.compute.empty()) {
    if (!options.work.empty()) throw Error("--work needs --compute, as in 21TFLOP/s");
    return;
  }
  if (options.work.empty()) {
    const double rate = ParseItemRate("--compute", options.compute);
    stages.push_back(
        {"compute", options.devices * rate, fmt::format("{} x {:g}/s", options.devices, rate)});
    return;
  }
  const double rate = ParseWith("--compute", options.compute, Dimension::kOperationRate);
  const double work = ParseItemRate("--work", options.work);
  stages.push_back(
      {"compute", options.devices * rate / work,
       fmt::format("{} x {} / {:g} FLOP", options.devices, ReadableRate(rate, "FLOP"), work)});
}

int Run(const Options& options) {
  RequireOneOf("--format", options.format, {"text", "json"});
  std::optional<System> system;
  if (!options.system.empty()) system = OpenSystems().Find(options.system);
  std::vector<InputStage> chain =
      StagesOf(ParseInput(options.input), system ? &*system : nullptr, options.devices);
  AddCompute(options, chain);
  if (chain.empty()) {
    throw Error("no stage given: --storage, --decode, --augment, --host-link or --compute");
  }
  const InputStage& slowest = *SlowestStage(chain);
  if (options.format == "json") {
    using Json = nlohmann::ordered_json;
    Json stages = Json::array();
    for (const InputStage& stage : chain) {
      stages.push_back({{"stage", stage.name}, {"items_per_s", stage.rate}, {"how", stage.how}});
    }
    const Json json = {{"schema", "dlcost.input/1"},
                       {"stages", std::move(stages)},
                       {"bound_by", slowest.name},
                       {"items_per_s", slowest.rate}};
    WriteOutput(options.output, json.dump(2) + "\n");
    return 0;
  }
  Table table({"stage", "items/s", "over the slowest", "arithmetic"}, {true, false, false, true});
  for (const InputStage& stage : chain) {
    table.Add({stage.name, fmt::format("{:.0f}", stage.rate),
               fmt::format("{:.2f}", stage.rate / slowest.rate), stage.how});
  }
  table.MayStandBelow("arithmetic");
  WriteRendered(options.output, "text",
                table.Fit(WidthOf(options.output), "--format json has them") +
                    fmt::format("\n{} bounds: {:.0f} items/s\n", slowest.name, slowest.rate));
  return 0;
}

}  // namespace

void AddInputCommand(Commands& commands) {
  auto options = std::make_shared<Options>();
  CLI::App* app = commands.app.add_subcommand(
      "input", "which stage bounds a training: storage, decoding, copies or the devices");
  app->footer(kExamples);
  AddSystemOption(*app, options->system, "for cores, storage and host link");
  AddInputOptions(*app, options->input);
  app->add_option("--compute", options->compute, "items/s of one device, or FLOP/s with --work")
      ->type_name("RATE");
  app->add_option("--work", options->work, "FLOP to train on one item")->type_name("FLOP");
  app->add_option("--devices", options->devices, "that train")
      ->type_name("N")
      ->capture_default_str();
  AddOutputOptions(*app, options->format, options->output);
  app->callback([&commands, options] { commands.run = [options] { return Run(*options); }; });
}

}  // namespace dlcost
