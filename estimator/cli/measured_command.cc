#include <fmt/format.h>

#include <memory>

#include "estimator/cli/applies.h"
#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/cli/read_profile.h"
#include "estimator/core/error.h"
#include "estimator/profile_report/render.h"
#include "estimator/profiles/one_run.h"

namespace dlcost {
namespace {

struct MeasuredArguments {
  std::vector<std::string> files, counters;
  DeviceOptions device;
  std::string read_as, dtype, title, output;
  std::string format = "text";
  std::size_t top = 20;
};

constexpr const char* kMeasuredExamples =
    "Examples:\n"
    "  dlcost measured ncu.csv --gpu a100\n"
    "  dlcost measured trace.json.gz --format html -o trace.html\n"
    "  dlcost measured trace.json.gz --counters ncu.csv --gpu a100\n"
    "How to measure: docs/measuring.md.\n";

int RunMeasuredCommand(const MeasuredArguments& options, const Applicability& applies) {
  RequireOneOf("--format", options.format, {"text", "json", "csv", "markdown", "html"});
  const std::string with = "with --format " + options.format;
  const bool people = options.format == "text" || options.format == "markdown";
  applies.Require(!people && options.top != MeasuredArguments().top, "--top", with,
                  {"--format", "-o", "--output"});
  applies.Require(options.format != "html" && !options.title.empty(), "--title", with,
                  {"--format", "-o", "--output"}, "--format html -o page.html");
  const std::optional<Device> device = FindDevice(options.device);
  ProfileReportOptions report_options{.device = device ? &*device : nullptr};
  if (!options.dtype.empty()) {
    report_options.format = ReadFlopFormat("--dtype", options.dtype);
  }
  std::vector<ProfileReport> reports;
  std::vector<Measurement> of_one_run;
  for (const std::string& path : options.files) {
    const bool one_run = !options.counters.empty();
    Measurement measurement =
        ReadProfile(path, {.format = options.read_as, .ranges_alone = one_run});
    if (one_run) {
      of_one_run.push_back(std::move(measurement));
    } else {
      reports.push_back(BuildProfileReport(measurement, report_options));
    }
  }
  if (!of_one_run.empty()) {
    std::vector<Measurement> counters;
    for (const std::string& path : options.counters) counters.push_back(ReadProfile(path));
    reports.push_back(BuildProfileReport(OneRun(std::move(of_one_run), counters), report_options));
  }
  if (options.format == "json") {
    WriteOutput(options.output,
                [&](const TextSink& sink) { WriteProfileJson(reports, report_options, sink); });
    return 0;
  }
  std::string out;
  if (options.format == "csv") {
    out = RenderProfileCsv(reports);
  } else if (options.format == "html") {
    out = RenderProfileHtml(reports, report_options, options.title);
  } else if (options.format == "markdown") {
    out = RenderProfilesMarkdown(reports, report_options, options.top);
  } else {
    out = RenderProfilesText(reports, report_options,
                             {.top = options.top, .width = WidthOf(options.output), .plot = {}});
  }
  WriteRendered(options.output, options.format, out);
  return 0;
}

}  // namespace

void AddMeasuredCommand(Commands& commands) {
  auto options = std::make_shared<MeasuredArguments>();
  CLI::App* app = commands.app.add_subcommand(
      "measured", "what a profile alone tells: rates, roofline, idle time, sums");
  app->footer(kMeasuredExamples);
  app->add_option("file", options->files, "a profiler's file; its format is found out by content")
      ->required()
      ->type_name("FILE");
  app->add_option("--counters", options->counters,
                  "counters of the same launches in another run: times, gaps and operators stay "
                  "those of the file; several files are then levels of one run")
      ->type_name("FILE");
  app->add_option("--gpu,--device", options->device.gpu, "device id or alias: its peaks and roofs")
      ->type_name("ID");
  app->add_option("--set", options->device.overrides,
                  "change a value of the device, e.g. --set memory.bandwidth=1.8TB/s")
      ->type_name("PATH=VALUE");
  app->add_option("--read-as", options->read_as, "read the files as this format")
      ->type_name("FORMAT");
  app->add_option("--dtype", options->dtype,
                  "type of FLOPs where the file does not tell it: fp32, tf32, fp16, ...")
      ->type_name("TYPE");
  app->add_option("--top", options->top, "only the first N rows of each table; 0: all")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--format", options->format, "text, json, csv, markdown or html")
      ->type_name("FORMAT")
      ->capture_default_str();
  app->add_option("--title", options->title, "title of the page")->type_name("TEXT");
  app->add_option("-o,--output", options->output, "write to a file")->type_name("FILE");
  app->callback([&commands, options] {
    commands.run = [&commands, options] {
      return RunMeasuredCommand(*options, Applicability(commands.words));
    };
  });
}

}  // namespace dlcost
