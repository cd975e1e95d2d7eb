#include "estimator/cli/model_needed.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "estimator/cli/options.h"
#include "estimator/core/error.h"
#include "estimator/core/shell.h"
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

// What of the command line the models need besides: what their reports were made for.
std::string ConditionsOf(const std::vector<Report>& reports, const std::vector<std::string>& given,
                         bool device_given) {
  const Report& first = reports.front();
  const auto device = [](const Report& report) {
    return report.device ? report.device->id : std::string();
  };
  const auto alike = [&](const auto& what) {
    return std::all_of(reports.begin(), reports.end(),
                       [&](const Report& report) { return what(report) == what(first); });
  };
  std::string text;
  if (!device_given && !device(first).empty() && alike(device)) {
    text += " --gpu " + ShellWord(device(first));
  }
  const auto sizes = {"--batch", "--dim", "--input"};
  const bool sized = std::any_of(given.begin(), given.end(), [&](const std::string& option) {
    return std::find(sizes.begin(), sizes.end(), option) != sizes.end();
  });
  if (sized || !alike([](const Report& report) { return report.model.dims; })) return text;
  for (const auto& [name, size] : first.model.dims) {
    text += " --dim " + ShellWord(fmt::format("{}={}", name, size));
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
  const bool device_given = app.get_option("--gpu")->count() > 0;
  throw Error("{} changes nothing of {}; try: {}{}", given.front(),
              files.size() == 1 ? "a finished report" : "finished reports", applies.With(models),
              ConditionsOf(reports, given, device_given));
}

}  // namespace dlcost
