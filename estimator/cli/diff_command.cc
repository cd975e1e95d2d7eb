#include <memory>

#include "estimator/cli/applies.h"
#include "estimator/cli/commands.h"
#include "estimator/cli/model_needed.h"
#include "estimator/cli/options.h"
#include "estimator/cli/output.h"
#include "estimator/core/error.h"
#include "estimator/regress/render_diff.h"
#include "estimator/request/source.h"

namespace dlcost {
namespace {

struct DiffArguments {
  Source before;
  // What is different for the second report; empty means the same.
  std::string after, after_gpu, after_math, after_cache, after_dtype, after_runtime;
  std::optional<std::int64_t> after_batch;
  std::vector<std::string> after_dims;
  std::string format = "text";
  std::string output;
  std::size_t top = 0;
};

constexpr const char* kDiffExamples =
    "Each side is an ONNX model or a report (--format json). What the options leave open is taken\n"
    "from the report, if one side is one.\n"
    "Examples:\n"
    "  dlcost diff old.onnx new.onnx --gpu a100\n"
    "  dlcost diff baseline.json new.onnx\n"
    "  dlcost diff model.onnx --gpu a100 --after-gpu h100\n"
    "  dlcost diff model.onnx --gpu a100 --after-dtype f16\n"
    "  dlcost diff model.onnx --gpu a100 --runtime pytorch-eager --after-runtime tensorrt\n"
    "  dlcost diff model.onnx --batch 1 --after-batch 8 --format markdown\n";

Source AfterOf(const DiffArguments& options) {
  Source after = options.before;
  if (!options.after.empty()) after.model.path = options.after;
  if (!options.after_gpu.empty()) after.device.gpu = options.after_gpu;
  if (!options.after_dtype.empty()) after.model.dtype = options.after_dtype;
  if (!options.after_math.empty()) after.device.math = options.after_math;
  if (!options.after_cache.empty()) after.device.cache = options.after_cache;
  if (!options.after_runtime.empty()) after.count.runtime = options.after_runtime;
  if (options.after_batch) after.model.batch = options.after_batch;
  // The later binding of a name wins.
  for (const std::string& dim : options.after_dims) after.model.dims.push_back(dim);
  return after;
}

int RunDiffCommand(const DiffArguments& options, const CLI::App& app,
                   const Applicability& applies) {
  RequireOneOf("--format", options.format, {"text", "markdown", "json"});
  applies.Require(options.format == "json" && options.top != 0, "--top",
                  "with --format json, which has every change", {"--format", "-o", "--output"});
  const bool other = !options.after_gpu.empty() || !options.after_math.empty() ||
                     !options.after_dtype.empty() || !options.after_cache.empty() ||
                     !options.after_runtime.empty() || options.after_batch ||
                     !options.after_dims.empty();
  if (options.after.empty() && !other) {
    throw Error("diff needs a second model or report, or --after-gpu, --after-batch, ...");
  }
  const Source after = AfterOf(options);
  if (other && options.after_gpu.empty() && IsReportFile(after.model.path)) {
    throw Error("{}: --after-... changes nothing of a finished report; give the model",
                Printable(after.model.path));
  }
  RequireModelFor(app, {options.before.model.path, after.model.path}, applies);
  // Kept to the end of the process, which comes next, as the report command keeps its own.
  static const std::pair<Report, Report>& both =
      *new std::pair<Report, Report>(LoadReports(options.before, after, !other));
  static const ReportDiff& diff = *new ReportDiff(DiffReports(both.first, both.second));
  std::string content;
  if (options.format == "json") {
    content = RenderDiffJson(diff);
  } else if (options.format == "markdown") {
    content = RenderDiffMarkdown(diff, {.top = options.top});
  } else {
    content = RenderDiffText(diff, {.top = options.top, .max_width = WidthOf(options.output)});
  }
  WriteRendered(options.output, options.format, content);
  return 0;
}

}  // namespace

void AddDiffCommand(Commands& commands) {
  auto options = std::make_shared<DiffArguments>();
  options->before.keeps_model = true;
  CLI::App* app = commands.app.add_subcommand("diff", "what changed between two models or reports");
  app->footer(kDiffExamples);
  AddModelOptions(*app, options->before.model, "before");
  app->add_option("after", options->after, "ONNX file or report to compare with")
      ->type_name("FILE");
  AddDeviceOptions(*app, options->before.device);
  AddCountOptions(*app, options->before.count);
  app->add_option("--after-gpu", options->after_gpu, "another device for the second side")
      ->type_name("ID");
  app->add_option("--after-dtype", options->after_dtype, "another data type for the second side")
      ->type_name("TYPE");
  app->add_option("--after-math", options->after_math, "another math mode for the second side")
      ->type_name("MODE");
  app->add_option("--after-cache", options->after_cache, "another cache state for the second side")
      ->type_name("STATE");
  app->add_option("--after-runtime", options->after_runtime, "another runtime for the second side")
      ->type_name("NAME");
  app->add_option("--after-batch", options->after_batch, "another batch size for the second side")
      ->type_name("N");
  app->add_option("--after-dim", options->after_dims, "another dimension for the second side")
      ->type_name("NAME=N");
  app->add_option("--top", options->top, "only the N largest changes")->type_name("N");
  app->add_option("--format", options->format, "text, markdown or json")
      ->type_name("FORMAT")
      ->capture_default_str();
  app->add_option("-o,--output", options->output, "write to a file")->type_name("FILE");
  app->callback([&commands, options, app] {
    commands.run = [&commands, options, app] {
      return RunDiffCommand(*options, *app, Applicability(commands.words));
    };
  });
}

}  // namespace dlcost
