#include "dlcost/difference.h"
#include "estimator/api/state.h"
#include "estimator/regress/render_check.h"
#include "estimator/request/model_check.h"

namespace dlcost::api {

struct Verdict::State {
  std::vector<CheckRun> runs;
};

Verdict::Verdict(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Verdict Check(const Report& report, const std::optional<Report>& baseline, const Limits& limits) {
  return Guarded([&] {
    dlcost::CheckRequest request;
    for (const std::string& text : limits.max) request.budgets.push_back(ParseBudget(text));
    request.forbid_new_operators = limits.forbid_new_operators;
    request.strict = limits.strict;
    request.exact = limits.exact;
    for (const std::string& name : limits.fits_on) {
      request.fits_on.push_back(OpenDatabase().Find(name));
    }
    const bool nothing = request.budgets.empty() && !request.forbid_new_operators &&
                         request.fits_on.empty() && !request.strict && !request.exact;
    if (nothing) {
      if (!baseline) throw dlcost::Error("nothing to check: give a baseline or a limit");
      request.budgets = NoGrowth(baseline->state().report);
    }
    return Verdict(std::make_shared<const Verdict::State>(Verdict::State{{RunCheck(
        report.state().report, baseline ? &baseline->state().report : nullptr, request)}}));
  });
}

namespace {

// `source` says what is checked.
Verdict::State RunsUnder(Source source, const CheckRequest& request) {
  if (request.device) source.device.found = &request.device->state().device;
  ModelCheckRequest asked{
      .source = std::move(source),
      .budget = request.budget_file,
      .max = request.limits.max,
      .fits_on = request.limits.fits_on,
      .found_system = request.system ? &request.system->state().system : nullptr,
      .plan = {.plan = request.plan,
               .micro_batch = request.micro_batch,
               .global_batch = request.global_batch},
      .forbid_new_operators = request.limits.forbid_new_operators,
      .strict = request.limits.strict,
      .exact = request.limits.exact};
  for (const Axis& axis : request.sizes) {
    asked.sizes.emplace_back(axis.batch ? "" : axis.name, SizesOf(axis));
  }
  for (const Baseline& baseline : request.baselines) {
    asked.baselines.push_back(
        {.path = baseline.path,
         .report = baseline.report ? &baseline.report->state().report : nullptr,
         .model = baseline.model ? &baseline.model->state().model : nullptr});
  }
  const ModelCheck check(std::move(asked));
  Verdict::State state;
  for (std::size_t i = 0; i < check.size(); ++i) state.runs.push_back(check.Run(i));
  return state;
}

}  // namespace

Verdict CheckUnder(const Model& model, const CheckRequest& request) {
  return Guarded([&] {
    Source source{.model = ModelOptionsOf(model, request.bindings, request.options),
                  .device = DeviceOptionsOf(request.options, nullptr),
                  .count = CountOptionsOf(request.options)};
    return Verdict(std::make_shared<const Verdict::State>(RunsUnder(std::move(source), request)));
  });
}

Verdict CheckUnder(const Report& report, const CheckRequest& request) {
  return Guarded([&] {
    if (!request.sizes.empty()) throw dlcost::Error("sizes want the model, not a report of it");
    Source source;
    source.model.path = report.model_path();
    source.report = &report.state().report;
    return Verdict(std::make_shared<const Verdict::State>(RunsUnder(std::move(source), request)));
  });
}

bool Verdict::passed() const { return AllPassed(state_->runs); }
std::vector<Requirement> Verdict::requirements() const {
  std::vector<Requirement> requirements;
  for (const CheckRun& run : state_->runs) {
    for (const CheckItem& item : run.items) {
      requirements.push_back({.name = item.name,
                              .detail = item.detail,
                              .passed = item.passed,
                              .value = item.value,
                              .baseline = item.baseline,
                              .allowed = item.allowed,
                              .offenders = item.offenders,
                              .under = run.title,
                              .at = item.point,
                              .broken_at = item.broken});
    }
  }
  return requirements;
}
std::string Verdict::Text() const {
  return Guarded([&] { return RenderCheckText(state_->runs); });
}
std::string Verdict::Json() const {
  return Guarded([&] { return RenderCheckJson(state_->runs); });
}
std::string Verdict::Markdown() const {
  return Guarded([&] { return RenderCheckMarkdown(state_->runs); });
}
std::string Verdict::Junit() const {
  return Guarded([&] { return RenderCheckJunit(state_->runs); });
}
std::string Verdict::Github() const {
  return Guarded([&] { return RenderCheckGithub(state_->runs); });
}

}  // namespace dlcost::api
