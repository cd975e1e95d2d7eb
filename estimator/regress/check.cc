#include "estimator/regress/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "estimator/regress/render_diff.h"
#include "estimator/report/certainty_text.h"
#include "estimator/report/layers.h"

namespace dlcost {
namespace {

constexpr std::size_t kMostOffenders = 5;

double Value(const Report& report, const Budget& budget) {
  if (budget.subset.All()) {
    const std::optional<double> value = budget.metric->total(report);
    if (!value) {
      throw Error("a budget for {} needs a device: give --gpu, or gpu: under on:",
                  budget.metric->name);
    }
    return *value;
  }
  Cost cost;
  const std::vector<Cost> costs = NodeCosts(report);
  for (std::size_t i = 0; i < costs.size(); ++i) {
    if (budget.subset.Contains(report.nodes[i])) cost += costs[i];
  }
  return budget.metric->node(cost);
}

// What of the budget's nodes is not exact.
Doubt DoubtOf(const Report& report, const Budget& budget) {
  if (budget.subset.All()) return report.certainty.doubt;
  Doubt doubt;
  for (const NodeRow& node : report.nodes) {
    if (!budget.subset.Contains(node)) continue;
    Doubt of_node = node.doubt();
    // Traffic and times stand with the kernel, below.
    for (Doubt::Part* part : {&of_node.at_most, &of_node.assumed}) {
      part->bytes = Bytes();
      part->time = part->expected = Seconds();
    }
    Accumulate(doubt, of_node);
  }
  for (const KernelRow& kernel : report.kernels) {
    if (!budget.subset.Contains(report.nodes[kernel.main])) continue;
    const auto add = [](Doubt::Part& into, const Doubt::Part& part) {
      into.bytes += part.bytes;
      into.time += part.time;
      into.expected += part.expected;
    };
    add(doubt.at_most, kernel.doubt.at_most);
    add(doubt.assumed, kernel.doubt.assumed);
  }
  return doubt;
}

double Allowed(const Limit& limit, double baseline) {
  switch (limit.kind) {
    case Limit::Kind::kAbsolute:
      return limit.value;
    case Limit::Kind::kGrowth:
      return baseline + limit.value;
    case Limit::Kind::kRelative:
      break;
  }
  return baseline * (1 + limit.value);
}

// Sums of times in another order differ in the last digits.
bool Exceeds(double value, double allowed, MetricUnit unit) {
  const double slack = unit == MetricUnit::kSeconds ? 1e-9 * allowed : 0;
  return value > allowed + slack;
}

// What the change adds to the nodes that the budget is about; none where it does not touch them.
std::optional<Cost> CostWithin(const Change& change, const Subset& subset) {
  Cost cost = change.cost;
  cost += change.follower_cost;
  if (subset.All()) return cost;
  cost = Cost();
  bool touched = false;
  for (const NodeShare& share : change.shares) {
    if (!subset.Contains(*share.node)) continue;
    cost += share.cost;
    touched = true;
  }
  if (!touched) return std::nullopt;
  return cost;
}

// Adds the changes that cost most of the metric; without a baseline, the nodes that do.
void AddOffenders(const Report& report, const ReportDiff* diff, const Budget& budget,
                  CheckItem& item) {
  struct Part {
    double size;
    std::string reason;
  };
  std::vector<Part> parts;
  const TotalMetric& metric = *budget.metric;
  if (diff != nullptr) {
    for (const Change& change : diff->changes) {
      const std::optional<Cost> cost = CostWithin(change, budget.subset);
      if (!cost) continue;
      const double part = metric.node == nullptr ? 0 : metric.node(*cost);
      if (metric.node != nullptr && part <= 0) continue;
      parts.push_back({part, change.where + ": " + change.what});
    }
  } else if (metric.node != nullptr) {
    const std::vector<Cost> costs = NodeCosts(report);
    for (std::size_t i = 0; i < costs.size(); ++i) {
      const double part = metric.node(costs[i]);
      if (part <= 0 || !budget.subset.Contains(report.nodes[i])) continue;
      parts.push_back({part, Printable(report.nodes[i].name)});
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.size > b.size; });
  for (std::size_t i = 0; i < std::min(parts.size(), kMostOffenders); ++i) {
    const auto& [size, reason] = parts[i];
    const std::string amount =
        diff == nullptr ? FormatMetric(size, metric.unit) : FormatChange(size, metric.unit);
    item.offenders.push_back(size == 0 ? reason : reason + ": " + amount);
    item.reasons.push_back(reason);
  }
  if (parts.size() > kMostOffenders) {
    item.offenders.push_back(fmt::format("... {} more", parts.size() - kMostOffenders));
  }
}

// How a number stands to the truth, and how the one that it is compared with does.
struct Standings {
  Standing now = Standing::kExact, before = Standing::kExact;
};

// What a verdict is worth that rests on numbers which are not exact; "" when all are.
std::string Caveat(const Standings& standings, bool passed) {
  if (standings.before != Standing::kExact) return "; not between exact numbers";
  switch (standings.now) {
    case Standing::kAtMost:
      return passed ? "; an upper bound" : "; an upper bound: what runs may be within the limit";
    case Standing::kAtLeast:
      return passed ? "; without unknown nodes: what runs may be over the limit"
                    : "; without unknown nodes";
    case Standing::kAbout:
      return "; an estimate";
    case Standing::kExact:
      break;
  }
  return "";
}

// "10.60 GMAC, was 4.089 GMAC (+159.3 %); at most +2 % (4.171 GMAC)".
std::string AgainstBaseline(double value, double before, double allowed, const Limit& limit,
                            MetricUnit unit, const Standings& standings) {
  std::string text = Marked(standings.now, FormatMetric(value, unit));
  if (value == before && standings.now == standings.before) {
    text += ", as before";
  } else {
    text += fmt::format(", was {} ({})", Marked(standings.before, FormatMetric(before, unit)),
                        FormatPercent(before, value));
  }
  if (limit.value == 0) return text + "; may not grow";
  return text +
         fmt::format("; at most {} ({})", LimitText(limit, unit), FormatMetric(allowed, unit));
}

std::string RunTitle(const Report& report) {
  std::string title = Title(report);
  for (const auto& [name, size] : report.model.dims) {
    title += fmt::format(", {}={}", Printable(name), size);
  }
  return title;
}

std::string WithoutStars(std::string pattern) {
  std::erase_if(pattern, [](char c) { return c == '*' || c == '?'; });
  return pattern;
}

// "encoder", "encoder/0", "encoder/0/attention" of a node's scope.
void AddModules(const NodeRow& row, std::vector<std::string>& names) {
  for (std::size_t end = 0; end < row.scope.size();) {
    end = std::min(row.scope.find('/', end + 1), row.scope.size());
    names.push_back(row.scope.substr(0, end));
  }
}

// Throws Error for a budget of nodes that there are none of: mistyped, it would hold for ever. A
// limit of 0 keeps them out, and what the baseline had was removed.
void RequirePart(const Report& report, const Report* baseline, const Budget& budget) {
  if (budget.subset.All()) return;
  if (budget.max.kind == Limit::Kind::kAbsolute && budget.max.value == 0) return;
  std::vector<const NodeRow*> rows;
  for (const Report* one : {&report, baseline}) {
    if (one == nullptr) continue;
    for (const NodeRow& row : one->nodes) rows.push_back(&row);
  }
  const auto any = [&](const Subset& subset) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const NodeRow* row) { return subset.Contains(*row); });
  };
  if (any(budget.subset)) return;
  const std::string where = baseline == nullptr ? "the model has" : "model and baseline have";
  const auto require = [&](const Subset& subset, const char* what, const std::string& pattern,
                           const auto& names_of) {
    if (pattern.empty() || any(subset)) return;
    std::vector<std::string> known;
    for (const NodeRow* row : rows) names_of(*row, known);
    throw Error("{}: {} no {} '{}'{}; a limit of 0 is for what is to stay out", BudgetText(budget),
                where, what, Printable(pattern), DidYouMean(WithoutStars(pattern), known));
  };
  const Subset& subset = budget.subset;
  require({.op = subset.op}, "operator", subset.op,
          [](const NodeRow& row, auto& names) { names.push_back(row.op); });
  require({.scope = subset.scope}, "module", subset.scope, AddModules);
  require({.node = subset.node}, "node", subset.node, [](const NodeRow& row, auto& names) {
    names.push_back(row.name);
    for (std::string& part : PathParts(row.name)) names.push_back(std::move(part));
  });
  throw Error("{}: {} no node that is all of that; a limit of 0 is for what is to stay out",
              BudgetText(budget), where);
}

