#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string name, output;
  std::string format = "text";
};

constexpr const char* kExamples =
    "Examples:\n"
    "  dlcost runtimes\n"
    "  dlcost runtimes tensorrt\n"
    "  dlcost resnet50.onnx --gpu a100 --runtime tensorrt\n";

std::string OrAll(const std::vector<std::string>& vendors) {
  return vendors.empty() ? "any" : fmt::format("{}", fmt::join(vendors, ", "));
}

// "bias, pointwise"
std::string Fused(const Runtime& runtime) {
  std::vector<std::string> steps;
  for (const FusionStep step : FusionSteps()) {
    if (runtime.fuses.Has(step)) steps.emplace_back(Name(step));
  }
  return steps.empty() ? "nothing" : fmt::format("{}", fmt::join(steps, ", "));
}

std::string ListText(const std::vector<Runtime>& runtimes, std::size_t max_width) {
  Table table({"runtime", "devices", "fuses", "attention", "math", "launch", "selection", "layout",
               "update"},
              {true, true, true, true, true, true, true, true, true});
  for (const Runtime& runtime : runtimes) {
    table.Add({Printable(runtime.id), Printable(OrAll(runtime.vendors)), Fused(runtime),
               std::string(Name(runtime.attention)), std::string(Name(runtime.math)),
               runtime.eager ? "eager" : "graph", std::string(Name(runtime.selection)),
               runtime.converts ? "file" : "kernels", std::string(Name(runtime.update))});
  }
  table.MayStandBelow("fuses");
  table.MayDrop({"update", "layout", "selection", "launch", "math", "devices"});
  return table.Fit(max_width, "--format json has them") +
         fmt::format(
             "\n{} is assumed where none is given; dlcost runtimes NAME tells the source of "
             "each entry.\n",
             kDefaultRuntime);
}

constexpr std::size_t kLongest = 400;  // characters of what a file says

std::string DetailText(const Runtime& runtime) {
  std::string text = fmt::format("{}: {}\n", Printable(runtime.id), Printable(runtime.name));
  if (!runtime.aliases.empty()) {
    text += fmt::format("also      {}\n",
                        Printable(fmt::format("{}", fmt::join(runtime.aliases, ", "))));
  }
  text += fmt::format("devices   {}\n\n", Printable(OrAll(runtime.vendors)));
  for (const RuntimePart& part : runtime.parts) {
    text += fmt::format("{:<10}{}{}\n", part.name, part.value,
                        part.meaning.empty() ? "" : ": " + Printable(part.meaning, kLongest));
    text += fmt::format("{:<10}  source: {}\n", "", Printable(part.source, kLongest));
  }
  return text;
}

Json ToJson(const Runtime& runtime) {
  Json parts = Json::array();
  for (const RuntimePart& part : runtime.parts) {
    parts.push_back({{"part", part.name},
                     {"value", part.value},
                     {"meaning", part.meaning},
                     {"source", part.source}});
  }
  return {{"id", runtime.id},           {"name", runtime.name}, {"aliases", runtime.aliases},
          {"vendors", runtime.vendors}, {"parts", parts},       {"file", runtime.file}};
}

// docs/schema/runtimes.schema.json
std::string JsonText(const std::vector<Runtime>& runtimes) {
  Json json = {{"schema", "dlcost.runtimes/1"}, {"default", kDefaultRuntime}};
  json["runtimes"] = Json::array();
  for (const Runtime& runtime : runtimes) json["runtimes"].push_back(ToJson(runtime));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int Run(const Options& options) {
  RequireOneOf("--format", options.format, {"text", "json"});
  const std::vector<std::string> directories = OpenDatabase().directories();
  const bool all = options.name.empty();
  const std::vector<Runtime> runtimes =
      all ? AllRuntimes(directories) : std::vector{FindRuntime(options.name, directories)};
  WriteRendered(options.output, options.format,
                options.format == "json" ? JsonText(runtimes)
                : all                    ? ListText(runtimes, WidthOf(options.output))
                                         : DetailText(runtimes.front()));
  return 0;
}

}  // namespace

void AddRuntimesCommand(Commands& commands) {
  auto options = std::make_shared<Options>();
  CLI::App* app = commands.app.add_subcommand(
      "runtimes", "the frameworks and libraries that --runtime knows, and what each assumes");
  app->footer(kExamples);
  app->add_option("runtime", options->name, "an id, an alias or a YAML file; none: list all")
      ->type_name("NAME");
  AddOutputOptions(*app, options->format, options->output);
  app->callback([&commands, options] { commands.run = [options] { return Run(*options); }; });
}

}  // namespace dlcost
