#include "dlcost/difference.h"

#include "estimator/api/state.h"
#include "estimator/hardware/database.h"
#include "estimator/regress/check.h"
#include "estimator/regress/render_check.h"
#include "estimator/regress/render_diff.h"

namespace dlcost::api {

// The difference points into the reports.
struct Difference::State {
  Report before, after;
  ReportDiff diff;
};

struct Verdict::State {
  CheckRun run;
};

Difference::Difference(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Difference Compare(const Report& before, const Report& after) {
  return Guarded([&] {
    return Difference(std::make_shared<const Difference::State>(Difference::State{
        before, after, DiffReports(before.state().report, after.state().report)}));
  });
}

std::vector<Change> Difference::changes() const {
  std::vector<Change> changes;
  for (const dlcost::Change& change : state_->diff.changes) {
    changes.push_back({.kind = std::string(Name(change.kind)),
                       .where = change.where,
                       .what = change.what,
                       .before = change.before,
                       .after = change.after,
                       .macs = change.cost.macs,
                       .flops = change.cost.flops,
                       .bytes = change.cost.bytes,
                       .followers = change.followers});
  }
  return changes;
}
std::int64_t Difference::same() const { return state_->diff.same; }
std::vector<std::string> Difference::notes() const { return state_->diff.Notes(); }
std::string Difference::Text(std::size_t top) const {
  return Guarded([&] { return RenderDiffText(state_->diff, {.top = top}); });
}
std::string Difference::Json() const {
  return Guarded([&] { return RenderDiffJson(state_->diff); });
}
std::string Difference::Markdown() const {
  return Guarded([&] { return RenderDiffMarkdown(state_->diff, {}); });
}
std::string Difference::Html(const std::string& title) const {
  return Page({state_->before, state_->after}, title);
}

Verdict::Verdict(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Verdict Check(const Report& report, const std::optional<Report>& baseline, const Limits& limits) {
  return Guarded([&] {
    CheckRequest request;
    for (const std::string& text : limits.max) request.budgets.push_back(ParseBudget(text));
    request.forbid_new_operators = limits.forbid_new_operators;
    request.strict = limits.strict;
    request.exact = limits.exact;
    for (const std::string& name : limits.fits_on) {
      request.fits_on.push_back(DeviceDatabase::FromEnvironment().Find(name));
    }
    const bool nothing = request.budgets.empty() && !request.forbid_new_operators &&
                         request.fits_on.empty() && !request.strict && !request.exact;
    if (nothing) {
      if (!baseline) throw dlcost::Error("nothing to check: give a baseline or a limit");
      request.budgets = NoGrowth(baseline->state().report);
    }
    return Verdict(std::make_shared<const Verdict::State>(Verdict::State{
        RunCheck(report.state().report, baseline ? &baseline->state().report : nullptr, request)}));
  });
}

bool Verdict::passed() const { return state_->run.Passed(); }
std::vector<Requirement> Verdict::requirements() const {
  std::vector<Requirement> requirements;
  for (const CheckItem& item : state_->run.items) {
    requirements.push_back({.name = item.name,
                            .detail = item.detail,
                            .passed = item.passed,
                            .value = item.value,
                            .baseline = item.baseline,
                            .allowed = item.allowed,
                            .offenders = item.offenders});
  }
  return requirements;
}
std::string Verdict::Text() const {
  return Guarded([&] { return RenderCheckText({state_->run}); });
}
std::string Verdict::Json() const {
  return Guarded([&] { return RenderCheckJson({state_->run}); });
}
std::string Verdict::Markdown() const {
  return Guarded([&] { return RenderCheckMarkdown({state_->run}); });
}
std::string Verdict::Junit() const {
  return Guarded([&] { return RenderCheckJunit({state_->run}); });
}

}  // namespace dlcost::api
