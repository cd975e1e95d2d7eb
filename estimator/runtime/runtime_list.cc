#include "estimator/runtime/runtime_list.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "estimator/core/error.h"
#include "estimator/report/table.h"

namespace dlcost {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongest = 400;  // characters of what a file says

std::string OrAll(const std::vector<std::string>& vendors) {
  return vendors.empty() ? "any" : fmt::format("{}", fmt::join(vendors, ", "));
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

}  // namespace

std::string FusedText(const Runtime& runtime) {
  std::vector<std::string> steps;
  for (const FusionStep step : FusionSteps()) {
    if (runtime.fuses.Has(step)) steps.emplace_back(Name(step));
  }
  return steps.empty() ? "nothing" : fmt::format("{}", fmt::join(steps, ", "));
}

std::string RuntimeListText(const std::vector<Runtime>& runtimes, std::size_t max_width) {
  Table table({"runtime", "devices", "fuses", "attention", "math", "launch", "selection", "layout",
               "update"},
              {true, true, true, true, true, true, true, true, true});
  for (const Runtime& runtime : runtimes) {
    table.Add({Printable(runtime.id), Printable(OrAll(runtime.vendors)), FusedText(runtime),
               std::string(Name(runtime.attention)), std::string(Name(runtime.math)),
               std::string(Name(runtime.launch)), std::string(Name(runtime.selection)),
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

std::string RuntimeText(const Runtime& runtime) {
  std::string text = fmt::format("{}: {}\n", Printable(runtime.id), Printable(runtime.name));
  if (!runtime.aliases.empty()) {
    text += fmt::format("also          {}\n",
                        Printable(fmt::format("{}", fmt::join(runtime.aliases, ", "))));
  }
  text += fmt::format("devices       {}\n\n", Printable(OrAll(runtime.vendors)));
  for (const RuntimePart& part : runtime.parts) {
    text += fmt::format("{:<14}{}{}\n", part.name, part.value,
                        part.meaning.empty() ? "" : ": " + Printable(part.meaning, kLongest));
    text += fmt::format("{:<14}  source: {}\n", "", Printable(part.source, kLongest));
  }
  return text;
}

std::string RuntimeListJson(const std::vector<Runtime>& runtimes) {
  Json json = {{"schema", "dlcost.runtimes/1"}, {"default", kDefaultRuntime}};
  json["runtimes"] = Json::array();
  for (const Runtime& runtime : runtimes) json["runtimes"].push_back(ToJson(runtime));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dlcost
