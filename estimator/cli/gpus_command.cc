#include <memory>

#include "estimator/cli/applies.h"
#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/report/device_list.h"

namespace dlcost {
namespace {

struct GpusArguments {
  std::string device;
  DeviceFilter filter;
  std::vector<std::string> overrides;
  std::string format = "text";
  std::string output;
};

constexpr const char* kGpusExamples =
    "Examples:\n"
    "  dlcost gpus --vendor AMD --sort fp16\n"
    "  dlcost gpus --kind cpu --year 2021-\n"
    "  dlcost gpus a100\n"
    "  dlcost gpus ./my_chip.yaml --format json\n";

int RunGpusCommand(const GpusArguments& options, const Applicability& applies) {
  RequireOneOf("--format", options.format, {"text", "json"});
  const bool json = options.format == "json";
  const DeviceFilter& filter = options.filter;
  for (const auto& [name, given] :
       {std::pair("--vendor", !filter.vendor.empty()), std::pair("--kind", !filter.kind.empty()),
        std::pair("--year", !filter.year.empty()),
        std::pair("--sort", filter.sort != DeviceFilter().sort)}) {
    applies.Require(given && !options.device.empty(), name, "for one device",
                    {options.device, "--set"});
  }
  std::string content;
  if (options.device.empty()) {
    if (!options.overrides.empty()) throw Error("--set needs a device: dlcost gpus NAME --set ...");
    const std::vector<Device> devices = SelectDevices(OpenDatabase().All(), options.filter);
    content = json ? DeviceListJson(devices) : DeviceListText(devices, WidthOf(options.output));
  } else {
    DeviceOptions device_options;
    device_options.gpu = options.device;
    device_options.overrides = options.overrides;
    const Device device = *FindDevice(device_options);
    content = json ? DeviceJson(device) : DeviceText(device, WidthOf(options.output));
  }
  WriteRendered(options.output, options.format, content);
  return 0;
}

}  // namespace

void AddGpusCommand(Commands& commands) {
  auto options = std::make_shared<GpusArguments>();
  CLI::App* app = commands.app.add_subcommand(
      "gpus", "the devices that dlcost knows, and what is known of one");
  app->footer(kGpusExamples);
  app->add_option("device", options->device, "an id, an alias or a YAML file; none: list all")
      ->type_name("NAME");
  app->add_option("--vendor", options->filter.vendor, "only this vendor")->type_name("NAME");
  app->add_option("--kind,--type", options->filter.kind, "only gpu, cpu, tpu or npu")
      ->type_name("KIND");
  app->add_option("--year", options->filter.year, "launched in 2022, 2020-2023, 2020- or -2018")
      ->type_name("YEARS");
  app->add_option("--sort", options->filter.sort,
                  "id, year, memory, bandwidth, fp64, fp32, fp16, bf16, fp8, int8 or power")
      ->type_name("KEY")
      ->capture_default_str();
  app->add_option("--set", options->overrides, "change a value, e.g. --set memory.bandwidth=8TB/s")
      ->type_name("KEY=VALUE");
  AddOutputOptions(*app, options->format, options->output);
  app->callback([&commands, options] {
    commands.run = [&commands, options] {
      return RunGpusCommand(*options, Applicability(commands.words));
    };
  });
}

}  // namespace dlcost
