#include <unistd.h>

#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/job_options.h"
#include "estimator/cli/model_needed.h"
#include "estimator/cli/output.h"
#include "estimator/cli/progress.h"
#include "estimator/core/error.h"
#include "estimator/regress/render_check.h"
#include "estimator/report/render.h"
#include "estimator/request/model_check.h"

namespace dlcost {
namespace {

struct CheckArguments {
  Source source;
  std::optional<std::string> batch;
  std::vector<std::string> baselines;
  std::string budget;
  std::vector<std::string> max, fits_on;
  std::string system;
  JobPlan plan;  // of a job on many devices
  bool forbid_new_operators = false;
  bool strict = false, exact = false;
  bool update = false;
  std::string format = "text";
  std::string output;
};

constexpr const char* kCheckExamples =
    "A baseline is a report (--format json) or an older model. Without a budget, nothing may "
    "grow.\n"
    "Exit code 0: passed, 1: a requirement failed, 2: wrong input.\n"
    "Examples:\n"
    "  dlcost check new.onnx --baseline baseline.json\n"
    "  dlcost check new.onnx --baseline old.onnx --gpu a100 --max macs=+2% --max 'bound_s=1.5 ms'\n"
    "  dlcost check new.onnx --baseline baseline.json --budget budget.yaml --format junit -o "
    "dlcost.xml\n"
    "  dlcost check new.onnx --gpu t4 --batch 1:64:x2 --max 'expected_s=20 ms'\n"
    "  dlcost check new.onnx --train adamw --system dgx-a100 --parallel dp=8 --micro-batch 32 "
    "--max 'exposed_s=5 ms' --max 'sent_bytes=200 MB'\n"
    "  dlcost check new.onnx --baseline baseline.json --update\n";

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

ModelCheckRequest CheckRequestOf(const CheckArguments& options) {
  ModelCheckRequest request{.source = options.source,
                            .budget = options.budget,
                            .max = options.max,
                            .system = options.system,
                            .plan = options.plan,
                            .forbid_new_operators = options.forbid_new_operators,
                            .strict = options.strict,
                            .exact = options.exact};
  for (const std::string& names : options.fits_on) {
    for (std::size_t begin = 0; begin <= names.size();) {
      const std::size_t end = std::min(names.find(',', begin), names.size());
      request.fits_on.push_back(names.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  for (const std::string& path : options.baselines) request.baselines.push_back({.path = path});
  if (options.batch) request.sizes.emplace_back("", ParseSizeList("--batch", *options.batch));
  // Lists of sizes are conditions.
  std::erase_if(request.source.model.dims, [&](const std::string& text) {
    const std::size_t equals = text.rfind('=');
    if (equals == std::string::npos || !IsSizeList(text.substr(equals + 1))) return false;
    const std::string name = text.substr(0, equals);
    request.sizes.emplace_back(name,
                               ParseSizeList("--dim " + Printable(name), text.substr(equals + 1)));
    return true;
  });
  return request;
}

// What all conditions of the budget file say themselves holds instead of the command line.
void RequireUnsaid(const CheckArguments& options) {
  if (options.budget.empty()) return;
  const std::vector<CheckConditions> on = ReadBudgetFile(options.budget).on;
  const auto require = [&](bool given, const std::string& option, const auto& says) {
    if (!given || on.empty() || !std::all_of(on.begin(), on.end(), says)) return;
    throw Error("{} changes nothing: the conditions of {} (on:) say it themselves", option,
                Printable(options.budget));
  };
  require(!options.source.device.gpu.empty(), "--gpu",
          [](const CheckConditions& one) { return !one.gpu.empty(); });
  require(options.batch.has_value(), "--batch",
          [](const CheckConditions& one) { return one.batch.has_value(); });
  for (const std::string& text : options.source.model.dims) {
    const std::string name = text.substr(0, text.rfind('='));
    require(true, "--dim " + Printable(text),
            [&](const CheckConditions& one) { return one.dims.count(name) != 0; });
  }
}

std::string RenderCheck(const CheckArguments& options, const std::vector<CheckRun>& runs) {
  if (options.format == "markdown") return RenderCheckMarkdown(runs);
  if (options.format == "junit") return RenderCheckJunit(runs);
  if (options.format == "github") return RenderCheckGithub(runs);
  if (options.format == "json") return RenderCheckJson(runs);
  return RenderCheckText(runs, WidthOf(options.output));
}

int Update(const ModelCheck& check) {
  for (std::size_t i = 0; i < check.size(); ++i) {
    if (check.BaselineOf(i) == nullptr) throw Error("--update needs --baseline FILE to write");
    WriteOutput(check.BaselineOf(i)->path, RenderJson(check.NewBaseline(i)));
  }
  return 0;
}

int RunChecks(const CheckArguments& options) {
  std::optional<Progress> progress;
  ModelCheckRequest request = CheckRequestOf(options);
  request.on_checked = [&] {
    if (progress) progress->Add();
  };
  const ModelCheck check(std::move(request));
  if (options.update) return Update(check);
  std::vector<CheckRun> runs;
  for (std::size_t i = 0; i < check.size(); ++i) {
    const std::size_t points = check.PointsOf(i);
    if (points > 1) progress.emplace(static_cast<std::int64_t>(points), "sizes");
    runs.push_back(check.Run(i));
    progress.reset();
  }
  WriteRendered(options.output, options.format, RenderCheck(options, runs));
  return AllPassed(runs) ? 0 : 1;
}

int RunCheckCommand(const CheckArguments& options, const CLI::App& app,
                    const Applicability& applies) {
  RequireOneOf("--format", options.format, {"text", "markdown", "junit", "github", "json"});
  std::vector<std::string> files = {options.source.model.path};
  std::copy_if(options.baselines.begin(), options.baselines.end(), std::back_inserter(files),
               Exists);
  RequireModelFor(app, files, applies);
  RequireUnsaid(options);
  return RunChecks(options);
}

}  // namespace

void AddCheckCommand(Commands& commands) {
  auto options = std::make_shared<CheckArguments>();
  CLI::App* app = commands.app.add_subcommand("check", "fail when a model costs more than it may");
  app->footer(kCheckExamples);
  AddModelOptions(*app, options->source.model);
  // Here sizes may be several.
  app->remove_option(app->get_option("--batch"));
  app->add_option(
         "--batch", options->batch,
         "sizes of batch dimensions: 8, 1,8,32 or 1:64:x2: every limit holds at each; --dim "
         "NAME= takes the same")
      ->group(kModelHeading)
      ->type_name("SIZES");
  AddDeviceOptions(*app, options->source.device);
  AddCountOptions(*app, options->source.count);
  const auto list = [&](const char* name, std::vector<std::string>& values, const char* what) {
    return app->add_option(name, values, what)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  list("--baseline", options->baselines, "report or model to compare with")->type_name("FILE");
  app->add_option("--budget", options->budget, "YAML file with limits (docs/ci.md)")
      ->type_name("FILE");
  list("--max", options->max, "a limit, e.g. macs=+2%, 'bytes[scope:layer4]=40 MB'")
      ->type_name("METRIC=LIMIT");
  list("--fits-on", options->fits_on,
       "devices whose memory must hold weights and activations; several with commas")
      ->type_name("ID");
  AddSystemOption(*app, options->system, "for budgets over a job: step_s, exposed_s, sent_bytes");
  CLI::Option* plan = app->add_option("--parallel", options->plan.plan,
                                      "how the job is laid out: dp=N,tp=N,pp=N,...")
                          ->type_name("PLAN");
  app->add_option("--micro-batch", options->plan.micro_batch, "items that pass a device at a time")
      ->type_name("N")
      ->needs(plan)
      ->capture_default_str();
  app->add_option("--global-batch", options->plan.global_batch, "items of a step of the job")
      ->type_name("N")
      ->needs(plan);
  app->add_flag("--forbid-new-operators", options->forbid_new_operators,
                "fail for operators that the baseline does not have");
  app->add_flag("--strict", options->strict, "fail when anything is unknown");
  app->add_flag("--exact", options->exact,
                "fail when anything is unknown, an upper bound or assumed");
  app->add_flag("--update", options->update, "accept: write the baseline anew");
  app->add_option("--format", options->format, "text, markdown, junit, github or json")
      ->type_name("FORMAT")
      ->capture_default_str();
  app->add_option("-o,--output", options->output, "write to a file")->type_name("FILE");
  app->callback([&commands, options, app] {
    commands.run = [&commands, options, app] {
      return RunCheckCommand(*options, *app, Applicability(commands.words));
    };
  });
}

}  // namespace dlcost
