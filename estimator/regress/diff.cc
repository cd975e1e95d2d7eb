#include "estimator/regress/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <map>

#include "estimator/regress/compose.h"
#include "estimator/report/certainty_text.h"

namespace dlcost {
namespace {

// What decides the order of changes: time where it is known, then work, then bytes.
bool Larger(const Change& a, const Change& b) {
  const auto key = [](const Change& change) {
    Cost all = change.cost;
    all += change.follower_cost;
    const auto size = [](auto value) { return std::abs(static_cast<double>(value)); };
    return std::tuple(size(all.expected), size(all.bound), size(all.flops), size(all.bytes),
                      size(all.weight_bytes));
  };
  return key(a) > key(b);
}

std::vector<GroupDiff> DiffGroups(const Report& before, const Report& after) {
  std::vector<GroupDiff> groups;
  std::map<std::string, std::size_t> index;
  for (const GroupRow& row : after.by_op) {
    index[row.name] = groups.size();
    groups.push_back({row.name, std::nullopt, row.sums});
  }
  for (const GroupRow& row : before.by_op) {
    const auto [at, fresh] = index.emplace(row.name, groups.size());
    if (fresh) groups.push_back({row.name, std::nullopt, std::nullopt});
    groups[at->second].before = row.sums;
  }
  return groups;
}

class NoteList {
 public:
  void Compare(const std::string& what, const std::string& before, const std::string& after) {
    if (before != after)
      texts_.push_back(fmt::format("{}: {} before, {} after", what, before, after));
  }
  std::vector<std::string> Take() { return std::move(texts_); }

 private:
  std::vector<std::string> texts_;
};

// What a report was made for and how it counts.
std::vector<std::string> DiffConditions(const Report& before, const Report& after) {
  NoteList notes;
  const auto compare = [&](const char* what, const auto& text_of) {
    notes.Compare(what, std::string(text_of(before)), std::string(text_of(after)));
  };
  using Text = std::string;
  compare("device", [](const Report& r) -> Text { return r.device ? r.device->id : "none"; });
  // Reports of older versions do not tell.
  if (!before.options.runtime.empty() && !after.options.runtime.empty()) {
    compare("runtime", [](const Report& r) -> Text { return r.options.runtime; });
  }
  compare("math", [](const Report& r) { return Name(r.options.run.math); });
  compare("cache", [](const Report& r) { return Name(r.options.run.cache); });
  compare("launch", [](const Report& r) { return Name(r.options.run.launch); });
  compare("fusion", [](const Report& r) { return Name(r.options.plan.fusion); });
  compare("attention", [](const Report& r) { return Name(r.options.plan.Form()); });
  compare("convolutions", [](const Report& r) -> Text {
    if (r.options.run.conv) return Text(Name(*r.options.run.conv));
    return r.options.run.timed_convolutions ? "timed" : "ranked";
  });
  compare("data type", [](const Report& r) -> Text {
    return r.options.model.dtype.empty() ? "as the file says" : r.options.model.dtype;
  });
  compare("precision", [](const Report& r) -> Text {
    return r.options.model.precision.empty() ? "as the file says" : r.options.model.precision;
  });
  const auto list = [&](const char* what, std::vector<Text> ModelQuestion::*texts) {
    compare(what, [texts](const Report& r) -> Text {
      const std::vector<Text>& all = r.options.model.*texts;
      return all.empty() ? "none" : fmt::format("{}", fmt::join(all, " "));
    });
  };
  list("frozen parameters", &ModelQuestion::frozen);
  list("--at", &ModelQuestion::at);
  list("--trips", &ModelQuestion::trips);
  list("--branch", &ModelQuestion::branches);
  list("--value", &ModelQuestion::values);
  compare("assumptions", [](const Report& r) -> Text {
    return r.options.model.assume.empty() ? "none" : r.options.model.assume;
  });
  compare("gradients of embeddings", [](const Report& r) -> Text {
    return r.options.model.sparse_embeddings ? "sparse" : "dense";
  });
  compare("convention", [](const Report& r) { return r.options.convention; });
  return notes.Take();
}

// Sizes and operator sets.
std::vector<std::string> DiffModelFacts(const Report& before, const Report& after) {
  NoteList notes;
  std::map<std::string, std::pair<std::string, std::string>> dims;
  for (const auto& [name, size] : before.model.dims) dims[name].first = std::to_string(size);
  for (const auto& [name, size] : after.model.dims) dims[name].second = std::to_string(size);
  for (const auto& [name, sizes] : dims) {
    // A symbol that only one of the files has is a name, not a size.
    if (sizes.first.empty() || sizes.second.empty()) continue;
    notes.Compare("dimension " + Printable(name), sizes.first, sizes.second);
  }
  const auto opset = [](const Report& r) {
    const auto found = r.model.opset.find("");
    return found == r.model.opset.end() ? std::string("none") : std::to_string(found->second);
  };
  notes.Compare("opset", opset(before), opset(after));
  return notes.Take();
}

std::vector<std::string> DiffCertainty(const Report& before, const Report& after) {
  const std::vector<std::string> then = CertaintyNotes(before), now = CertaintyNotes(after);
  std::vector<std::string> notes;
  const auto add = [&](const char* side, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) notes.push_back(fmt::format("{}, {}", side, text));
  };
  if (then == now) {
    add("both", then);
  } else {
    add("before", then);
    add("after", now);
  }
  return notes;
}

std::vector<std::string> UntoldNotes(const Report& before, const Report& after) {
  std::vector<std::string> notes;
  const auto add = [&](const char* side, const Report& report) {
    if (report.untold.empty()) return;
    notes.push_back(fmt::format(
        "{} was written by an earlier dlcost, which did not tell {} yet; taken as by default", side,
        fmt::join(report.untold, ", ")));
  };
  if (before.untold == after.untold) {
    add("either side", before);
  } else {
    add("before", before);
    add("after", after);
  }
  return notes;
}

// Reports of older versions do not say which node reads which weight.
bool KnowsWeightsOfNodes(const GraphView& view, const Report& report) {
  return report.model.parameters == Count(0) ||
         std::any_of(view.costs.begin(), view.costs.end(),
                     [](const Cost& cost) { return cost.parameters != 0; });
}

void ForgetWeights(GraphView& view) {
  for (Cost& cost : view.costs) cost.parameters = cost.weight_bytes = 0;
}

// The difference of the totals that the changes leave unexplained.
Cost RestOf(const ReportDiff& diff) {
  const Cost before = TotalCost(*diff.before), after = TotalCost(*diff.after);
  Cost rest = after - before;
  for (const Change& change : diff.changes) {
    rest = rest - change.cost;
    rest = rest - change.follower_cost;
  }
  // Sums of times in another order differ in the last digits.
  const auto settle = [](double& time, double whole) {
    if (std::abs(time) < 1e-9 * whole) time = 0;
  };
  settle(rest.bound, std::max(before.bound, after.bound));
  settle(rest.expected, std::max(before.expected, after.expected));
  return rest;
}

}  // namespace