CheckItem CheckBudget(const Report& report, const Report* baseline, const ReportDiff* diff,
                      const Budget& budget) {
  if (budget.max.NeedsBaseline() && baseline == nullptr) {
    throw Error("a limit of {} for {} needs a baseline of {}: give --baseline",
                LimitText(budget.max, budget.metric->unit), BudgetText(budget), RunTitle(report));
  }
  RequirePart(report, baseline, budget);
  const MetricUnit unit = budget.metric->unit;
  const double value = Value(report, budget);
  const double before = budget.max.NeedsBaseline() ? Value(*baseline, budget) : 0;
  const double allowed = Allowed(budget.max, before);
  CheckItem item{.name = BudgetText(budget)};
  item.passed = !Exceeds(value, allowed, unit);
  Standings standings{.now = budget.metric->StandingOf(DoubtOf(report, budget))};
  if (budget.max.NeedsBaseline()) {
    standings.before = budget.metric->StandingOf(DoubtOf(*baseline, budget));
  }
  item.value = value;
  item.allowed = allowed;
  if (budget.max.NeedsBaseline()) {
    item.baseline = before;
    item.detail = AgainstBaseline(value, before, allowed, budget.max, unit, standings);
  } else {
    item.detail = fmt::format("{}, at most {}", Marked(standings.now, FormatMetric(value, unit)),
                              FormatMetric(allowed, unit));
    if (!item.passed)
      item.detail += fmt::format(": {} too much", FormatMetric(value - allowed, unit));
  }
  item.detail += Caveat(standings, item.passed);
  if (item.passed) return item;
  // A part that no node has (a peak, a count of launches) is put down to the changes if it grew.
  const bool blame =
      diff == nullptr || budget.metric->node != nullptr || value > Value(*baseline, budget);
  if (blame) AddOffenders(report, diff, budget, item);
  return item;
}

