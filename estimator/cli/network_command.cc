#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/request/network.h"

namespace dlcost {
namespace {

struct NetworkArguments {
  std::string name;
  std::vector<std::string> settings;
  std::string output;
};

constexpr const char* kNetworkExamples =
    "Examples:\n"
    "  dlcost network\n"
    "  dlcost network resnet50 -o resnet50.onnx\n"
    "  dlcost network gpt2 phase=decode layers=24 -o gpt2-decode.onnx\n"
    "  dlcost network config.json phase=decode -o - | dlcost - --gpu h100 --dim past=4096\n";

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

int RunNetworkCommand(const NetworkArguments& options) {
  if (options.name.empty()) {
    WriteRendered(options.output, "text", NetworkListText());
    return 0;
  }
  const std::string bytes = BuildNetworkOf(options.name, ParseSettings(options.settings));
  if (options.output.empty()) {
    const std::string name = Printable(options.name);
    throw Error("where to? dlcost network {} -o {}.onnx", name, name.substr(0, name.find('.')));
  }
  WriteOutput(options.output, bytes);
  return 0;
}

}  // namespace

void AddNetworkCommand(Commands& commands) {
  auto options = std::make_shared<NetworkArguments>();
  CLI::App* app =
      commands.app.add_subcommand("network", "write a reference network as an ONNX file");
  app->footer(kNetworkExamples);
  app->add_option("name", options->name,
                  "which network, or a transformers config.json; without a name, lists them")
      ->type_name("NAME");
  app->add_option("settings", options->settings, "what to change, e.g. layers=24")
      ->type_name("OPTION=VALUE");
  app->add_option("-o,--output", options->output, "file to write, - for standard output")
      ->type_name("FILE");
  app->callback(
      [&commands, options] { commands.run = [options] { return RunNetworkCommand(*options); }; });
}

}  // namespace dlcost
