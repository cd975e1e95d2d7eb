#include <memory>

#include "estimator/cli/applies.h"
#include "estimator/cli/commands.h"
#include "estimator/cli/job_options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/core/shell.h"
#include "estimator/hardware/quantity_text.h"
#include "estimator/infer/sizes.h"
#include "estimator/request/leading_number.h"
#include "estimator/request/scale.h"

namespace dlcost {
namespace {

struct ScaleArguments {
  ScaleRequest request;
  std::string devices = "1:64:x2";
  GradientTexts gradients;
  InputTexts input;
  std::string price;
  std::string trace;  // what writes it is --format perfetto
  std::string format = "text";
  std::string output;
};

constexpr const char* kScaleExamples =
    "Examples:\n"
    "  dlcost scale resnet50.onnx --system dgx-a100 --devices 1:1024:x2 --train momentum --batch "
    "256\n"
    "  dlcost scale resnet50.onnx --system dgx-1 --devices 1:64:x2 --train sgd --batch 2048 "
    "--strong\n"
    "  dlcost scale gpt2.onnx --system dgx-h100 --devices 8,64 --train adamw --batch 8 --dim "
    "sequence=1024 --dtype bf16 --zero 3\n"
    "  dlcost scale resnet50.onnx --system p4d --train sgd --batch 128 --samples 115.2e6 --price "
    "4.1/h\n"
    "  dlcost scale resnet50.onnx --system p4d --train sgd --batch 128 --devices 64 --format "
    "perfetto -o step.json\n"
    "--batch is that of one device; with --strong that of all devices together.\n";

double ParsePrice(const std::string& text) {
  const std::optional<LeadingNumber> price = ParseLeadingNumber(text);
  if (!price || price->value > 1e9 || (!price->rest.empty() && price->rest != "/h")) {
    throw Error("--price '{}': of a device per hour, as in 2.5/h", Printable(text));
  }
  return price->value;
}

// Without --devices as many of the usual numbers as the system joins.
std::vector<std::int64_t> SizesOf(const ScaleArguments& options, bool given) {
  std::vector<std::int64_t> sizes = ParseSizeList("--devices", options.devices).Sizes();
  if (given || options.request.job.system.empty()) return sizes;
  const int most = OpenSystems().Find(options.request.job.system).MostDevices();
  std::erase_if(sizes, [&](std::int64_t size) { return size > most; });
  return sizes;
}

int RunScaleCommand(const ScaleArguments& options, const CLI::App& app,
                    const Applicability& applies) {
  RequireOneOf("--format", options.format, {"text", "json", "perfetto"});
  applies.Require(!options.trace.empty(), "--trace",
                  "here, where no profile is read; the step over time is a format",
                  {"--trace", "--format", "-o", "--output"},
                  "--format perfetto -o " + ShellWord(options.trace));
  ScaleRequest request = options.request;
  request.input = ParseInput(options.input);
  request.devices = SizesOf(options, app.get_option("--devices")->count() > 0);
  request.gradients = ParseGradients(options.gradients);
  if (!options.price.empty()) request.price = ParsePrice(options.price);
  const Scaling scaling = Scale(request);
  if (options.format == "perfetto") {
    WriteOutput(options.output, StepTrace(scaling));
    return 0;
  }
  WriteRendered(options.output, options.format,
                options.format == "json" ? ScalingJson(scaling)
                                         : ScalingText(scaling, WidthOf(options.output)));
  return 0;
}

}  // namespace

void AddScaleCommand(Commands& commands) {
  auto options = std::make_shared<ScaleArguments>();
  CLI::App* app = commands.app.add_subcommand(
      "scale", "a training on 1, 2, 4, ... devices: step time, efficiency, memory, price");
  app->footer(kScaleExamples);
  AddJobOptions(*app, options->request.job);
  app->add_option("--devices", options->devices,
                  "how many: 8, 1,8,64 or 1:1024:x2; as far as the system joins them")
      ->type_name("N")
      ->capture_default_str();
  app->add_flag("--strong", options->request.strong,
                "share one batch out instead of one for each device");
  app->add_option("--zero", options->request.zero,
                  "share out: 1 states of the optimizer, 2 gradients too, 3 parameters too")
      ->type_name("STAGE")
      ->capture_default_str();
  AddGradientOptions(*app, options->gradients);
  AddSpreadOption(*app, options->request.spread);
  AddInputOptions(*app, options->input);
  app->add_option("--prefetch", options->request.prefetch,
                  "batches that are prepared ahead; 0: training and input take turns")
      ->type_name("N")
      ->needs(app->get_option("--item"))
      ->capture_default_str();
  app->add_option("--samples", options->request.samples, "to train on in all: time to train")
      ->type_name("N");
  app->add_option("--price", options->price, "of a device per hour")->type_name("P/h");
  app->add_option("--trace", options->trace)
      ->group("");  // as it was called: RunScaleCommand says what to do
  AddOutputOptions(*app, options->format, options->output);
  app->get_option("--format")
      ->description("text, json, or perfetto: the step on the most devices over time");
  app->callback([&commands, options, app] {
    commands.run = [&commands, options, app] {
      return RunScaleCommand(*options, *app, Applicability(commands.words));
    };
  });
}

}  // namespace dlcost
