#include "dlcost/difference.h"

#include "estimator/api/state.h"
#include "estimator/regress/render_diff.h"
#include "estimator/request/source.h"

namespace dlcost::api {

// The difference points into the reports.
struct Difference::State {
  Report before, after;
  ReportDiff diff;
};

Difference::Difference(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Difference Compare(const Report& before, const Report& after) {
  return Guarded([&] {
    return Difference(std::make_shared<const Difference::State>(Difference::State{
        before, after, DiffReports(before.state().report, after.state().report)}));
  });
}

namespace {

// Points into the side.
Source SourceOf(const DiffSide& side, ReportDetail detail) {
  Source source;
  source.detail = detail;
  if (side.device) source.device.found = &side.device->state().device;
  if (side.report) {
    source.report = &side.report->state().report;
    source.model.path = side.report->model_path();
    return source;
  }
  source.model = ModelOptionsOf(side.bindings, side.options);
  RequireNothingSought(source.model);
  source.model.path = side.model ? side.model->path() : side.path;
  if (side.model) source.model.read = &side.model->state().model;
  source.count = CountOptionsOf(side.options);
  source.device =
      DeviceOptionsOf(side.options, side.device ? &side.device->state().device : nullptr);
  return source;
}

struct Sides {
  DiffSide before, after;
  bool alike = true;

  std::pair<dlcost::Report, dlcost::Report> Load(ReportDetail detail) const {
    return LoadReports(SourceOf(before, detail), SourceOf(after, detail), alike);
  }
};

Report ReportOf(const DiffSide& side, dlcost::Report report,
                std::function<dlcost::Report()> for_page) {
  if (side.report) return *side.report;
  auto state = std::make_shared<Report::State>();
  state->report = std::move(report);
  if (side.device) state->device = side.device->state().device;
  // A report that was read is all that there is of it.
  if (side.model || !IsReportFile(side.path)) state->for_page = std::move(for_page);
  return Report(std::move(state));
}

}  // namespace

Difference CompareAs(const DiffSide& before, const DiffSide& after, bool alike) {
  return Guarded([&] {
    const auto sides = std::make_shared<const Sides>(Sides{before, after, alike});
    auto [first, second] = sides->Load(ReportDetail::kOperands);
    return Compare(ReportOf(before, std::move(first),
                            [sides] { return sides->Load(ReportDetail::kSteps).first; }),
                   ReportOf(after, std::move(second),
                            [sides] { return sides->Load(ReportDetail::kSteps).second; }));
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
std::string Difference::Markdown(std::size_t top) const {
  return Guarded([&] { return RenderDiffMarkdown(state_->diff, {.top = top}); });
}
std::string Difference::Html(const std::string& title) const {
  return Page({state_->before, state_->after}, title);
}

}  // namespace dlcost::api
