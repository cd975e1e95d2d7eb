#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>

#include "estimator/cli/applies.h"
#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/cli/progress.h"
#include "estimator/cli/write_picture.h"
#include "estimator/core/error.h"
#include "estimator/request/sweep.h"

namespace dlcost {
namespace {

struct SweepArguments {
  ModelOptions model;
  DeviceOptions device;
  CountOptions count;
  std::optional<std::string> batch;
  std::vector<std::string> conditions;
  std::string price, rank;
  std::string buckets;
  std::string format = "text";
  std::string output;
  std::size_t top = 60;
  bool plot = false, yes = false, bounds = false;
};

constexpr const char* kSweepExamples =
    "Examples:\n"
    "  dlcost sweep resnet50.onnx --batch 1:1024:x2 --gpu a100,h100\n"
    "  dlcost sweep bert.onnx --batch 1,8,32 --dim sequence=128:512:128 --gpu a100 --plot\n"
    "  dlcost sweep bert.onnx --batch 1:256:x2 --dim sequence=128 --gpu a100,h100 --for "
    "'latency<=10ms' --price a100=1.6/h,h100=2.5/h --rank price\n"
    "  dlcost sweep bert.onnx --dim sequence=@lengths.csv --gpu t4\n"
    "  dlcost sweep resnet50.onnx --batch 16:512:x2 --train momentum --precision amp-fp16 --gpu "
    "a100\n"
    "  dlcost sweep bert.onnx --dim sequence=1:512 --format csv -o counts.csv\n";

std::vector<std::string> SplitAtCommas(const std::string& option, const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end == begin) throw Error("{} '{}': an empty name", option, Printable(text));
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Axes for what names several sizes; what names one stays among the bindings.
void TakeAxes(const SweepArguments& options, SweepRequest& request) {
  if (options.batch) request.axes.push_back({"", ParseSizeList("--batch", *options.batch)});
  std::erase_if(request.model.dims, [&](const std::string& text) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) return false;
    const std::string name = text.substr(0, equals);
    const std::string sizes = text.substr(equals + 1);
    if (!IsSizeList(sizes) && !sizes.empty()) return false;
    request.axes.push_back({name, ParseSizeList("--dim " + Printable(name), sizes)});
    return true;
  });
}

// None for an option that is not given.
std::vector<std::string> NamesOf(const std::string& option, const std::string& text) {
  return text.empty() ? std::vector<std::string>() : SplitAtCommas(option, text);
}

// 2.5/h for every device, or a100=1.6/h,h100=2.5/h.
std::map<std::string, double> ParsePrices(const std::string& text) {
  std::map<std::string, double> prices;
  for (const std::string& part : NamesOf("--price", text)) {
    const std::size_t equals = part.rfind('=');
    const std::string device = equals == std::string::npos ? "" : part.substr(0, equals);
    const std::string price = part.substr(equals == std::string::npos ? 0 : equals + 1);
    char* end = nullptr;
    const double per_hour = std::strtod(price.c_str(), &end);
    if (end == price.c_str() || std::string(end) != "/h" || !(per_hour > 0)) {
      throw Error("--price '{}' is no price: write 2.5/h, or a100=1.6/h,h100=2.5/h",
                  Printable(part));
    }
    prices[device] = per_hour;
  }
  return prices;
}

// The request, and what is left out of the devices.
std::pair<SweepRequest, std::string> SweepRequestOf(const SweepArguments& options) {
  SweepRequest request{.model = options.model,
                       .device = options.device,
                       .count = options.count,
                       .runtimes = NamesOf("--runtime", options.count.runtime),
                       .trains = NamesOf("--train", options.model.train),
                       .precisions = NamesOf("--precision", options.model.precision),
                       .dtypes = NamesOf("--dtype", options.model.dtype),
                       .bounds_only = options.bounds,
                       .conditions = options.conditions,
                       .rank = options.rank,
                       .price = ParsePrices(options.price)};
  TakeAxes(options, request);
  if (!options.buckets.empty()) {
    request.buckets = ParseSizeList("--buckets", options.buckets).Sizes();
  }
  ServedDevices served;
  if (options.device.gpu == "all") {
    served = ServedByAll(request, FindDevices(options.device));
  } else if (!options.device.gpu.empty()) {
    served.devices = FindDevicesOverValues(options.device);
  }
  request.devices = std::move(served.devices);
  return {std::move(request), std::move(served.left_out)};
}

void RequireFew(const SweepArguments& options, std::int64_t points) {
  constexpr std::int64_t kMany = 2'000'000;
  // About, as they are written; bench/sweep_benchmark.cc measures the evaluation alone.
  const double per_second = options.device.gpu.empty() || options.bounds ? 200'000 : 20'000;
  if (options.yes || points <= kMany) return;
  const auto many = static_cast<double>(points);
  throw Error("{:.0f} points take about {:.1f} hours; --yes counts them all the same", many,
              many / per_second / 3600);
}

// Formats that another program makes of the CSV.
void RequireNoColumns(const std::string& format) {
  if (format != "parquet" && format != "arrow") return;
  const char* write =
      format == "parquet" ? "pyarrow.parquet.write_table" : "pyarrow.feather.write_feather";
  throw Error(
      "--format {0} is not written here: write --format csv -o points.csv, then python3 -c 'import "
      "pyarrow.csv, pyarrow.parquet, pyarrow.feather; {1}(pyarrow.csv.read_csv(\"points.csv\"), "
      "\"points.{0}\")'",
      format, write);
}