std::string OperatorName(const NodeRow& row) {
  return row.domain.empty() ? row.op : row.domain + "::" + row.op;
}

CheckItem CheckOperators(const Report& report, const Report* baseline) {
  if (baseline == nullptr) {
    throw Error("forbidding new operators needs a baseline of {}: give --baseline",
                RunTitle(report));
  }
  std::set<std::string> known;
  for (const NodeRow& row : baseline->nodes) known.insert(OperatorName(row));
  CheckItem item{.name = "operators", .detail = "no new ones"};
  std::set<std::string> fresh;
  for (const NodeRow& row : report.nodes) {
    const std::string name = OperatorName(row);
    if (known.count(name) != 0 || !fresh.insert(name).second) continue;
    item.offenders.push_back(Printable(row.name) + ": " + Printable(name));
  }
  item.passed = fresh.empty();
  if (!item.passed) item.detail = fmt::format("new: {}", fmt::join(fresh, ", "));
  return item;
}

CheckItem CheckFits(const Report& report, const Device& device) {
  if (!device.memory.size) {
    throw Error("fits on {}: the size of its memory is not public", device.id);
  }
  const Bytes needed = report.needed();
  CheckItem item{.name = "fits on " + device.id};
  item.passed = needed <= *device.memory.size;
  item.value = needed.AsDouble();
  item.allowed = device.memory.size->AsDouble();
  item.detail =
      fmt::format("weights and activations {}, memory {:.4g} GiB",
                  FormatMetric(*item.value, MetricUnit::kBytes), *item.allowed / (1 << 30));
  return item;
}

