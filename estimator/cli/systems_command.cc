#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/report/system_list.h"

namespace dlcost {
namespace {

struct SystemsArguments {
  std::string system;
  std::string format = "text";
  std::string output;
};

constexpr const char* kSystemsExamples =
    "Examples:\n"
    "  dlcost systems\n"
    "  dlcost systems dgx-h100\n"
    "  dlcost systems ./my_cluster.yaml --format json\n";

int RunSystemsCommand(const SystemsArguments& options) {
  RequireOneOf("--format", options.format, {"text", "json"});
  const bool json = options.format == "json";
  const SystemDatabase database = OpenSystems();
  std::string content;
  if (options.system.empty()) {
    const std::vector<System> systems = database.All();
    content = json ? SystemListJson(systems) : SystemListText(systems, WidthOf(options.output));
  } else {
    const System system = database.Find(options.system);
    content = json ? SystemJson(system) : SystemText(system, WidthOf(options.output));
  }
  WriteRendered(options.output, options.format, content);
  return 0;
}

}  // namespace

void AddSystemsCommand(Commands& commands) {
  auto options = std::make_shared<SystemsArguments>();
  CLI::App* app = commands.app.add_subcommand(
      "systems", "the systems of many devices that dlcost knows, and what is known of one");
  app->footer(kSystemsExamples);
  app->add_option("system", options->system, "an id, an alias or a YAML file; none: list all")
      ->type_name("NAME");
  AddOutputOptions(*app, options->format, options->output);
  app->callback(
      [&commands, options] { commands.run = [options] { return RunSystemsCommand(*options); }; });
}

}  // namespace dlcost
