#include "estimator/request/model_check.h"

#include <filesystem>

#include "estimator/core/error.h"
#include "estimator/regress/report_reader.h"

namespace dlcost {
namespace {

bool Exists(const std::string& path) {
  std::error_code error;  // what cannot be looked at cannot be read
  return std::filesystem::exists(path, error);
}

bool SameConditions(const Report& a, const Report& b) {
  const auto device = [](const Report& r) { return r.device ? r.device->id : ""; };
  return device(a) == device(b) && a.model.dims == b.model.dims;
}

// The baseline as it is read, under the options of the model.
Source SourceOf(const ModelCheckRequest::Baseline& baseline, Source like) {
  like.report = baseline.report;
  like.model.read = baseline.model;
  like.model.path = baseline.model != nullptr ? baseline.model->path : baseline.path;
  return like;
}

bool IsReport(const ModelCheckRequest::Baseline& baseline) {
  return dlcost::IsReport(SourceOf(baseline, {}));
}

bool IsThere(const ModelCheckRequest::Baseline& baseline) {
  return baseline.report != nullptr || baseline.model != nullptr || Exists(baseline.path);
}

}  // namespace

ModelCheck::ModelCheck(ModelCheckRequest request) : request_(std::move(request)) {
  if (!request_.budget.empty()) file_ = ReadBudgetFile(request_.budget);
  if (file_.on.empty()) file_.on.emplace_back();
  for (CheckConditions& on : file_.on) AddSizes(on);
  limits_.budgets = file_.budgets;
  for (const std::string& text : request_.max) limits_.budgets.push_back(ParseBudget(text));
  limits_.forbid_new_operators = file_.forbid_new_operators || request_.forbid_new_operators;
  limits_.strict = request_.strict;
  limits_.exact = request_.exact;
  for (const auto* names : {&file_.fits_on, &request_.fits_on}) {
    for (const std::string& name : *names) limits_.fits_on.push_back(OpenDatabase().Find(name));
  }
  const std::size_t baselines = request_.baselines.size();
  if (baselines > 1 && baselines != size()) {
    throw Error("{} baselines for {} sets of conditions: give one, or one for each", baselines,
                size());
  }
}

// Where the file has none.
void ModelCheck::AddSizes(CheckConditions& on) const {
  for (const auto& [name, sizes] : request_.sizes) {
    if (!name.empty()) {
      on.dims.emplace(name, sizes);
    } else if (!on.batch) {
      on.batch = sizes;
    }
  }
}

std::size_t ModelCheck::PointsOf(std::size_t i) const { return file_.on[i].Points().size(); }

const ModelCheckRequest::Baseline* ModelCheck::BaselineOf(std::size_t i) const {
  if (request_.baselines.empty()) return nullptr;
  return &request_.baselines[request_.baselines.size() == 1 ? 0 : i];
}

// The source under conditions of one size each.
Source ModelCheck::Under(const CheckConditions& on) const {
  Source source = request_.source;
  if (!on.gpu.empty()) {
    source.device.gpu = on.gpu;
    source.device.found = nullptr;
  }
  if (on.batch) source.model.batch = on.batch->Sizes().front();
  for (const auto& [name, size] : on.dims) {
    source.model.dims.push_back(name + "=" + std::to_string(size.Sizes().front()));
  }
  return source;
}

bool ModelCheck::HasJob() const {
  return !request_.system.empty() || request_.found_system != nullptr;
}

// The model on one device, where the options of the device are about those of the system: what a
// device of the plan passes at a time.
Source ModelCheck::Alone(Source source) const {
  if (!request_.plan.plan.empty() && !dlcost::IsReport(source)) {
    if (source.model.batch) throw Error("--batch: say --micro-batch and --global-batch instead");
    source.model.batch = request_.plan.micro_batch;
  }
  if (HasJob() && source.device.gpu.empty() && source.device.found == nullptr) {
    source.device = DeviceOptions();
  }
  return source;
}

// What the model comes to on many devices, where that is asked for.
void ModelCheck::AddJob(const Source& source, Report& report) const {
  if (!HasJob() && request_.plan.plan.empty()) return;
  if (request_.plan.plan.empty()) throw Error("--system needs --parallel PLAN, such as dp=8");
  if (dlcost::IsReport(source)) {
    throw Error("{}: --parallel needs the model, not a report of it", Printable(source.model.path));
  }
  const JobOptions options = {.model = source.model,
                              .device = source.device,
                              .count = source.count,
                              .system = request_.system,
                              .found = request_.found_system};
  const Job job(options, "--micro-batch", true);
  const bool trains = !source.model.train.empty();
  const HybridPlan plan = PlanOf(request_.plan, job, ParsePlan(request_.plan.plan), trains);
  const StepProfile profile = job.Profile(plan.micro_batch, {}, DivisionOf(plan, trains));
  report.job = FactsOf(job, RunHybrid(profile, job.system(), plan));
}

// If there is one that was made under these conditions.
std::optional<Report> ModelCheck::ReadBaseline(const Source& source, std::size_t i) const {
  const ModelCheckRequest::Baseline* baseline = BaselineOf(i);
  if (baseline == nullptr) return std::nullopt;
  if (!IsThere(*baseline)) {
    throw Error("no baseline '{}'; write it with --update", Printable(baseline->path));
  }
  if (baseline->report != nullptr) return *baseline->report;
  if (IsReport(*baseline)) return ReadReport(baseline->path);
  const Source old = SourceOf(*baseline, source);
  Report report = LoadReport(Alone(old));
  AddJob(old, report);
  return report;
}

CheckRun ModelCheck::RunAt(std::size_t i, const CheckConditions& on) const {
  const Source source = Under(on);
  std::optional<Report> baseline = ReadBaseline(source, i);
  Report report = LoadReport(Alone(source), baseline ? &*baseline : nullptr);
  AddJob(source, report);
  if (request_.on_checked) request_.on_checked();
  // One report cannot be the baseline of several devices or sizes.
  if (baseline && size() > 1 && !SameConditions(*baseline, report)) baseline.reset();
  CheckRequest limits = limits_;
  const bool nothing =
      limits.budgets.empty() && !limits.forbid_new_operators && limits.fits_on.empty();
  if (nothing && (baseline || (!limits.strict && !limits.exact))) {
    if (!baseline) throw Error("nothing to check: give --baseline, --budget or --max");
    limits.budgets = NoGrowth(*baseline);
  }
  return RunCheck(report, baseline ? &*baseline : nullptr, limits);
}

CheckRun ModelCheck::RunRange(std::size_t i) const {
  const CheckConditions& on = file_.on[i];
  const ModelCheckRequest::Baseline* baseline = BaselineOf(i);
  if (baseline != nullptr && IsThere(*baseline) && IsReport(*baseline)) {
    throw Error("'{}' is a report of one size: for {}, give an older model as --baseline",
                Printable(baseline->report ? baseline->report->model.path : baseline->path),
                on.SizesText());
  }
  std::vector<std::string> points;
  std::vector<CheckRun> runs;
  for (const CheckConditions& point : on.Points()) {
    points.push_back(on.NameOf(point));
    try {
      runs.push_back(RunAt(i, point));
    } catch (const Error& error) {
      throw Error("at {}: {}", points.back(), error.what());
    }
  }
  return OverRange(on.SizesText(), points, runs);
}

CheckRun ModelCheck::Run(std::size_t i) const {
  return file_.on[i].IsRange() ? RunRange(i) : RunAt(i, file_.on[i]);
}

Report ModelCheck::NewBaseline(std::size_t i) const {
  if (file_.on[i].IsRange()) throw Error("--update writes a report of one size, not of a range");
  const Source source = Under(file_.on[i]);
  std::optional<Report> old;
  const ModelCheckRequest::Baseline* baseline = BaselineOf(i);
  if (baseline != nullptr && IsThere(*baseline)) {
    if (!IsReport(*baseline)) {
      throw Error("--update writes a report, and '{}' is not one", Printable(baseline->path));
    }
    old = baseline->report != nullptr ? *baseline->report : ReadReport(baseline->path);
  }
  Report report = LoadReport(Alone(source), old ? &*old : nullptr);
  AddJob(source, report);
  return report;
}

}  // namespace dlcost
