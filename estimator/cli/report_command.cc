#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/cli/progress.h"
#include "estimator/core/error.h"
#include "estimator/core/shell.h"
#include "estimator/regress/page.h"
#include "estimator/report/comparison.h"
#include "estimator/report/kernel_views.h"
#include "estimator/report/plot.h"
#include "estimator/report/render.h"
#include "estimator/report/viewers.h"
#include "estimator/request/annotated_model.h"
#include "estimator/request/memory_fit.h"

namespace dlcost {
namespace {

struct ReportArguments {
  ModelOptions model;
  DeviceOptions device;
  CountOptions count;
  std::string by = "op";
  std::string view = "table";
  std::string node;
  std::vector<std::string> columns;
  std::string format = "text";
  std::string output;
  std::size_t top = 0;
  std::optional<std::size_t> depth;
  bool strict = false, exact = false;
  bool plot = false;
};

constexpr const char* kReportExamples =
    "Examples:\n"
    "  dlcost resnet50.onnx --gpu a100\n"
    "  dlcost bert.onnx --gpu h100 --batch 32 --dim seq=512 --math tf32 --top 20\n"
    "  dlcost llama.onnx --gpu h100 --by layer\n"
    "  dlcost model.onnx --by node --format csv -o nodes.csv\n"
    "  gunzip -c model.onnx.gz | dlcost - --gpu a100\n"
    "  dlcost ocr.onnx --dim 'x[2]=48' --dim 'x[3]=192'\n"
    "  dlcost speech.onnx --dim tokens=64 --at '/encoder/ReduceSum=[310]'\n"
    "  dlcost experts.onnx --at '*NonZero*=25%'\n"
    "  dlcost detector.onnx --assume typical\n";

GroupBy GroupByOf(const std::string& by) {
  RequireOneOf("--by", by, {"op", "scope", "phase", "story", "layer", "node", "kernel"});
  if (by == "story") return GroupBy::kStory;
  if (by == "layer") return GroupBy::kLayer;
  if (by == "phase") return GroupBy::kPhase;
  if (by == "scope") return GroupBy::kScope;
  if (by == "node") return GroupBy::kNode;
  return by == "kernel" ? GroupBy::kKernel : GroupBy::kOp;
}

// Every kernel, one after another.
bool IsForViewers(const ReportArguments& options) {
  return options.format == "perfetto" || options.format == "speedscope";
}

// Throws Error where an option would change nothing, with the command in which it does.
void RequireApplicable(const ReportArguments& options) {
  struct Given {
    const char* name;
    bool given;
    std::string text;  // as a person would type it
  };
  const std::string path = ShellWord(options.model.path);
  const Given by{"--by", options.by != "op", "--by " + options.by};
  const Given top{"--top", options.top != 0, fmt::format("--top {}", options.top)};
  const Given depth{"--depth", options.depth.has_value(),
                    fmt::format("--by scope --depth {}", options.depth.value_or(0))};
  const Given view{"--view", options.view != "table", "--view " + options.view};
  const Given plot{"--plot", options.plot, "--plot"};
  const Given node{"--node", !options.node.empty(), "--node " + ShellWord(options.node)};
  const Given columns{"--columns", !options.columns.empty(),
                      fmt::format("--columns {}", fmt::join(options.columns, ","))};
  const Given format{"--format", options.format != "text", "--format " + options.format};
  const auto refuse = [&](const std::string& where, std::initializer_list<Given> without,
                          const std::string& device) {
    for (const Given& option : without) {
      if (!option.given) continue;
      const bool view_work = option.name == std::string("--node");
      const std::string on = device.empty() && (view_work || option.name == std::string("--view"))
                                 ? " --gpu a100"
                                 : device;
      throw Error("{} changes nothing {}; try: dlcost {}{} {}{}", option.name, where, path, on,
                  view_work ? "--view work " : "", option.text);
    }
  };
  std::string device;
  if (!options.device.gpu.empty()) device = " --gpu " + ShellWord(options.device.gpu);
  if (NamesSeveralDevices(options.device)) {
    const std::string first = options.device.gpu.substr(0, options.device.gpu.find(','));
    device = first == "all" ? " --gpu a100" : " --gpu " + ShellWord(first);
    refuse("with several devices", {by, depth, view, plot, node, columns}, device);
    if (options.device.gpu != "all" || options.format == "html") {
      refuse("with several devices but in a ranking, --gpu all", {top}, device);
    }
    return;
  }
  if (options.view != "table") {
    refuse("with " + view.text, {by, top, depth, plot, format, columns}, device);
    if (options.view != "work") refuse("with " + view.text, {node}, device);
    return;
  }
  refuse("without --view work", {node}, device);
  if (options.format != "text") refuse("with " + format.text, {plot, columns}, device);
  const bool whole = options.format == "json" || options.format == "html" ||
                     options.format == "onnx" || IsForViewers(options);
  if (whole) refuse("with " + format.text + ", which has every row", {by, top}, device);
  const bool layers = options.by == "layer";
  if (layers && options.format == "markdown") {
    throw Error("--by layer is for text and csv; try: dlcost {}{} --by scope --format markdown",
                path, device);
  }
  if (layers && top.given) {
    throw Error("--top changes nothing with --by layer; try: dlcost {}{} --by layer --depth 1",
                path, device);
  }
  if (!whole && options.by != "scope" && !layers) {
    if (depth.given) {
      throw Error("--depth changes nothing without --by scope or layer; try: dlcost {}{} {}", path,
                  device, depth.text);
    }
  }
}

// What the rendering shows of the report.
ReportDetail DetailShown(const ReportArguments& options, GroupBy by) {
  if (options.format == "html") return ReportDetail::kSteps;
  if (NamesSeveralDevices(options.device)) return ReportDetail::kOperators;
  if (options.format == "json" || options.format == "onnx") return ReportDetail::kOperands;
  if (options.view != "table" || options.plot) return ReportDetail::kRows;
  if (IsForViewers(options)) return ReportDetail::kRows;
  if (by == GroupBy::kOp || by == GroupBy::kPhase) return ReportDetail::kOperators;
  return by == GroupBy::kScope ? ReportDetail::kScopes : ReportDetail::kRows;
}

// Products that would run as one are found by their operands, which take as much memory as all the
// rest: beyond this many nodes only JSON and the page tell them.
constexpr std::size_t kMostForMerges = 20'000;

bool ShowsMerges(const ReportArguments& options, const InferredModel& model) {
  const bool text = options.format == "text" || options.format == "markdown";
  return text && options.view == "table" && !options.plot && model.nodes.size() <= kMostForMerges;
}

std::string PlotOf(const Report& report) {
  PlotOptions plot;
  if (const std::size_t width = TerminalWidth(); width != 0)
    plot.width = std::min(width, plot.width);
  const std::string text = RenderPlot(report, plot);
  if (text.empty()) throw Error("--plot needs a device (--gpu) and a model with arithmetic");
  return text;
}

// The model's own file with what the report says of its nodes.
void WriteAnnotated(const ReportArguments& options, const Report& report) {
  if (options.output.empty()) {
    throw Error("--format onnx writes a model: add -o {}", "annotated.onnx");
  }
  std::error_code none;
  if (std::filesystem::equivalent(options.model.path, options.output, none)) {
    throw Error("-o {}: this is the model itself; write another file", Printable(options.output));
  }
  RequireAnnotatable(options.model);
  WriteOutput(options.output,
              [&](const TextSink& sink) { WriteAnnotatedModel(options.model, report, sink); });
}

// 1 where more is open than the user allows.
int ExitCode(const ReportArguments& options, const std::vector<UnknownRow>& unknown,
             const Certainty& certainty) {
  return (options.strict && !unknown.empty()) || (options.exact && !certainty.Exact()) ? 1 : 0;
}

// One page with a report for each device.
int RunPages(const ReportArguments& options, const ReportOptions& report_options) {
  const auto [devices, left_out] = FindServedDevices(options.device, options.count);
  InferredModel model = InferModel(options.model);
  if (!left_out.empty()) model.notes.push_back(left_out);
  std::deque<Report> reports;  // the page points into it
  std::vector<HtmlReport> pages;
  Progress progress(static_cast<std::int64_t>(devices.size()), "devices");
  for (const Device& device : devices) {
    reports.push_back(BuildReport(model, device, report_options));
    pages.push_back({&reports.back(), &device});
    progress.Add();
  }
  WritePage(options.output, PageOf(pages));
  return ExitCode(options, reports.front().unknown, reports.front().certainty);
}

// Several devices side by side, or all of them ranked.
int RunComparison(const ReportArguments& options, const ReportOptions& report_options) {
  if (options.format == "html") return RunPages(options, report_options);
  RequireOneOf("--format (of several devices)", options.format, {"text", "json", "csv", "html"});
  const auto [devices, left_out] = FindServedDevices(options.device, options.count);
  InferredModel model = InferModel(options.model);
  if (!left_out.empty()) model.notes.push_back(left_out);
  const bool ranked = options.device.gpu == "all";
  Progress progress(static_cast<std::int64_t>(devices.size()), "devices");
  const DeviceComparison comparison =
      CompareDevices(model, devices, report_options, ranked, options.top, [&] { progress.Add(); });
  WriteRendered(options.output, options.format,
                options.format == "json"  ? ComparisonJson(comparison)
                : options.format == "csv" ? ComparisonCsv(comparison)
                                          : ComparisonText(comparison, WidthOf(options.output)));
  return ExitCode(options, comparison.unknown, comparison.certainty);
}

int RunReportCommand(ReportArguments options) {
  const GroupBy by = GroupByOf(options.by);
  RequireOneOf("--format", options.format,
               {"text", "json", "csv", "markdown", "html", "perfetto", "speedscope", "onnx"});
  RequireOneOf("--view", options.view, {"table", "gemm", "work"});
  if (by == GroupBy::kPhase && options.model.train.empty()) throw Error("--by phase needs --train");
  RequireApplicable(options);
  ReportOptions report_options = ReportOptionsOf(options.count, options.device, options.model);
  options.model.plan = report_options.plan;
  constexpr std::size_t kModules = 2, kEveryLayer = 0;
  report_options.scope_depth =
      options.depth.value_or(by == GroupBy::kLayer ? kEveryLayer : kModules);
  report_options.detail = DetailShown(options, by);
  if (NamesSeveralDevices(options.device)) return RunComparison(options, report_options);
  const std::optional<Device> device = FindDevice(options.device);
  // Kept to the end of the process, which comes next: to free a large model piece by piece takes a
  // tenth of the time that it takes to report on it.
  const std::vector<std::string> found = ResolveFit(options.model, device, report_options);
  static InferredModel& model = *new InferredModel(InferModel(options.model));
  model.notes.insert(model.notes.begin(), found.begin(), found.end());
  if (device && ShowsMerges(options, model)) report_options.detail = ReportDetail::kOperands;
  static const Report& report = *new Report(BuildReport(model, device, report_options));
  std::string content;
  const int status = ExitCode(options, report.unknown, report.certainty);
  if (options.view == "table" && options.format == "json") {
    WriteOutput(options.output, [](const TextSink& sink) { WriteJson(report, sink); });
    return status;
  }
  if (options.format == "onnx" && options.view == "table") {
    WriteAnnotated(options, report);
    return status;
  }
  if (options.view == "gemm") {
    content = RenderGemmView(report, WidthOf(options.output));
  } else if (options.view == "work") {
    content = RenderWorkView(report, options.node);
  } else if (options.format == "csv") {
    content = RenderCsv(report, by, options.top);
  } else if (options.format == "markdown") {
    content = RenderMarkdown(report, by, options.top);
  } else if (options.format == "perfetto") {
    content = RenderPerfetto(report);
  } else if (options.format == "speedscope") {
    content = RenderSpeedscope(report);
  } else if (options.format == "html") {
    WritePage(options.output, PageOf({{&report, device ? &*device : nullptr}}));
    return status;
  } else {
    const bool terminal = WidthOf(options.output) != 0;
    content = RenderText(report, {.by = by,
                                  .top = options.top,
                                  .max_width = WidthOf(options.output),
                                  .columns = options.columns,
                                  .colour = terminal && std::getenv("NO_COLOR") == nullptr,
                                  .blocks = terminal && ShowsBlocks()});
    if (options.plot) content += "\n" + PlotOf(report);
  }
  const bool however_wide = options.columns == std::vector<std::string>{"all"};
  if (however_wide) {
    WriteOutput(options.output, content);
  } else {
    WriteRendered(options.output, options.format, content);
  }
  return status;
}

}  // namespace

void AddReportCommand(Commands& commands) {
  auto options = std::make_shared<ReportArguments>();
  CLI::App* app = commands.app.add_subcommand("report", "what a model costs (the default command)");
  app->footer(kReportExamples);
  AddModelOptions(*app, options->model, "model", Search::kFit);
  AddDeviceOptions(*app, options->device, Devices::kSeveral);
  AddCountOptions(*app, options->count);
  app->add_option(
         "--by", options->by,
         "rows: op, scope (module), phase (with --train), story (what kernels do: conv + relu), "
         "layer (modules with what they run, repeated ones as one), node or kernel")
      ->type_name("WHAT")
      ->capture_default_str();
  app->add_option(
         "--depth", options->depth,
         "levels of modules to open, 0: all; without it 2 with --by scope, all with --by layer")
      ->type_name("N");
  app->add_option(
         "--view", options->view,
         "table; gemm: products with tiles, waves and padding; work: what kernels execute, "
         "term by term")
      ->type_name("VIEW")
      ->capture_default_str();
  app->add_option("--node", options->node, "only the kernel of this node, with --view work")
      ->type_name("NAME");
  app->add_option("--top", options->top,
                  "only the N most expensive rows; with --gpu all, the N fastest devices")
      ->type_name("N");
  app->add_option("--columns", options->columns,
                  "columns of the table, e.g. macs,expected,limited-by; all: however wide")
      ->type_name("NAMES")
      ->delimiter(',');
  app->add_option("--format", options->format,
                  "text, json, csv, markdown or html; perfetto or speedscope: a file for these "
                  "viewers; onnx: the "
                  "model with its costs as metadata of nodes, which Netron shows")
      ->type_name("FORMAT")
      ->capture_default_str();
  app->add_option("-o,--output", options->output, "write to a file")->type_name("FILE");
  app->add_flag("--plot", options->plot, "draw the roofline under the table");
  app->add_flag("--strict", options->strict, "exit with 1 when anything is unknown");
  app->add_flag("--exact", options->exact,
                "exit with 1 when anything is unknown, an upper bound or assumed");
  app->callback(
      [&commands, options] { commands.run = [options] { return RunReportCommand(*options); }; });
}

}  // namespace dlcost
