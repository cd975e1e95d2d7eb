#include <algorithm>
#include <deque>
#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/model_needed.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/cli/progress.h"
#include "estimator/cli/read_profile.h"
#include "estimator/compare/compare.h"
#include "estimator/compare/kernel_measurements.h"
#include "estimator/core/error.h"
#include "estimator/regress/page.h"
#include "estimator/request/known_device.h"
#include "estimator/request/source.h"

namespace dlcost {
namespace {

struct HtmlArguments {
  Source source;
  std::vector<std::string> more, gpus;
  std::vector<std::string> measured, traces;
  std::string title;
  std::string output;
};

constexpr const char* kHtmlExamples =
    "Each file is an ONNX model or a report (--format json); several files, or several devices, "
    "are\n"
    "compared on one page.\n"
    "Examples:\n"
    "  dlcost html model.onnx --gpu a100 -o model.html\n"
    "  dlcost html model.onnx --gpu a100 --gpu h100 -o devices.html\n"
    "  dlcost html old.json new.json -o releases.html\n"
    "  dlcost html model.onnx --gpu t4 --measured nvprof.csv -o measured.html\n";

// Ids of the devices; several may be given at once, with commas. One empty name for none.
std::vector<std::string> DevicesOfPage(const HtmlArguments& options) {
  std::vector<std::string> names;
  for (const std::string& gpu : options.gpus) {
    DeviceOptions device = options.source.device;
    device.gpu = gpu;
    if (!NamesSeveralDevices(device)) {
      names.push_back(gpu);
      continue;
    }
    for (const Device& one : FindDevices(device)) names.push_back(one.id);
  }
  if (names.empty()) names.emplace_back();
  return names;
}

// What the files tell of each kernel of the report.
std::vector<KernelMeasurement> Measured(const HtmlArguments& options, const Report& report,
                                        const std::optional<Device>& device) {
  const auto read = [](const std::vector<std::string>& paths) {
    std::vector<Measurement> measurements;
    for (const std::string& path : paths)
      measurements.push_back(ReadProfile(path, {.ranges_alone = true}));
    return measurements;
  };
  const auto comparison = Compare(report, read(options.measured), read(options.traces), device);
  RequireBelief(comparison);
  return KernelMeasurements(comparison, report);
}

int RunHtmlCommand(const HtmlArguments& options, const CLI::App& app,
                   const Applicability& applies) {
  std::vector<std::string> files = {options.source.model.path};
  files.insert(files.end(), options.more.begin(), options.more.end());
  RequireModelFor(app, files, applies);
  const std::vector<std::string> gpus = DevicesOfPage(options);
  std::deque<Report> reports;  // the page points into both
  std::deque<std::optional<Device>> devices;
  std::vector<HtmlReport> page;
  std::optional<Progress> progress;
  const std::size_t all = files.size() * gpus.size();
  if (all > 1) progress.emplace(static_cast<std::int64_t>(all), "reports");
  for (const std::string& file : files) {
    for (const std::string& gpu : gpus) {
      Source source = options.source;
      source.model.path = file;
      source.device.gpu = gpu;
      source.detail = ReportDetail::kSteps;
      source.keeps_model = true;
      reports.push_back(LoadReport(source));
      // A path to a device file is what was given; a report only has the id.
      devices.push_back(gpu.empty() ? KnownDevice(reports.back(), source.device)
                                    : FindDevice(source.device));
      page.push_back({&reports.back(), devices.back() ? &*devices.back() : nullptr});
      if (progress) progress->Add();
    }
  }
  progress.reset();
  if (!options.measured.empty() || !options.traces.empty()) {
    if (page.size() != 1) throw Error("--measured is for one model on one device");
    page[0].measured = Measured(options, reports.front(), devices.front());
  }
  WritePage(options.output, PageOf(page, options.title));
  return 0;
}

}  // namespace

void AddHtmlCommand(Commands& commands) {
  auto options = std::make_shared<HtmlArguments>();
  CLI::App* app = commands.app.add_subcommand("html", "a page with charts, of one or more reports");
  app->footer(kHtmlExamples);
  AddModelOptions(*app, options->source.model);
  app->add_option("more", options->more, "further models or reports")->type_name("FILE");
  AddDeviceOptions(*app, options->source.device);
  app->remove_option(app->get_option("--gpu"));
  app->add_option("--gpu,--device", options->gpus, "device id or alias; may be given several times")
      ->group(kDeviceHeading)
      ->type_name("ID")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  AddCountOptions(*app, options->source.count);
  for (const auto& [name, files] :
       {std::pair("--measured", &options->measured), std::pair("--trace", &options->traces)}) {
    app->add_option(name, *files, "a profiler's file (docs/measuring.md): measured times")
        ->type_name("FILE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  app->add_option("--title", options->title, "title of the page")->type_name("TEXT");
  app->add_option("-o,--output", options->output, "write to a file")->type_name("FILE");
  app->callback([&commands, options, app] {
    commands.run = [&commands, options, app] {
      return RunHtmlCommand(*options, *app, Applicability(commands.words));
    };
  });
}

}  // namespace dlcost
