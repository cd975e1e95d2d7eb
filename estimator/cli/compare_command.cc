#include <fmt/ranges.h>

#include <cstdio>
#include <memory>

#include "estimator/cli/applies.h"
#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/cli/read_profile.h"
#include "estimator/compare/compare.h"
#include "estimator/core/error.h"
#include "estimator/profiles/number.h"

namespace dlcost {
namespace {

struct CompareArguments {
  ModelOptions model;
  DeviceOptions device;
  CountOptions count;
  std::vector<std::string> measured, traces;
  std::string measured_format, ratio, title, output;
  std::vector<std::string> by;
  std::string format = "text";
  std::size_t top = 0;
  std::int64_t runs = 0;  // 0: inferred
  bool force = false;
};

constexpr const char* kCompareExamples =
    "Examples:\n"
    "  dlcost compare model.onnx --gpu p4 --batch 1 --measured nvprof.csv\n"
    "  dlcost compare model.onnx --gpu h200 --measured ncu.csv --trace nsys_kernels.csv --ratio "
    "0.8:1.25\n"
    "How to measure: docs/measuring.md.\n";

std::pair<double, double> ParseRatio(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    const auto low = ParseNumber(text.substr(0, colon)), high = ParseNumber(text.substr(colon + 1));
    if (low && high && low->unit.empty() && high->unit.empty() && low->value >= 0 &&
        low->value <= high->value) {
      return {low->value, high->value};
    }
  }
  throw Error("--ratio '{}' is not LOW:HIGH, for example --ratio 0.8:1.25", Printable(text));
}

std::vector<Measurement> ReadAll(const std::vector<std::string>& paths, const std::string& format) {
  std::vector<Measurement> measurements;
  for (const std::string& path : paths) {
    measurements.push_back(ReadProfile(path, {.format = format, .ranges_alone = true}));
  }
  return measurements;
}

std::string RenderComparison(const Comparison& comparison, const std::optional<Device>& device,
                             const CompareArguments& options) {
  if (options.format == "json") return RenderCompareJson(comparison);
  if (options.format == "csv") return RenderCompareCsv(comparison);
  if (options.format == "html") {
    return RenderCompareHtml(comparison, device ? &*device : nullptr, options.title);
  }
  const CompareTextOptions text{
      .top = options.top, .by = options.by, .max_width = WidthOf(options.output)};
  if (options.format == "markdown") return RenderCompareMarkdown(comparison, text);
  return RenderCompareText(comparison, text);
}

int RunCompareCommand(const CompareArguments& options, const Applicability& applies) {
  RequireOneOf("--format", options.format, {"text", "json", "csv", "markdown", "html"});
  const std::string with = "with --format " + options.format;
  const bool people = options.format == "text" || options.format == "markdown";
  applies.Require(!people && options.top != 0, "--top", with, {"--format", "-o", "--output"});
  applies.Require(!people && !options.by.empty(), "--by", with, {"--format", "-o", "--output"});
  applies.Require(options.format != "html" && !options.title.empty(), "--title", with,
                  {"--format", "-o", "--output"}, "--format html -o page.html");
  for (const std::string& by : options.by)
    RequireOneOf("--by", by, {"layer", "op", "kernel", "algorithm"});
  if (options.measured.empty() && options.traces.empty()) {
    throw Error("nothing measured to compare with: give --measured FILE or --trace FILE");
  }
  std::optional<std::pair<double, double>> ratio;
  if (!options.ratio.empty()) ratio = ParseRatio(options.ratio);
  std::vector<Measurement> measured = ReadAll(options.measured, options.measured_format);
  std::vector<Measurement> traces = ReadAll(options.traces, "");
  const ReportOptions report_options =
      ReportOptionsOf(options.count, options.device, options.model);
  const std::optional<Device> device = FindDevice(options.device);
  ModelOptions model_options = options.model;
  model_options.plan = report_options.plan;
  const InferredModel model = InferModel(model_options);
  const Report report = BuildReport(model, device, report_options);
  CompareOptions compare_options;
  if (options.runs > 0) compare_options.runs = options.runs;
  const Comparison comparison =
      Compare(report, std::move(measured), std::move(traces), device, compare_options);
  if (!options.force) RequireBelief(comparison);
  WriteRendered(options.output, options.format, RenderComparison(comparison, device, options));
  if (!ratio) return 0;
  const std::vector<std::size_t> outside = RowsOutside(comparison, ratio->first, ratio->second);
  for (const std::size_t r : outside) {
    const CompareRow& row = comparison.rows[r];
    std::fprintf(stderr, "dlcost: %s: ratio %.6g is outside %s\n", Printable(row.node).c_str(),
                 *JudgedRatio(row), options.ratio.c_str());
  }
  return outside.empty() ? 0 : 1;
}

}  // namespace

void AddCompareCommand(Commands& commands) {
  auto options = std::make_shared<CompareArguments>();
  CLI::App* app =
      commands.app.add_subcommand("compare", "predicted against measured, per operator, and why");
  app->footer(kCompareExamples);
  AddModelOptions(*app, options->model);
  AddDeviceOptions(*app, options->device);
  AddCountOptions(*app, options->count);
  app->add_option("--measured", options->measured,
                  "a profiler's file; its format is found out by content")
      ->type_name("FILE");
  app->add_option("--trace", options->traces, "a file whose times count: a run without counters")
      ->type_name("FILE");
  app->add_option("--measured-format", options->measured_format, "read --measured as this format")
      ->type_name("FORMAT");
  app->add_option("--runs", options->runs, "how often the model ran in the files; inferred without")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}));
  app->add_flag("--force", options->force,
                "compare also with a file that does not look like this model");
  app->add_option("--ratio", options->ratio,
                  "exit with 1 when a row's measured/predicted is outside")
      ->type_name("LOW:HIGH");
  app->add_option("--by", options->by, "a table by layer, op, kernel (name) or algorithm as well")
      ->type_name("KEY")
      ->delimiter(',');
  app->add_option("--top", options->top,
                  "only the first N rows of each table; of operators the N that are furthest off")
      ->type_name("N");
  app->add_option("--format", options->format, "text, json, csv, markdown or html")
      ->type_name("FORMAT")
      ->capture_default_str();
  app->add_option("--title", options->title, "title of the page")->type_name("TEXT");
  app->add_option("-o,--output", options->output, "write to a file")->type_name("FILE");
  app->callback([&commands, options] {
    commands.run = [&commands, options] {
      return RunCompareCommand(*options, Applicability(commands.words));
    };
  });
}

}  // namespace dlcost
