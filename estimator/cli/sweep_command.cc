#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <set>

#include "estimator/cli/applies.h"
#include "estimator/cli/commands.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/cli/progress.h"
#include "estimator/cli/write_picture.h"
#include "estimator/core/dtype_spelling.h"
#include "estimator/core/error.h"
#include "estimator/infer/open_dims.h"
#include "estimator/infer/sizes.h"
#include "estimator/open/open_model.h"
#include "estimator/picture/pictures.h"
#include "estimator/sweep/sweep.h"
#include "estimator/sweep/sweep_render.h"
#include "estimator/sweep/value_list.h"

namespace dlcost {
namespace {

struct Options {
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

constexpr const char* kExamples =
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
void TakeAxes(Options& options, std::vector<std::pair<std::string, SizeList>>& axes) {
  if (options.batch) axes.emplace_back("", ParseSizeList("--batch", *options.batch));
  std::erase_if(options.model.dims, [&](const std::string& text) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) return false;
    const std::string name = text.substr(0, equals);
    const std::string sizes = text.substr(equals + 1);
    if (!IsSizeList(sizes) && !sizes.empty()) return false;
    for (const auto& axis : axes) {
      if (axis.first == name) throw Error("--dim {} is given twice", Printable(name));
    }
    axes.emplace_back(name, ParseSizeList("--dim " + Printable(name), sizes));
    return true;
  });
}

// The devices, once for each value where --set names several: memory.bandwidth=1TB/s,2TB/s.
std::vector<Device> DevicesOf(const DeviceOptions& options) {
  for (std::size_t i = 0; i < options.overrides.size(); ++i) {
    const std::string& text = options.overrides[i];
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || text.find_first_of(",:", equals) == std::string::npos) {
      continue;
    }
    std::vector<Device> devices;
    const std::string key = text.substr(0, equals);
    for (const std::string& value : ParseValueList("--set " + key, text.substr(equals + 1))) {
      DeviceOptions one = options;
      one.overrides[i] = key + "=" + value;
      for (Device& device : DevicesOf(one)) {
        device.id += " " + one.overrides[i];
        devices.push_back(std::move(device));
      }
    }
    return devices;
  }
  return FindDevices(options);
}

// A size of one dimension from two options; --batch sets some dimensions by itself.
void RequireOnce(const Model& model, const std::vector<std::pair<std::string, SizeList>>& axes,
                 const Bindings& bindings) {
  for (const auto& axis : axes) {
    if (bindings.dims.count(axis.first) != 0) {
      throw Error("--dim {} is given twice", Printable(axis.first));
    }
  }
  if (axes.empty() || !axes.front().first.empty()) return;  // no --batch
  for (const std::string& batch : BatchDims(OpenDimsOf(model))) {
    const bool listed = std::any_of(axes.begin(), axes.end(),
                                    [&](const auto& axis) { return axis.first == batch; });
    if (listed || bindings.dims.count(batch) != 0) {
      throw Error("--batch sets --dim {} too: give one of them", Printable(batch));
    }
  }
}

// {""} for an option that is not given.
std::vector<std::string> NamesOf(const std::string& option, const std::string& text) {
  return text.empty() ? std::vector<std::string>{""} : SplitAtCommas(option, text);
}

// Every combination of what --runtime, --train, --precision and --dtype name.
std::vector<SweepSetup> SetupsOf(const Options& options) {
  const std::vector<std::string> dtypes = NamesOf("--dtype", options.model.dtype);
  for (const std::string& name : dtypes) {
    if (!name.empty()) ReadDType("--dtype", name);
  }
  std::vector<SweepSetup> setups;
  CountOptions count = options.count;
  ModelOptions model = options.model;
  for (const std::string& runtime : NamesOf("--runtime", options.count.runtime)) {
    count.runtime = runtime;
    for (const std::string& train : NamesOf("--train", options.model.train)) {
      model.train = train;
      for (const std::string& precision : NamesOf("--precision", options.model.precision)) {
        model.precision = precision;
        for (const std::string& dtype : dtypes) {
          model.dtype = dtype;
          const ReportOptions report = ReportOptionsOf(count, options.device, model);
          model.plan = report.plan;
          setups.push_back({.dtype = dtype,
                            .precision = precision,
                            .train = train,
                            .derive = DerivationOf(model),
                            .report = report});
        }
      }
    }
  }
  return setups;
}

