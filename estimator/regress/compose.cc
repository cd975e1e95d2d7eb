#include "estimator/regress/compose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "estimator/regress/wording.h"

namespace dlcost {
namespace {

using Indices = std::vector<std::int32_t>;

bool AllAre(const GraphView& view, const Indices& nodes, const char* op) {
  return !nodes.empty() && std::all_of(nodes.begin(), nodes.end(),
                                       [&](std::int32_t i) { return view.Row(i).op == op; });
}

// "Conv 3x3, 64 -> 64 channels and Relu"; "2 Conv, 3 Relu" for many.
std::string DescribeAll(const GraphView& view, const Indices& nodes) {
  std::vector<std::string> texts;
  if (nodes.size() <= 3) {
    for (const std::int32_t i : nodes) texts.push_back(Describe(view.Row(i)));
    return ListNames(texts);
  }
  std::map<std::string, int> counts;
  std::vector<std::string> order;
  for (const std::int32_t i : nodes) {
    if (counts[view.Row(i).op]++ == 0) order.push_back(view.Row(i).op);
  }
  for (const std::string& op : order) texts.push_back(fmt::format("{} {}", counts[op], op));
  return fmt::format("{} nodes ({})", nodes.size(), fmt::join(texts, ", "));
}

std::vector<std::string> NamesOf(const GraphView& view, const Indices& nodes) {
  std::vector<std::string> names;
  for (const std::int32_t i : nodes) names.push_back(view.Row(i).name);
  return names;
}

class Composer {
 public:
  Composer(const Cause& cause, const GraphComparison& comparison) : cause_(cause), c_(comparison) {}

  Change Run() {
    Structure();
    Inputs();
    Changed();
    if (!cause_.moved.empty()) {
      Say(ChangeKind::kMoved, "moved: fed by another node than before");
    }
    if (texts_.empty()) Readers();
    if (texts_.empty()) Say(ChangeKind::kChanged, "other shapes");
    change_.what = fmt::to_string(fmt::join(texts_, "; "));
    Place();
    Costs();
    return std::move(change_);
  }

 private:
  void Say(ChangeKind kind, const std::string& text) {
    if (texts_.empty()) change_.kind = kind;
    texts_.push_back(text);
  }

  bool OnlyBias(const char* change) const {
    return !cause_.changed.empty() &&
           std::all_of(cause_.changed.begin(), cause_.changed.end(), [&](std::int32_t b) {
             const NodeDelta& delta = c_.deltas[Index(b)];
             return delta.weights == std::vector<std::string>{change} && delta.attributes.empty() &&
                    !delta.out_before;
           });
  }

  void Structure() {
    const bool added = !cause_.added.empty(), removed = !cause_.removed.empty();
    if (added != removed && cause_.changed.size() == 1 && DeltaOfFirst().fusion &&
        DeltaOfFirst().attributes.empty() && DeltaOfFirst().weights.empty()) {
      const std::int32_t b = cause_.changed.front();
      const NodeRow& before = c_.before.Row(c_.matching.after_to_before[Index(b)]);
      Say(ChangeKind::kReplaced,
          removed ? fmt::format("{} fused into {}, now {}", DescribeAll(c_.before, cause_.removed),
                                before.op, c_.after.Row(b).op)
                  : fmt::format("{} taken out of {}, now {}", DescribeAll(c_.after, cause_.added),
                                before.op, c_.after.Row(b).op));
      folded_ = fused_ = true;
    } else if (added && removed) {
      Say(ChangeKind::kReplaced,
          fmt::format("{} replaced by {}", DescribeAll(c_.before, cause_.removed),
                      DescribeAll(c_.after, cause_.added)));
    } else if (removed && AllAre(c_.before, cause_.removed, "BatchNormalization") &&
               OnlyBias("gained a bias")) {
      Say(ChangeKind::kRemoved, "BatchNormalization folded into the convolution");
      folded_ = true;
    } else if (added && AllAre(c_.after, cause_.added, "BatchNormalization") &&
               OnlyBias("lost a bias")) {
      Say(ChangeKind::kAdded, "BatchNormalization taken out of the convolution");
      folded_ = true;
    } else if (removed) {
      Say(ChangeKind::kRemoved, DescribeAll(c_.before, cause_.removed) + " removed");
    } else if (added) {
      Say(ChangeKind::kAdded, DescribeAll(c_.after, cause_.added) + " added");
    }
  }

  const NodeDelta& DeltaOfFirst() const { return c_.deltas[Index(cause_.changed.front())]; }

