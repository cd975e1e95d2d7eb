#include <unistd.h>

#include <deque>
#include <memory>

#include "estimator/cli/commands.h"
#include "estimator/cli/job_options.h"
#include "estimator/cli/load.h"
#include "estimator/cli/model_needed.h"
#include "estimator/cli/output.h"
#include "estimator/cli/progress.h"
#include "estimator/core/error.h"
#include "estimator/regress/render_check.h"
#include "estimator/regress/report_reader.h"
#include "estimator/report/render.h"

namespace dlcost {
namespace {

struct Options {
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

constexpr const char* kExamples =
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

// The command line's source under conditions of one size each.
Source Under(const Options& options, const CheckConditions& on) {
  Source source = options.source;
  // Lists are among the conditions.
  std::erase_if(source.model.dims, [](const std::string& text) {
    const std::size_t equals = text.rfind('=');
    return equals != std::string::npos && IsSizeList(text.substr(equals + 1));
  });
  if (!on.gpu.empty()) source.device.gpu = on.gpu;
  if (on.batch) source.model.batch = on.batch->Sizes().front();
  for (const auto& [name, size] : on.dims) {
    source.model.dims.push_back(name + "=" + std::to_string(size.Sizes().front()));
  }
  return source;
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

bool SameConditions(const Report& a, const Report& b) {
  const auto device = [](const Report& r) { return r.device ? r.device->id : ""; };
  return device(a) == device(b) && a.model.dims == b.model.dims;
}

class Checker {
 public:
  explicit Checker(const Options& options) : options_(options) {
    if (!options.budget.empty()) file_ = ReadBudgetFile(options.budget);
    if (file_.on.empty()) file_.on.emplace_back();
    for (CheckConditions& on : file_.on) AddSizes(on);
    request_.budgets = file_.budgets;
    for (const std::string& text : options.max) request_.budgets.push_back(ParseBudget(text));
    request_.forbid_new_operators = file_.forbid_new_operators || options.forbid_new_operators;
    request_.strict = options.strict;
    request_.exact = options.exact;
    std::vector<std::string> fits_on = file_.fits_on;
    fits_on.insert(fits_on.end(), options.fits_on.begin(), options.fits_on.end());
    for (const std::string& name : fits_on) request_.fits_on.push_back(OpenDatabase().Find(name));
    const std::size_t baselines = options.baselines.size();
    if (baselines > 1 && baselines != file_.on.size()) {
      throw Error("{} baselines for {} sets of conditions: give one, or one for each", baselines,
                  file_.on.size());
    }
  }

  int Run() {
    std::vector<CheckRun> runs;
    for (std::size_t i = 0; i < file_.on.size(); ++i) {
      if (options_.update) {
        Update(i);
      } else {
        runs.push_back(file_.on[i].IsRange() ? CheckRange(i) : Check(i, file_.on[i]));
      }
    }
    if (options_.update) return 0;
    WriteRendered(options_.output, options_.format, Render(runs));
    return AllPassed(runs) ? 0 : 1;
  }

 private:
  // Sizes of the command line, where the file has none.
  void AddSizes(CheckConditions& on) const {
    if (options_.batch && !on.batch) on.batch = ParseSizeList("--batch", *options_.batch);
    for (const std::string& text : options_.source.model.dims) {
      const std::size_t equals = text.rfind('=');
      if (equals == std::string::npos || !IsSizeList(text.substr(equals + 1))) continue;
      const std::string name = text.substr(0, equals);
      if (on.dims.count(name) != 0) continue;
      on.dims[name] = ParseSizeList("--dim " + Printable(name), text.substr(equals + 1));
    }
  }

  CheckRun CheckRange(std::size_t i) const {
    const CheckConditions& on = file_.on[i];
    if (const std::string path = BaselinePath(i);
        !path.empty() && Exists(path) && IsReportFile(path)) {
      throw Error("'{}' is a report of one size: for {}, give an older model as --baseline",
                  Printable(path), on.SizesText());
    }
    std::vector<std::string> points;
    std::vector<CheckRun> runs;
    const std::vector<CheckConditions> all = on.Points();
    Progress progress(static_cast<std::int64_t>(all.size()), "sizes");
    for (const CheckConditions& point : all) {
      points.push_back(on.NameOf(point));
      try {
        runs.push_back(Check(i, point));
      } catch (const Error& error) {
        throw Error("at {}: {}", points.back(), error.what());
      }
      progress.Add();
    }
    return OverRange(on.SizesText(), points, runs);
  }

  std::string BaselinePath(std::size_t i) const {
    if (options_.baselines.empty()) return "";
    return options_.baselines.size() == 1 ? options_.baselines[0] : options_.baselines[i];
  }

  // The baseline for the i-th conditions, if there is one that was made under them.
  std::optional<Report> Baseline(const Source& source, std::size_t i) const {
    Source old = source;
    old.model.path = BaselinePath(i);
    if (old.model.path.empty()) return std::nullopt;
    if (!Exists(old.model.path)) {
      throw Error("no baseline '{}'; write it with --update", Printable(old.model.path));
    }
    if (IsReportFile(old.model.path)) return ReadReport(old.model.path);
    Report report = LoadReport(Alone(old));
    AddJob(old, report);
    return report;
  }

  // The model on one device, where the options of the device are about those of the system.
  Source Alone(Source source) const {
    if (!options_.system.empty() && source.device.gpu.empty()) source.device = DeviceOptions();
    return source;
  }

  // What the model comes to on many devices, where that is asked for.
  void AddJob(const Source& source, Report& report) const {
    if (options_.system.empty() && options_.plan.plan.empty()) return;
    if (options_.plan.plan.empty()) throw Error("--system needs --parallel PLAN, such as dp=8");
    if (IsReportFile(source.model.path)) {
      throw Error("{}: --parallel needs the model, not a report of it",
                  Printable(source.model.path));
    }
    const JobOptions options = {source.model, source.device, source.count, options_.system};
    const Job job(options);
    const bool trains = !source.model.train.empty();
    const HybridPlan plan = PlanOf(options_.plan, job, ParsePlan(options_.plan.plan), trains);
    const StepProfile profile =
        job.Profile(plan.micro_batch, std::nullopt, DivisionOf(plan, trains));
    report.job = FactsOf(job, RunHybrid(profile, job.system(), plan));
  }

  CheckRun Check(std::size_t i, const CheckConditions& on) const {
    const Source source = Under(options_, on);
    std::optional<Report> baseline = Baseline(source, i);
    Report report = LoadReport(Alone(source), baseline ? &*baseline : nullptr);
    AddJob(source, report);
    // One report cannot be the baseline of several devices or sizes.
    if (baseline && file_.on.size() > 1 && !SameConditions(*baseline, report)) baseline.reset();
    CheckRequest request = request_;
    const bool nothing =
        request.budgets.empty() && !request.forbid_new_operators && request.fits_on.empty();
    if (nothing && (baseline || (!request.strict && !request.exact))) {
      if (!baseline) throw Error("nothing to check: give --baseline, --budget or --max");
      request.budgets = NoGrowth(*baseline);
    }
    return RunCheck(report, baseline ? &*baseline : nullptr, request);
  }

  void Update(std::size_t i) const {
    const std::string path = BaselinePath(i);
    if (path.empty()) throw Error("--update needs --baseline FILE to write");
    if (file_.on[i].IsRange()) throw Error("--update writes a report of one size, not of a range");
    const Source source = Under(options_, file_.on[i]);
    std::optional<Report> old;
    if (Exists(path)) {
      if (!IsReportFile(path)) {
        throw Error("--update writes a report, and '{}' is not one", Printable(path));
      }
      old = ReadReport(path);
    }
    Report report = LoadReport(Alone(source), old ? &*old : nullptr);
    AddJob(source, report);
    WriteOutput(path, RenderJson(report));
  }

  std::string Render(const std::vector<CheckRun>& runs) const {
    if (options_.format == "markdown") return RenderCheckMarkdown(runs);
    if (options_.format == "junit") return RenderCheckJunit(runs);
    if (options_.format == "github") return RenderCheckGithub(runs);
    if (options_.format == "json") return RenderCheckJson(runs);
    return RenderCheckText(runs, WidthOf(options_.output));
  }

  const Options& options_;
  BudgetFile file_;
  CheckRequest request_;
};

int Run(const Options& options, const CLI::App& app, const Applicability& applies) {
  RequireOneOf("--format", options.format, {"text", "markdown", "junit", "github", "json"});
  std::vector<std::string> files = {options.source.model.path};
  std::copy_if(options.baselines.begin(), options.baselines.end(), std::back_inserter(files),
               Exists);
  RequireModelFor(app, files, applies);
  return Checker(options).Run();
}

}  // namespace

void AddCheckCommand(Commands& commands) {
  auto options = std::make_shared<Options>();
  CLI::App* app = commands.app.add_subcommand("check", "fail when a model costs more than it may");
  app->footer(kExamples);
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
  list("--fits-on", options->fits_on, "device whose memory must hold weights and activations")
      ->type_name("ID");
  AddSystemOption(*app, options->system, "for budgets over a job: step_s, exposed_s, sent_bytes");
  app->add_option("--parallel", options->plan.plan, "how the job is laid out: dp=N,tp=N,pp=N,...")
      ->type_name("PLAN");
  app->add_option("--micro-batch", options->plan.micro_batch, "items that pass a device at a time")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--global-batch", options->plan.global_batch, "items of a step of the job")
      ->type_name("N");
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
      return Run(*options, *app, Applicability(commands.words));
    };
  });
}

}  // namespace dlcost
