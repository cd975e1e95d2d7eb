#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/job_options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/hardware/quantity_text.h"
#include "estimator/infer/sizes.h"
#include "estimator/parallel/scaling.h"
#include "estimator/request/leading_number.h"

namespace dlcost {
namespace {

struct Options {
  JobOptions job;
  std::string devices = "1:64:x2";
  bool strong = false;
  int zero = 0;
  std::string bucket = "25 MiB";
  bool serial = false;
  double spread = kDeviceSpread * 100;
  std::string gradients;
  InputOptions input;
  int prefetch = 2;
  double samples = 0;
  std::string price;
  std::string trace;
  std::string format = "text";
  std::string output;
};

constexpr const char* kExamples =
    "Examples:\n"
    "  dlcost scale resnet50.onnx --system dgx-a100 --devices 1:1024:x2 --train momentum --batch "
    "256\n"
    "  dlcost scale resnet50.onnx --system dgx-1 --devices 1:64:x2 --train sgd --batch 2048 "
    "--strong\n"
    "  dlcost scale gpt2.onnx --system dgx-h100 --devices 8,64 --train adamw --batch 8 --dim "
    "sequence=1024 --dtype bf16 --zero 3\n"
    "  dlcost scale resnet50.onnx --system p4d --train sgd --batch 128 --samples 115.2e6 --price "
    "4.1/h --trace step.json\n"
    "--batch is that of one device; with --strong that of all devices together.\n";

double ParsePrice(const std::string& text) {
  const std::optional<LeadingNumber> price = ParseLeadingNumber(text);
  if (!price || price->value > 1e9 || (!price->rest.empty() && price->rest != "/h")) {
    throw Error("--price '{}': of a device per hour, as in 2.5/h", Printable(text));
  }
  return price->value;
}

std::optional<DType> GradientType(const Options& options) {
  if (options.gradients.empty()) return std::nullopt;
  const std::optional<DType> type = ParseDType(options.gradients);
  if (!type || !IsFloat(*type)) {
    throw Error("--gradients '{}': fp32, fp16 or bf16", Printable(options.gradients));
  }
  return type;
}

// What the input of a step takes, and how long devices wait for it. Every node reads and prepares
// the items of its own devices.
void AddInput(const Options& options, const System& system, ScalePoint& point, Scaling& scaling) {
  const int local = std::min(point.devices, system.node_devices);
  const std::vector<InputStage> stages = StagesOf(options.input, &system, local);
  const InputStage* slowest = SlowestStage(stages);
  if (slowest == nullptr) {
    throw Error("--item without a stage: --storage, --decode, --augment or --host-link");
  }
  scaling.bound_by = slowest->name;
  point.input = Seconds(static_cast<double>(point.batch) * local / slowest->rate);
  // With batches ahead only what takes longer than a step is waited for.
  const Seconds hidden = options.prefetch > 0 ? std::min(point.input, point.step.time) : Seconds();
  point.waits = point.input - hidden;
}

int Run(const Options& options) {
  RequireOneOf("--format", options.format, {"text", "json"});
  if (options.job.model.train.empty()) throw Error("scale needs --train OPTIMIZER, such as sgd");
  if (options.prefetch < 0 || options.prefetch > 1024) {
    throw Error("--prefetch {}: 0 to 1024 batches", options.prefetch);
  }
  if (options.zero < 0 || options.zero > 3) throw Error("--zero {}: 0, 1, 2 or 3", options.zero);
  const Job job(options.job);
  const System& system = job.system();
  const std::int64_t batch = options.job.model.batch.value_or(1);
  if (batch < 1) throw Error("--batch {}: 1 or more", batch);
  Scaling scaling;
  scaling.model = options.job.model.path;
  scaling.system = system.id;
  scaling.device = job.device().id;
  scaling.strong = options.strong;
  scaling.plan.zero = options.zero;
  scaling.plan.overlap = !options.serial;
  scaling.plan.spread = SpreadOf(options.spread);
  scaling.plan.bucket = Bytes(RoundToInteger(ParseQuantity(options.bucket, Dimension::kByteSize)));
  if (!(options.samples >= 0) || options.samples > 1e18)
    throw Error("--samples {}: 1 or more", options.samples);
  if (options.samples > 0) scaling.question.samples = options.samples;
  if (!options.price.empty()) scaling.question.price = ParsePrice(options.price);
  if (scaling.question.price && !scaling.question.samples) throw Error("--price needs --samples");
  scaling.question.memory = job.device().memory.size;
  if (!options.job.model.batch) {
    scaling.notes.emplace_back("no --batch given: a device trains one item a step");
  }
  const std::optional<DType> send_as = GradientType(options);
  const StepProfile whole = job.Profile(batch, send_as);
  if (!whole.Note().empty()) scaling.notes.push_back(whole.Note());
  ScalePoint alone{1, batch, RunDataParallel(whole, system, {1}), {}, {}};
  if (!options.input.item.empty()) AddInput(options, system, alone, scaling);
  for (const std::int64_t size : ParseSizeList("--devices", options.devices).Sizes()) {
    job.CheckSize("--devices", size);
    if (options.strong && batch % size != 0) {
      throw Error("--batch {} does not divide among {} devices; {} would", batch, size,
                  batch / size * size > 0 ? batch / size * size : size);
    }
    ScalePoint point;
    point.devices = static_cast<int>(size);
    point.batch = options.strong ? batch / size : batch;
    scaling.plan.devices = point.devices;
    point.step = options.strong && size > 1
                     ? RunDataParallel(job.Profile(point.batch, send_as), system, scaling.plan)
                     : RunDataParallel(whole, system, scaling.plan);
    if (!options.input.item.empty()) AddInput(options, system, point, scaling);
    scaling.points.push_back(std::move(point));
  }
  SetEfficiencies(scaling, alone);
  const std::optional<int> pays = PaysUpTo(scaling, alone);
  if (!options.trace.empty()) {
    const ScalePoint& last = scaling.points.back();
    WriteOutput(options.trace,
                ChromeTrace(last.step.timeline, fmt::format("one of {} devices", last.devices)));
  }
  WriteRendered(options.output, options.format,
                options.format == "json" ? ScalingJson(scaling, pays)
                                         : ScalingText(scaling, pays, WidthOf(options.output)));
  return 0;
}

}  // namespace

void AddScaleCommand(Commands& commands) {
  auto options = std::make_shared<Options>();
  CLI::App* app = commands.app.add_subcommand(
      "scale", "a training on 1, 2, 4, ... devices: step time, efficiency, memory, price");
  app->footer(kExamples);
  AddJobOptions(*app, options->job);
  app->add_option("--devices", options->devices, "how many: 8, 1,8,64 or 1:1024:x2")
      ->type_name("N")
      ->capture_default_str();
  app->add_flag("--strong", options->strong, "share one batch out instead of one for each device");
  app->add_option("--zero", options->zero,
                  "share out: 1 states of the optimizer, 2 gradients too, 3 parameters too")
      ->type_name("STAGE")
      ->capture_default_str();
  app->add_option("--bucket", options->bucket, "gradients that are sent together")
      ->type_name("SIZE")
      ->capture_default_str();
  app->add_flag("--no-overlap", options->serial, "send gradients after the backward pass");
  app->add_option("--gradients", options->gradients, "type to send them in: fp32, fp16 or bf16")
      ->type_name("TYPE");
  AddSpreadOption(*app, options->spread);
  AddInputOptions(*app, options->input);
  app->add_option("--prefetch", options->prefetch,
                  "batches that are prepared ahead; 0: training and input take turns")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--samples", options->samples, "to train on in all: time to train")
      ->type_name("N");
  app->add_option("--price", options->price, "of a device per hour")->type_name("P/h");
  app->add_option("--trace", options->trace,
                  "write the step on the most devices for Perfetto (chrome trace)")
      ->type_name("FILE");
  AddOutputOptions(*app, options->format, options->output);
  app->callback([&commands, options] { commands.run = [options] { return Run(*options); }; });
}

}  // namespace dlcost