  void Inputs() {
    const bool several = cause_.inputs.size() > 1;
    for (const auto& [before, after] : cause_.inputs) {
      Say(ChangeKind::kInput, fmt::format("{}{} -> {}", several ? Printable(after->name) + " " : "",
                                          ShapeText(before->shape), ShapeText(after->shape)));
    }
  }

  std::string Short(std::int32_t b) const {
    return ShortName(c_.after.Row(b).name, c_.after.Row(b).op, module_);
  }

  std::vector<std::string> ChangedAndReaders() const {
    std::vector<std::string> names = NamesOf(c_.after, cause_.changed);
    const std::vector<std::string> readers = NamesOf(c_.after, cause_.readers);
    names.insert(names.end(), readers.begin(), readers.end());
    return names;
  }

  const char* Noun() const {
    const std::string& op = c_.after.Row(cause_.changed.front()).op;
    return op.find("Conv") == std::string::npos ? "features" : "channels";
  }

  // Wider or narrower layers, told once for all that changed alike; then everything else.
  void Changed() {
    if (folded_) return;
    const std::vector<std::string> names_of_all = ChangedAndReaders();
    module_ = CommonModule(names_of_all);
    const bool several = names_of_all.size() > 1;
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::string>> widened;
    std::map<std::string, std::vector<std::string>> other;
    for (const std::int32_t b : cause_.changed) {
      const NodeDelta& delta = c_.deltas[Index(b)];
      if (delta.out_before) widened[{*delta.out_before, *delta.out_after}].push_back(Short(b));
      std::vector<std::string> texts = delta.attributes;
      if (delta.fusion) {
        const std::int32_t a = c_.matching.after_to_before[Index(b)];
        texts.push_back(fmt::format("{} -> {}", c_.before.Row(a).op, c_.after.Row(b).op));
      }
      texts.insert(texts.end(), delta.weights.begin(), delta.weights.end());
      if (texts.empty()) continue;
      std::string text = fmt::to_string(fmt::join(texts, ", "));
      if (!delta.output_change.empty() && !delta.out_before) {
        text += fmt::format(" (output {})", delta.output_change);
      }
      other[text].push_back(Short(b));
    }
    for (const auto& [text, names] : other) {
      Say(ChangeKind::kChanged, several ? ListNames(names) + " " + text : text);
    }
    for (const auto& [features, names] : widened) {
      const auto& [from, to] = features;
      Say(ChangeKind::kChanged,
          fmt::format("{}{} from {} to {} output {}", several ? ListNames(names) + " " : "",
                      to > from ? "widened" : "narrowed", from, to, Noun()));
    }
    if (!widened.empty()) Readers();
  }

  void Readers() {
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::string>> read;
    for (const std::int32_t b : cause_.readers) {
      const NodeDelta& delta = c_.deltas[Index(b)];
      read[{*delta.in_before, *delta.in_after}].push_back(Short(b));
    }
    for (const auto& [features, names] : read) {
      Say(ChangeKind::kChanged,
          fmt::format("{} {} {} instead of {}", ListNames(names),
                      names.size() == 1 ? "reads" : "read", features.second, features.first));
    }
  }

  // Where a reader looks for it: the node, the module, or behind which node.
  void Place() {
    std::vector<std::string> names;
    if (!cause_.changed.empty()) names = ChangedAndReaders();
    if (!fused_ && (!cause_.added.empty() || !cause_.removed.empty())) {
      names = cause_.added.empty() ? NamesOf(c_.before, cause_.removed)
                                   : NamesOf(c_.after, cause_.added);
    }
    if (names.empty()) names = NamesOf(c_.after, cause_.moved);
    if (names.empty() && cause_.inputs.empty()) names = NamesOf(c_.after, cause_.readers);
    if (names.empty() && cause_.inputs.empty()) names = NamesOf(c_.after, cause_.followers);
    if (names.empty()) {
      const bool one = cause_.inputs.size() == 1;
      change_.where = one ? "input " + Printable(cause_.inputs.front().second->name) : "inputs";
    } else if (names.size() == 1) {
      change_.where = Printable(names.front());
    } else if (const std::string module = CommonModule(names); !module.empty()) {
      change_.where = Printable(module);
    } else {
      for (std::string& name : names) name = Printable(name);
      change_.where = ListNames(names);
    }
  }

  void AddShare(const NodeRow& row, const Cost& cost, Cost& to) {
    if (cost.IsZero()) return;
    to += cost;
    change_.shares.push_back({&row, cost});
  }

