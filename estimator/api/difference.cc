#include "dlcost/difference.h"

#include "estimator/api/state.h"
#include "estimator/regress/render_diff.h"

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
