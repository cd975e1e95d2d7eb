#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/core/error.h"
#include "estimator/profile_report/render.h"
#include "estimator/profiles/add_counters.h"
#include "estimator/profiles/reader.h"

namespace dlcost {
namespace {

struct Options {
  std::vector<std::string> files, counters;
  DeviceOptions device;
  std::string read_as, dtype, title, output;
  std::string format = "text";
  std::size_t top = 20;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  dlcost measured ncu.csv --gpu a100\n"
    "  dlcost measured trace.json.gz --format html -o trace.html\n"
    "  dlcost measured trace.json.gz --counters ncu.csv --gpu a100\n"
    "How to measure: docs/measuring.md.\n";

// One line that a terminal rewrites, for files that take longer than a moment.
class Progress {
 public:
  explicit Progress(const std::string& path) : path_(Printable(path, 60)) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    // What a compressed file unpacks to is not known.
    if (!error && !path.ends_with(".gz")) size_ = size;
  }
  ~Progress() {
    if (shown_) std::fprintf(stderr, "\r\x1b[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(std::uint64_t bytes) {
    shown_ = true;
    const double read = static_cast<double>(bytes);
    std::fprintf(stderr, "\r%s: %.0f MB read", path_.c_str(), read / 1e6);
    if (size_ > 0) std::fprintf(stderr, ", %.0f %%", 100 * read / static_cast<double>(size_));
  }

 private:
  std::string path_;
  std::uintmax_t size_ = 0;
  bool shown_ = false;
};

Measurement Read(const std::string& path, const std::string& format) {
  Progress progress(path);
  ReadOptions options{.format = format, .progress = nullptr};
  if (isatty(STDERR_FILENO) != 0) {
    options.progress = [&](std::uint64_t bytes) { progress.Show(bytes); };
  }
  return ReadMeasurementFile(path, options);
}

// Counters of the same launches, taken in other runs; notes say how many found their launch.
void AddCountersOf(const std::vector<std::string>& paths, Measurement& trace) {
  for (const std::string& path : paths) {
    const Measurement counters = Read(path, "");
    const AddedCounters added = AddCounters(trace, counters);
    if (added.launches == 0) {
      throw Error("{}: none of the {} launches in {} is one that it counts: files of one program?",
                  Printable(path), added.of, Printable(trace.path));
    }
    trace.notes.push_back(fmt::format("counters of {} of {} launches from {}", added.launches,
                                      added.of, Printable(path)));
    if (added.left_over > 0) {
      trace.notes.push_back(fmt::format("{} launches in {} are none of the trace's",
                                        added.left_over, Printable(path)));
    }
  }
}

std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

int Run(const Options& options) {
  RequireOneOf("--format", options.format, {"text", "json", "csv", "markdown", "html"});
  const std::optional<Device> device = FindDevice(options.device);
  ProfileReportOptions report_options{.device = device ? &*device : nullptr};
  if (!options.dtype.empty()) {
    const auto type = ParseDType(options.dtype);
    report_options.format = ParseNumberFormat(options.dtype);
    if (!report_options.format && type) report_options.format = FormatOf(*type);
    if (!report_options.format) {
      throw Error("--dtype '{}' is no type of arithmetic; try fp32, tf32, fp16, bf16, fp64 or int8",
                  Printable(options.dtype));
    }
  }
  if (!options.counters.empty() && options.files.size() > 1) {
    throw Error("--counters belong to the launches of one file; {} are given",
                options.files.size());
  }
  std::vector<ProfileReport> reports;
  for (const std::string& path : options.files) {
    Measurement measurement = Read(path, options.read_as);
    AddCountersOf(options.counters, measurement);
    reports.push_back(BuildProfileReport(measurement, report_options));
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
    std::string title = options.title;
    if (title.empty()) title = "dlcost: " + Printable(FileName(options.files.front()), 80);
    out = RenderProfileHtml(reports, report_options, title);
  } else {
    for (const ProfileReport& report : reports) {
      if (!out.empty()) out += "\n";
      out += options.format == "markdown"
                 ? RenderProfileMarkdown(report, report_options, options.top)
                 : RenderProfileText(report, report_options,
                                     {.top = options.top, .width = TerminalWidth(), .plot = {}});
    }
  }
  WriteOutput(options.output, out);
  return 0;
}

}  // namespace

void AddMeasuredCommand(Commands& commands) {
  auto options = std::make_shared<Options>();
  CLI::App* app = commands.app.add_subcommand(
      "measured", "what a profile alone tells: rates, roofline, idle time, sums");
  app->footer(kExamples);
  app->add_option("file", options->files, "a profiler's file; its format is found out by content")
      ->required()
      ->type_name("FILE");
  app->add_option("--counters", options->counters,
                  "counters of the same launches in another run: times, gaps and operators stay "
                  "those of the file")
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
  app->callback([&commands, options] { commands.run = [options] { return Run(*options); }; });
}

}  // namespace dlcost
