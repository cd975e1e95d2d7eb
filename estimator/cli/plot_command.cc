#include <filesystem>
#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/model_needed.h"
#include "estimator/cli/options.h"
#include "estimator/cli/write_picture.h"
#include "estimator/core/error.h"
#include "estimator/core/shell.h"
#include "estimator/picture/pictures.h"
#include "estimator/request/source.h"

namespace dlcost {
namespace {

struct PlotArguments {
  std::string picture;
  Source source;
  PictureOptions look;
  std::string output;
};

constexpr const char* kPlotExamples =
    "Pictures: roofline, memory (what is live over the run), icicle (where the time goes).\n"
    "Curves of a sweep: dlcost sweep ... --format svg\n"
    "Examples:\n"
    "  dlcost plot roofline resnet50.onnx --gpu a100 -o roofline.svg\n"
    "  dlcost plot icicle bert.onnx --dim sequence=128 --gpu h100 -o time.png --dark\n"
    "  dlcost plot memory model.onnx --batch 8 -o memory.svg\n";

int RunPlotCommand(PlotArguments options, const CLI::App& app, const Applicability& applies) {
  if (options.picture == "curve") {
    throw Error(
        "curves are of a sweep: dlcost sweep {} --gpu a100 --batch 1:64:x2 --format svg -o "
        "curve.svg",
        options.source.model.path.empty() ? "model.onnx" : Printable(options.source.model.path));
  }
  std::error_code none;
  if (options.source.model.path.empty() && std::filesystem::exists(options.picture, none)) {
    throw Error("which picture of it? dlcost plot roofline {} --gpu a100; also memory and icicle",
                ShellWord(options.picture));
  }
  RequireOneOf("picture", options.picture, {"roofline", "memory", "icicle"});
  if (options.source.model.path.empty()) {
    throw Error("of which model? dlcost plot {} model.onnx", options.picture);
  }
  if (options.picture == "roofline" && options.source.device.gpu.empty() &&
      !IsReportFile(options.source.model.path)) {
    throw Error("a roofline needs a device: add --gpu a100");
  }
  RequireModelFor(app, {options.source.model.path}, applies);
  applies.Require(
      options.picture == "memory" && options.source.count.convention != CountOptions().convention,
      "--convention", "in a picture of memory", {"--convention"});
  options.source.detail = ReportDetail::kRows;
  const Report report = LoadReport(options.source);
  WritePicture(options.output, options.picture == "roofline" ? RooflinePicture(report, options.look)
                               : options.picture == "memory" ? MemoryPicture(report, options.look)
                                                             : IciclePicture(report, options.look));
  return 0;
}

}  // namespace

void AddPlotCommand(Commands& commands) {
  auto options = std::make_shared<PlotArguments>();
  options->source.keeps_model = true;
  CLI::App* app = commands.app.add_subcommand(
      "plot", "a picture for slides: the roofline, memory over the run or where the time goes");
  app->footer(kPlotExamples);
  app->add_option("picture", options->picture, "roofline, memory or icicle")
      ->type_name("PICTURE")
      ->required();
  AddModelOptions(*app, options->source.model);
  app->get_option("model")->required(
      false);  // RunPlotCommand says what is missing: it may be the picture
  AddDeviceOptions(*app, options->source.device);
  AddCountOptions(*app, options->source.count);
  app->add_flag("--dark", options->look.dark, "light on dark");
  app->add_option("--title", options->look.title, "title of the picture")->type_name("TEXT");
  app->add_option("-o,--output", options->output, "write to a file: .svg, or .png by rsvg-convert")
      ->type_name("FILE");
  app->callback([&commands, options, app] {
    commands.run = [&commands, options, app] {
      return RunPlotCommand(*options, *app, Applicability(commands.words));
    };
  });
}

}  // namespace dlcost