int RunSweepCommand(const SweepArguments& options, const Applicability& applies) {
  RequireNoColumns(options.format);
  RequireNothingSought(options.model);
  RequireDeviceFor(options.device);
  RequireOneOf("--format", options.format, {"text", "csv", "json", "html", "svg"});
  if (options.format != "text") {
    const std::string where = "with --format " + options.format;
    applies.Require(options.top != SweepArguments().top, "--top", where,
                    {"--format", "-o", "--output"});
    applies.Require(options.plot, "--plot", where, {"--format", "-o", "--output"});
    if (options.format != "json") {
      const bool asked = !options.conditions.empty() || !options.rank.empty();
      applies.Require(asked, options.rank.empty() ? "--for" : "--rank",
                      where + ", which has every point", {"--format", "-o", "--output"});
    }
  }
  const auto [request, left_out] = SweepRequestOf(options);
  SweepRenderOptions render = SelectionOf(request);
  render.rows = options.top;
  render.plot = options.plot;
  render.width = WidthOf(options.output);
  render.blocks = render.width != 0 && ShowsBlocks();
  render.note = left_out;
  if ((options.plot || options.bounds) && request.devices.empty()) {
    throw Error("times need a device: add --gpu");
  }
  RequireFew(options, PointsOf(request));
  const Model model = ModelOf(options.model);
  const Sweep sweep = SweepOf(request, model);
  if (options.format == "csv") {
    WriteOutput(options.output, [&](const TextSink& sink) {
      bool first = true;
      Progress progress(sweep.Points(), "points");
      RunSweep(sweep, [&](const SweepPoint& point) {
        progress.Add();
        if (first) sink(SweepCsvHead(sweep));
        first = false;
        sink(SweepCsvLine(sweep, render, point));
      });
    });
    return 0;
  }
  std::vector<SweepPoint> points;
  Progress progress(sweep.Points(), "points");
  RunSweep(sweep, [&](const SweepPoint& point) {
    points.push_back(point);
    progress.Add();
  });
  if (options.format == "json") {
    WriteOutput(options.output,
                [&](const TextSink& sink) { WriteSweepJson(sweep, render, points, sink); });
  } else if (options.format == "svg") {
    WritePicture(options.output, SweepSvg(sweep, points));
  } else if (options.format == "html") {
    WritePage(options.output, SweepHtml(sweep, render, points));
  } else {
    WriteRendered(options.output, options.format, SweepText(sweep, render, points));
  }
  return 0;
}

}  // namespace

void AddSweepCommand(Commands& commands) {
  auto options = std::make_shared<SweepArguments>();
  CLI::App* app = commands.app.add_subcommand(
      "sweep", "a model over ranges of sizes, devices and types: throughput, latency, memory");
  app->footer(kSweepExamples);
  AddModelOptions(*app, options->model);
  // Here every size may be a list, and what else says so.
  app->remove_option(app->get_option("--batch"));
  app->add_option("--batch", options->batch,
                  "sizes of batch dimensions: 1,8,32 or 1:64 or 1:1024:x2 or 32:256:32, or "
                  "@FILE.csv; --dim NAME= takes the same")
      ->group(kModelHeading)
      ->type_name("SIZES");
  AddDeviceOptions(*app, options->device, Devices::kSeveral);
  AddCountOptions(*app, options->count);
  for (const char* name : {"--dtype", "--precision", "--train", "--runtime"}) {
    CLI::Option* option = app->get_option(name);
    option->description(option->get_description() + "; several with commas");
  }
  app->get_option("--set")->description(app->get_option("--set")->get_description() +
                                        "; several values as 1TB/s,2TB/s or 1TB/s:8TB/s:x2");
  app->add_option("--for", options->conditions,
                  "what the best points have to meet, e.g. 'latency<=10ms', 'throughput>=1000', "
                  "'tokens>=1e6', 'memory<=16GB', 'power<=300W', 'energy<=50mJ' (of an item)")
      ->type_name("CONDITION");
  app->add_option("--price", options->price, "per device and hour: 2.5/h, or a100=1.6/h,h100=2.5/h")
      ->type_name("PRICE");
  app->add_option("--rank", options->rank, "best points by price, latency, throughput or energy")
      ->type_name("WHAT");
  app->add_option(
         "--buckets", options->buckets,
         "sizes that observed ones (@FILE.csv) are padded up to: 64,128,256,512 or 64:512:64")
      ->type_name("SIZES");
  app->add_option("--top", options->top, "rows of the table of points")
      ->type_name("N")
      ->capture_default_str();
  app->add_flag("--bounds", options->bounds,
                "bounds alone, no expected times: a hundred times faster");
  app->add_flag("--plot", options->plot, "draw throughput over size");
  app->add_option("--format", options->format,
                  "text, csv (streamed), json, html, or svg: the curves")
      ->type_name("FORMAT")
      ->capture_default_str();
  app->add_option("-o,--output", options->output, "write to a file")->type_name("FILE");
  app->add_flag("--yes", options->yes, "count millions of points");
  app->callback([&commands, options] {
    commands.run = [&commands, options] {
      return RunSweepCommand(*options, Applicability(commands.words));
    };
  });
}

}  // namespace dlcost