  void AddPair(std::int32_t b, Cost& to) { AddShare(c_.after.Row(b), c_.CostDelta(b), to); }

  void Costs() {
    for (const std::int32_t a : cause_.removed) {
      AddShare(c_.before.Row(a), Cost() - c_.before.CostOf(a), change_.cost);
      change_.before.push_back(c_.before.Row(a).name);
    }
    for (const std::int32_t b : cause_.added) {
      AddShare(c_.after.Row(b), c_.after.CostOf(b), change_.cost);
      change_.after.push_back(c_.after.Row(b).name);
    }
    for (const Indices* nodes : {&cause_.changed, &cause_.readers, &cause_.moved}) {
      for (const std::int32_t b : *nodes) {
        AddPair(b, change_.cost);
        change_.before.push_back(c_.before.Row(c_.matching.after_to_before[Index(b)]).name);
        change_.after.push_back(c_.after.Row(b).name);
      }
    }
    for (const std::int32_t b : cause_.followers) {
      AddPair(b, change_.follower_cost);
      change_.lost += c_.after.Row(b).status == NodeStatus::kUnknown ? 1 : 0;
    }
    for (const std::int32_t b : cause_.regrouped) AddPair(b, change_.follower_cost);
    change_.followers = static_cast<std::int64_t>(cause_.followers.size());
  }

  const Cause& cause_;
  const GraphComparison& c_;
  Change change_;
  std::vector<std::string> texts_;
  std::string module_;
  bool folded_ = false;  // told together with what went into it
  bool fused_ = false;
};

}  // namespace

Change ComposeChange(const Cause& cause, const GraphComparison& comparison) {
  return Composer(cause, comparison).Run();
}

std::vector<Change> ComposePrecision(const GraphComparison& c) {
  std::map<std::pair<DType, DType>, Change> by_type;
  for (std::size_t b = 0; b < c.deltas.size(); ++b) {
    const NodeDelta& delta = c.deltas[b];
    const std::int32_t a = c.matching.after_to_before[b];
    if (a == kNoMatch || delta.type_before == DType::kUndefined) continue;
    Change& change = by_type[{delta.type_before, delta.type_after}];
    const NodeRow &then = c.before.Row(a), &now = *c.after.rows[b];
    change.before.push_back(then.name);
    change.after.push_back(now.name);
    // What the shapes changed as well is told, and counted, with the shapes.
    if (!delta.Own() && !delta.shapes && !delta.in_before) {
      const Cost cost = c.CostDelta(static_cast<std::int32_t>(b));
      change.cost += cost;
      change.shares.push_back({&now, cost});
    }
  }
  std::vector<Change> changes;
  for (auto& [types, change] : by_type) {
    change.told_elsewhere = change.shares.empty();
    change.kind = ChangeKind::kPrecision;
    change.where = change.after.size() == 1 ? Printable(change.after.front()) : "precision";
    const bool all = change.after.size() == c.deltas.size();
    const std::string nodes =
        change.after.size() == 1
            ? ""
            : fmt::format(" in {}{} nodes", all ? "all " : "", change.after.size());
    change.what = fmt::format("{} -> {}{}", Name(types.first), Name(types.second), nodes);
    changes.push_back(std::move(change));
  }
  return changes;
}

void MergeAlike(std::vector<Change>& changes) {
  std::map<std::pair<ChangeKind, std::string>, std::size_t> first;
  std::map<std::size_t, std::vector<std::string>> places;
  std::vector<Change> merged;
  for (Change& change : changes) {
    const auto [at, fresh] = first.emplace(std::pair(change.kind, change.what), merged.size());
    places[at->second].push_back(change.where);
    if (fresh) {
      merged.push_back(std::move(change));
      continue;
    }
    Change& into = merged[at->second];
    into.before.insert(into.before.end(), change.before.begin(), change.before.end());
    into.after.insert(into.after.end(), change.after.begin(), change.after.end());
    into.shares.insert(into.shares.end(), change.shares.begin(), change.shares.end());
    into.cost += change.cost;
    into.told_elsewhere &= change.told_elsewhere;
    into.followers += change.followers;
    into.lost += change.lost;
    into.follower_cost += change.follower_cost;
  }
  for (const auto& [index, names] : places) {
    if (names.size() == 1) continue;
    constexpr std::size_t kNamed = 3;
    merged[index].where = ListNames(names, kNamed);
    if (names.size() > kNamed) merged[index].what += fmt::format(", {} times", names.size());
  }
  changes = std::move(merged);
}

}  // namespace dlcost
