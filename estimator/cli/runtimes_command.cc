#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/runtime/runtime_list.h"

namespace dlcost {
namespace {

struct RuntimesArguments {
  std::string name, output;
  std::string format = "text";
};

constexpr const char* kRuntimesExamples =
    "Examples:\n"
    "  dlcost runtimes\n"
    "  dlcost runtimes tensorrt\n"
    "  dlcost resnet50.onnx --gpu a100 --runtime tensorrt\n";

int RunRuntimesCommand(const RuntimesArguments& options) {
  RequireOneOf("--format", options.format, {"text", "json"});
  const std::vector<std::string> directories = OpenDatabase().directories();
  const bool all = options.name.empty();
  const std::vector<Runtime> runtimes =
      all ? AllRuntimes(directories) : std::vector{FindRuntime(options.name, directories)};
  WriteRendered(options.output, options.format,
                options.format == "json" ? RuntimeListJson(runtimes)
                : all                    ? RuntimeListText(runtimes, WidthOf(options.output))
                                         : RuntimeText(runtimes.front()));
  return 0;
}

}  // namespace

void AddRuntimesCommand(Commands& commands) {
  auto options = std::make_shared<RuntimesArguments>();
  CLI::App* app = commands.app.add_subcommand(
      "runtimes", "the frameworks and libraries that --runtime knows, and what each assumes");
  app->footer(kRuntimesExamples);
  app->add_option("runtime", options->name, "an id, an alias or a YAML file; none: list all")
      ->type_name("NAME");
  AddOutputOptions(*app, options->format, options->output);
  app->callback(
      [&commands, options] { commands.run = [options] { return RunRuntimesCommand(*options); }; });
}

}  // namespace dlcost