CheckItem CheckKnown(const Report& report) {
  CheckItem item{.name = "nothing unknown"};
  item.passed = report.unknown.empty();
  item.detail = item.passed ? "every node is counted"
                            : fmt::format("{} nodes are not", report.unknown.size());
  for (std::size_t i = 0; i < std::min(report.unknown.size(), kMostOffenders); ++i) {
    const UnknownRow& row = report.unknown[i];
    item.offenders.push_back(fmt::format("{}: {}", Printable(row.node), row.why));
  }
  return item;
}

CheckItem CheckExact(const Report& report) {
  CheckItem item{.name = "everything exact"};
  item.passed = report.certainty.Exact();
  item.detail = item.passed ? "no count is an upper bound, assumed or unknown"
                            : "totals are " + Word(report.certainty.doubt);
  if (item.passed) return item;
  for (const CertaintyLine& line :
       CertaintyLines(report.certainty, report.totals, kMostOffenders)) {
    item.offenders.push_back(line.label.empty() ? line.text : line.label + ": " + line.text);
  }
  return item;
}

}  // namespace

bool CheckRun::Passed() const {
  return std::all_of(items.begin(), items.end(), [](const CheckItem& i) { return i.passed; });
}

std::vector<Budget> NoGrowth(const Report& report) {
  std::vector<Budget> budgets;
  for (const TotalMetric& metric : Metrics()) {
    if (metric.name == "nodes" || !metric.total(report)) continue;
    budgets.push_back({.metric = &metric, .max = {Limit::Kind::kGrowth, 0}});
  }
  return budgets;
}

CheckRun RunCheck(const Report& report, const Report* baseline, const CheckRequest& request) {
  CheckRun run{.title = RunTitle(report), .path = report.model.path};
  std::optional<ReportDiff> diff;
  if (baseline != nullptr) {
    diff = DiffReports(*baseline, report);
    run.notes = StaleReasons(*diff);
  }
  const std::vector<std::string> certainty = CertaintyNotes(report);
  run.notes.insert(run.notes.end(), certainty.begin(), certainty.end());
  for (const Budget& budget : request.budgets) {
    run.items.push_back(CheckBudget(report, baseline, diff ? &*diff : nullptr, budget));
  }
  if (request.forbid_new_operators) run.items.push_back(CheckOperators(report, baseline));
  if (request.strict) run.items.push_back(CheckKnown(report));
  if (request.exact) run.items.push_back(CheckExact(report));
  for (const Device& device : request.fits_on) run.items.push_back(CheckFits(report, device));
  return run;
}

std::vector<std::string> StaleReasons(const ReportDiff& diff) {
  const Report &baseline = *diff.before, &report = *diff.after;
  std::vector<std::string> reasons = diff.conditions;
  for (const std::string& fact : diff.model_facts) {
    if (!fact.starts_with("opset")) reasons.push_back(fact);
  }
  for (std::string& reason : reasons) reason = "the baseline was made otherwise: " + reason;
  if (!baseline.untold.empty()) {
    reasons.push_back(
        fmt::format("the baseline was written by an earlier dlcost, which did not tell {} yet; "
                    "taken as by default; --update writes it anew",
                    fmt::join(baseline.untold, ", ")));
  }
  if (baseline.device && report.device && baseline.device->id == report.device->id) {
    const auto other = [](double a, double b) { return std::abs(a - b) > 1e-9 * std::abs(a); };
    bool changed = baseline.device->bandwidth && report.device->bandwidth &&
                   other(baseline.device->bandwidth->value(), report.device->bandwidth->value());
    for (const auto& then : baseline.device->roofs) {
      for (const auto& now : report.device->roofs) {
        changed |= then.name == now.name && other(then.peak.value(), now.peak.value());
      }
    }
    if (changed) {
      reasons.push_back(
          fmt::format("the baseline is stale: the peaks of {} were others then; accept the new "
                      "ones with --update",
                      report.device->id));
    }
  }
  return reasons;
}

}  // namespace dlcost
