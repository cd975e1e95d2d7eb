#include "estimator/cli/model_needed.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "estimator/cli/options.h"
#include "estimator/core/error.h"
#include "estimator/core/shell.h"
#include "estimator/infer/open_dims.h"
#include "estimator/open/open_model.h"
#include "estimator/regress/report_reader.h"
#include "estimator/request/source.h"

namespace dlcost {
namespace {

// Options that are given, as "--cache".
std::vector<std::string> GivenOfModels(const CLI::App& app) {
  const std::set<std::string> headings = {kModelHeading, kTrainingHeading, kDeviceHeading,
                                          kCountHeading};
  std::vector<std::string> given;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    if (headings.count(option->get_group()) != 0 && name != "gpu") given.push_back("--" + name);
  }
  return given;
}

bool Holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What stands before the last `mark` of each value that is given to an option: "x" of "x:1x3".
std::vector<std::string> NamesGivenTo(const CLI::App& app, const std::string& option, char mark) {
  std::vector<std::string> names;
  for (const std::string& text : app.get_option(option)->results()) {
    names.push_back(text.substr(0, text.rfind(mark)));
  }
  return names;
}

// Dimensions that the command line binds itself. Where the model cannot be read, its batches are
// known by their names.
std::set<std::string> BoundDims(const CLI::App& app, const Report& report) {
  std::set<std::string> bound;
  for (const std::string& name : NamesGivenTo(app, "--dim", '=')) bound.insert(name);
  const bool batch = app.get_option("--batch")->count() > 0;
  const std::vector<std::string> inputs = NamesGivenTo(app, "--input", ':');
  if (!batch && inputs.empty()) return bound;
  try {
    const std::vector<OpenDim> open = OpenDimsOf(OpenModel(report.model.path));
    if (batch) bound.merge(BatchDims(open));
    for (const OpenDim& dim : open) {
      for (const OpenDim::Place& place : dim.places) {
        if (Holds(inputs, place.input)) bound.insert(dim.key);
      }
    }
  } catch (const Error&) {
    for (const auto& [name, size] : report.model.dims) {
      if (ClassifyDimName(name) == DimName::kBatch) bound.insert(name);
    }
  }
  return bound;
}

// An option that makes a report what it is, and its value there; "": as without it.
struct Condition {
  const char* option;
  std::function<std::string(const Report&)> value;
};
const std::vector<Condition>& Conditions() {
  const auto of_step = [](auto value) {
    return [value](const Report& report) {
      return report.step == nullptr ? std::string() : value(*report.step);
    };
  };
  static const std::vector<Condition> kAll = {
      {"--gpu", [](const Report& report) { return report.device ? report.device->id : ""; }},
      {"--train", of_step([](const StepFacts& step) { return step.optimizer; })},
      {"--loss", of_step([](const StepFacts& step) { return step.loss; })},
      {"--precision",
       [](const Report& report) {
         // Reports of earlier releases tell that of a step alone.
         const std::string& asked = report.options.model.precision;
         return asked.empty() && report.step != nullptr ? report.step->precision : asked;
       }},
      {"--recompute", of_step([](const StepFacts& step) {
         return step.recompute == ModelOptions().recompute ? "" : step.recompute;
       })},
      {"--accumulate", of_step([](const StepFacts& step) {
         return step.micro_batches == Count(1) ? "" : fmt::format("{}", step.micro_batches);
       })},
      {"--dtype", [](const Report& report) { return report.options.model.dtype; }},
      {"--assume", [](const Report& report) { return report.options.model.assume; }},
      {"--runtime",
       [](const Report& report) {
         return report.options.runtime_given ? report.options.runtime : "";
       }},
      {"--convention",
       [](const Report& report) {
         const std::string& convention = report.options.convention;
         return convention == CountOptions().convention ? "" : convention;
       }},
      {"--cache",
       [](const Report& report) {
         const std::string cache(Name(report.options.run.cache));
         return cache == DeviceOptions().cache ? "" : cache;
       }},
  };
  return kAll;
}

// The same of options that are given more than once.
constexpr struct {
  const char* option;
  std::vector<std::string> ModelQuestion::*texts;
} kLists[] = {{"--freeze", &ModelQuestion::frozen},
              {"--at", &ModelQuestion::at},
              {"--trips", &ModelQuestion::trips},
              {"--branch", &ModelQuestion::branches},
              {"--value", &ModelQuestion::values}};

// What of the command line the models need besides: what their reports were made for.
std::string ConditionsOf(const CLI::App& app, const std::vector<Report>& reports,
                         const std::vector<std::string>& given) {
  const Report& first = reports.front();
  const auto alike = [&](const auto& what) {
    return std::all_of(reports.begin(), reports.end(),
                       [&](const Report& report) { return what(report) == what(first); });
  };
  std::string text;
  for (const Condition& condition : Conditions()) {
    const std::string value = condition.value(first);
    const CLI::Option* option = app.get_option_no_throw(condition.option);
    if (value.empty() || option == nullptr || option->count() > 0) continue;
    // One of them chooses the types.
    if (condition.option == std::string("--precision") && Holds(given, "--dtype")) continue;
    if (condition.option == std::string("--dtype") && Holds(given, "--precision")) continue;
    if (alike(condition.value)) text += fmt::format(" {} {}", condition.option, ShellWord(value));
  }
  for (const auto& [option, texts] : kLists) {
    const CLI::Option* known = app.get_option_no_throw(option);
    const auto list = [of = texts](const Report& report) { return report.options.model.*of; };
    if (known == nullptr || known->count() > 0 || !alike(list)) continue;
    for (const std::string& each : list(first)) {
      text += fmt::format(" {} {}", option, ShellWord(each));
    }
  }
  if (!alike([](const Report& report) { return report.model.dims; })) return text;
  const std::set<std::string> bound = BoundDims(app, first);
  for (const auto& [name, size] : first.model.dims) {
    if (bound.count(name) == 0) text += " --dim " + ShellWord(fmt::format("{}={}", name, size));
  }
  return text;
}

}  // namespace

void RequireModelFor(const CLI::App& app, const std::vector<std::string>& files,
                     const Applicability& applies) {
  const std::vector<std::string> given = GivenOfModels(app);
  if (given.empty() || !std::all_of(files.begin(), files.end(), IsReportFile)) return;
  std::vector<Report> reports;
  std::map<std::string, std::string> models;
  for (const std::string& file : files) {
    models[file] = reports.emplace_back(ReadReport(file)).model.path;
  }
  throw Error("{} changes nothing of {}; try: {}{}", given.front(),
              files.size() == 1 ? "a finished report" : "finished reports", applies.With(models),
              ConditionsOf(app, reports, given));
}

}  // namespace dlcost