// The devices of --gpu; of all, those that every runtime serves.
ServedDevices ServedBy(const Options& options) {
  ServedDevices served;
  if (options.device.gpu.empty()) return served;
  if (options.device.gpu != "all") return {.devices = DevicesOf(options.device)};
  CountOptions count = options.count;
  for (const std::string& runtime : NamesOf("--runtime", options.count.runtime)) {
    count.runtime = runtime;
    const ServedDevices one = FindServedDevices(options.device, count);
    if (served.devices.empty()) served.devices = one.devices;
    if (!one.left_out.empty()) served.left_out = one.left_out;
    std::erase_if(served.devices, [&](const Device& device) {
      return std::none_of(one.devices.begin(), one.devices.end(),
                          [&](const Device& other) { return other.id == device.id; });
    });
  }
  if (served.devices.empty()) throw Error("no device is served by all of --runtime");
  return served;
}

// Ends of buckets beside the observed sizes that they are for.
void AddBuckets(const std::string& text, std::vector<SweepAxis>& axes) {
  const auto observed = [](const SweepAxis& axis) { return axis.IsDistribution(); };
  if (std::count_if(axes.begin(), axes.end(), observed) != 1) {
    throw Error("--buckets are for one dimension of observed sizes: --dim NAME=@lengths.csv");
  }
  SweepAxis& axis = *std::find_if(axes.begin(), axes.end(), observed);
  if (axis.batch) throw Error("--buckets are for sizes of items, not for --batch");
  std::vector<std::int64_t> ends = ParseSizeList("--buckets", text).Sizes();
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  if (ends.back() < axis.sizes.back()) {
    throw Error("--buckets {}: the longest observed size, {}, is in none of them", Printable(text),
                axis.sizes.back());
  }
  // Nothing is padded further.
  ends.erase(std::lower_bound(ends.begin(), ends.end(), axis.sizes.back()) + 1, ends.end());
  for (const std::int64_t end : ends) {
    const auto at = std::lower_bound(axis.sizes.begin(), axis.sizes.end(), end);
    if (at != axis.sizes.end() && *at == end) continue;
    axis.weights.insert(axis.weights.begin() + (at - axis.sizes.begin()), 0);
    axis.sizes.insert(at, end);
  }
  axis.buckets = std::move(ends);
}

// 2.5/h for every device, or a100=1.6/h,h100=2.5/h.
std::map<std::string, double> ParsePrices(const std::string& text, const DeviceDatabase& database) {
  std::map<std::string, double> prices;
  if (text.empty()) return prices;
  for (const std::string& part : SplitAtCommas("--price", text)) {
    const std::size_t equals = part.rfind('=');
    const std::string device = equals == std::string::npos ? "" : part.substr(0, equals);
    const std::string price = part.substr(equals == std::string::npos ? 0 : equals + 1);
    char* end = nullptr;
    const double per_hour = std::strtod(price.c_str(), &end);
    if (end == price.c_str() || std::string(end) != "/h" || !(per_hour > 0)) {
      throw Error("--price '{}' is no price: write 2.5/h, or a100=1.6/h,h100=2.5/h",
                  Printable(part));
    }
    prices[device.empty() ? "" : database.Find(device, {}).id] = per_hour;
  }
  return prices;
}

