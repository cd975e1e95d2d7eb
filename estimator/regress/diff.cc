#include "estimator/regress/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "estimator/regress/compose.h"

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

std::vector<std::string> DiffSettings(const Report& before, const Report& after) {
  std::vector<std::string> notes;
  const auto compare = [&](const char* what, const std::string& a, const std::string& b) {
    if (a != b) notes.push_back(fmt::format("{}: {} before, {} after", what, a, b));
  };
  const auto device = [](const Report& r) { return r.device ? r.device->id : "none"; };
  compare("device", device(before), device(after));
  compare("math", std::string(Name(before.options.bound.math)),
          std::string(Name(after.options.bound.math)));
  compare("cache", std::string(Name(before.options.bound.cache)),
          std::string(Name(after.options.bound.cache)));
  compare("fusion", std::string(Name(before.options.plan.fusion)),
          std::string(Name(after.options.plan.fusion)));
  const auto dtype = [](const Report& r) {
    return r.options.dtype.empty() ? "as the file says" : r.options.dtype;
  };
  compare("data type", dtype(before), dtype(after));
  compare("convention", before.options.convention, after.options.convention);
  std::map<std::string, std::pair<std::string, std::string>> dims;
  for (const auto& [name, size] : before.model.dims) dims[name].first = std::to_string(size);
  for (const auto& [name, size] : after.model.dims) dims[name].second = std::to_string(size);
  for (const auto& [name, sizes] : dims) {
    // A symbol that only one of the files has is a name, not a size.
    if (sizes.first.empty() || sizes.second.empty()) continue;
    compare(("dimension " + Printable(name)).c_str(), sizes.first, sizes.second);
  }
  const auto opset = [](const Report& r) {
    const auto found = r.model.opset.find("");
    return found == r.model.opset.end() ? std::string("none") : std::to_string(found->second);
  };
  compare("opset", opset(before), opset(after));
  return notes;
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

ReportDiff DiffReports(const Report& before, const Report& after) {
  const GraphView a(before), b(after);
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
  const GraphComparison comparison{a, b, matching, deltas};
  diff.changes = ComposePrecision(comparison);
  for (const Cause& cause : FindCauses(comparison)) {
    diff.changes.push_back(ComposeChange(cause, comparison));
  }
  MergeAlike(diff.changes);
  std::stable_sort(diff.changes.begin(), diff.changes.end(), Larger);
  diff.by_op = DiffGroups(before, after);
  diff.notes = DiffSettings(before, after);
  return diff;
}

}  // namespace dlcost