std::string_view Name(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kInput:
      return "input";
    case ChangeKind::kPrecision:
      return "precision";
    case ChangeKind::kChanged:
      return "changed";
    case ChangeKind::kAdded:
      return "added";
    case ChangeKind::kRemoved:
      return "removed";
    case ChangeKind::kReplaced:
      return "replaced";
    case ChangeKind::kMoved:
      return "moved";
  }
  return "";
}

std::vector<std::string> ReportDiff::Notes() const {
  std::vector<std::string> notes = conditions;
  notes.insert(notes.end(), model_facts.begin(), model_facts.end());
  notes.insert(notes.end(), certainty.begin(), certainty.end());
  notes.insert(notes.end(), untold.begin(), untold.end());
  return notes;
}

ReportDiff DiffReports(const Report& before, const Report& after) {
  // Two large graphs take as long as everything that follows.
  std::future<GraphView> view = std::async(std::launch::async, [&] { return GraphView(after); });
  GraphView a(before);
  GraphView b = view.get();
  if (!KnowsWeightsOfNodes(a, before) || !KnowsWeightsOfNodes(b, after)) {
    ForgetWeights(a);
    ForgetWeights(b);
  }
  const Matching matching = MatchNodes(a.nodes, b.nodes);
  ReportDiff diff{.before = &before, .after = &after};
  std::vector<NodeDelta> deltas(b.nodes.size());
  for (std::size_t i = 0; i < b.nodes.size(); ++i) {
    const std::int32_t partner = matching.after_to_before[i];
    if (partner == kNoMatch) continue;
    deltas[i] = CompareNodes(a.Row(partner), *b.rows[i]);
    diff.same += deltas[i].Any() ? 0 : 1;
    diff.renamed += a.Row(partner).name == b.rows[i]->name ? 0 : 1;
  }
  diff.conditions = DiffConditions(before, after);
  const GraphComparison comparison{a, b, matching, deltas, diff.conditions.empty()};
  diff.changes = ComposePrecision(comparison);
  for (const Cause& cause : FindCauses(comparison)) {
    diff.changes.push_back(ComposeChange(cause, comparison));
  }
  MergeAlike(diff.changes);
  std::stable_sort(diff.changes.begin(), diff.changes.end(), Larger);
  diff.rest = RestOf(diff);
  diff.by_op = DiffGroups(before, after);
  diff.model_facts = DiffModelFacts(before, after);
  diff.certainty = DiffCertainty(before, after);
  diff.untold = UntoldNotes(before, after);
  return diff;
}

}  // namespace dlcost
