#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/onnx/mapped_file.h"
#include "models/networks/config_file.h"
#include "models/networks/networks.h"

namespace dlcost {
namespace {

struct Options {
  std::string name;
  std::vector<std::string> settings;
  std::string output;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  dlcost network\n"
    "  dlcost network resnet50 -o resnet50.onnx\n"
    "  dlcost network gpt2 phase=decode layers=24 -o gpt2-decode.onnx\n"
    "  dlcost network config.json phase=decode -o - | dlcost - --gpu h100 --dim past=4096\n";

// Every network with its options and their defaults; equal options are told once per family.
std::string List() {
  std::size_t width = 0;
  for (const NetworkInfo& network : Networks()) width = std::max(width, network.name.size());
  std::string text;
  for (const NetworkInfo& network : Networks()) {
    std::vector<std::string> options;
    for (const NetworkOption& option : network.options) {
      options.push_back(option.name + "=" + option.default_value);
    }
    text += fmt::format("{:<{}}  {}\n{:<{}}  {}\n", network.name, width, network.description, "",
                        width, fmt::join(options, " "));
  }
  return text;
}

NetworkOptions ParseSettings(const std::vector<std::string>& settings) {
  NetworkOptions options;
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error("'{}' is not an option of a network: write NAME=VALUE, e.g. layers=24",
                  Printable(setting));
    }
    options[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return options;
}

std::string Build(const Options& options) {
  const NetworkOptions settings = ParseSettings(options.settings);
  // Networks have no dot in their names.
  if (options.name.find('.') == std::string::npos) return BuildNetwork(options.name, settings);
  const MappedFile file(options.name);
  try {
    return BuildNetworkOfConfig(file.bytes(), settings);
  } catch (const Error& error) {
    throw error.At(Printable(options.name));
  }
}

int Run(const Options& options) {
  if (options.name.empty()) {
    WriteRendered(options.output, "text", List());
    return 0;
  }
  const std::string bytes = Build(options);
  if (options.output.empty()) {
    const std::string name = Printable(options.name);
    throw Error("where to? dlcost network {} -o {}.onnx", name, name.substr(0, name.find('.')));
  }
  WriteOutput(options.output, bytes);
  return 0;
}

}  // namespace

void AddNetworkCommand(Commands& commands) {
  auto options = std::make_shared<Options>();
  CLI::App* app =
      commands.app.add_subcommand("network", "write a reference network as an ONNX file");
  app->footer(kExamples);
  app->add_option("name", options->name,
                  "which network, or a transformers config.json; without a name, lists them")
      ->type_name("NAME");
  app->add_option("settings", options->settings, "what to change, e.g. layers=24")
      ->type_name("OPTION=VALUE");
  app->add_option("-o,--output", options->output, "file to write, - for standard output")
      ->type_name("FILE");
  app->callback([&commands, options] { commands.run = [options] { return Run(*options); }; });
}

}  // namespace dlcost