void RequireFew(const Options& options, std::int64_t combinations, std::size_t each) {
  constexpr std::int64_t kMany = 2'000'000;
  // About, as they are written; bench/sweep_benchmark.cc measures the evaluation alone.
  const double per_second = options.device.gpu.empty() || options.bounds ? 200'000 : 20'000;
  if (options.yes) return;
  const double points = static_cast<double>(combinations) * static_cast<double>(each);
  if (points <= kMany) return;
  throw Error("{:.0f} points take about {:.1f} hours; --yes counts them all the same", points,
              points / per_second / 3600);
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

// Throughput over size.
std::string CurvesAsPicture(const Sweep& sweep, const std::vector<SweepPoint>& points) {
  const std::optional<std::size_t> axis = CurveAxis(sweep);
  if (sweep.devices.empty() || !axis) {
    throw Error(
        "--format svg draws throughput over a size: add --gpu and a range, --batch 1:64:x2");
  }
  std::vector<CurveSeries> series;
  for (const SweepCurve& curve : CurvesOf(sweep, points)) {
    CurveSeries& one = series.emplace_back(CurveSeries{CurveName(sweep, curve), {}});
    for (const SweepPoint* point : curve.points) {
      const std::int64_t size = point->sizes[*axis];
      const std::optional<double> rate = point->items_per_second();
      if (rate && *rate > 0 && size > 0) one.points.emplace_back(static_cast<double>(size), *rate);
    }
  }
  const std::string& path = sweep.model->path;
  return CurvePicture(series, Printable(sweep.axes[*axis].name), "items/s",
                      {.title = Printable(path.substr(path.rfind('/') + 1))});
}

int Run(Options options, const Applicability& applies) {
  RequireNoColumns(options.format);
  RequireNothingSought(options.model);
  RequireDeviceFor(options.device);
  RequireOneOf("--format", options.format, {"text", "csv", "json", "html", "svg"});
  if (options.format != "text") {
    const std::string where = "with --format " + options.format;
    applies.Require(options.top != Options().top, "--top", where, {"--format", "-o", "--output"});
    applies.Require(options.plot, "--plot", where, {"--format", "-o", "--output"});
    if (options.format != "json") {
      const bool asked = !options.conditions.empty() || !options.rank.empty();
      applies.Require(asked, options.rank.empty() ? "--for" : "--rank",
                      where + ", which has every point", {"--format", "-o", "--output"});
    }
  }
  if (!options.rank.empty())
    RequireOneOf("--rank", options.rank, {"price", "latency", "throughput", "energy"});
  Sweep sweep;
  std::vector<std::pair<std::string, SizeList>> axes;
  TakeAxes(options, axes);
  sweep.setups = SetupsOf(options);
  sweep.bounds_only = options.bounds;
  ServedDevices served = ServedBy(options);
  sweep.devices = std::move(served.devices);
  SweepRenderOptions render{.rank = options.rank,
                            .rows = options.top,
                            .plot = options.plot,
                            .width = WidthOf(options.output),
                            .blocks = WidthOf(options.output) != 0 && ShowsBlocks(),
                            .note = served.left_out};
  for (const std::string& text : options.conditions)
    render.conditions.push_back(ParseCondition(text));
  render.price = ParsePrices(options.price, OpenDatabase());
  if (sweep.devices.empty() && (options.plot || !render.conditions.empty() ||
                                !render.price.empty() || !render.rank.empty())) {
    throw Error("times need a device: add --gpu");
  }
  if (options.rank == "price" && render.price.empty()) throw Error("--rank price needs --price");

  Count combinations = 1;
  try {
    for (const auto& [name, list] : axes) combinations *= list.Count();
  } catch (const OverflowError&) {
    combinations = std::numeric_limits<std::int64_t>::max();
  }
  RequireFew(options, combinations.value(),
             sweep.setups.size() * std::max<std::size_t>(sweep.devices.size(), 1));
  const Model model = ModelOf(options.model);
  sweep.model = &model;
  RequireOnce(model, axes, BindingsOf(options.model));
  sweep.infer = InferOptionsOf(options.model, BindingsOf(options.model));
  for (const auto& [name, list] : axes) {
    sweep.axes.push_back({.name = name.empty() ? "batch" : name,
                          .sizes = list.Sizes(),
                          .weights = list.weights,
                          .batch = name.empty()});
  }
  if (!options.buckets.empty()) AddBuckets(options.buckets, sweep.axes);
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
    WritePicture(options.output, CurvesAsPicture(sweep, points));
  } else if (options.format == "html") {
    WritePage(options.output, SweepHtml(sweep, render, points));
  } else {
    WriteRendered(options.output, options.format, SweepText(sweep, render, points));
  }
  return 0;
}

}  // namespace

void AddSweepCommand(Commands& commands) {
  auto options = std::make_shared<Options>();
  CLI::App* app = commands.app.add_subcommand(
      "sweep", "a model over ranges of sizes, devices and types: throughput, latency, memory");
  app->footer(kExamples);
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
    commands.run = [&commands, options] { return Run(*options, Applicability(commands.words)); };
  });
}

}  // namespace dlcost
