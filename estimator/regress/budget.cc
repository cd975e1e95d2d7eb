#include "estimator/regress/budget.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

// Unix wildcards: * for any text, ? for one character. Iterative, linear in practice.
bool Matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string_view UnitName(MetricUnit unit) {
  switch (unit) {
    case MetricUnit::kMacs:
      return "MAC";
    case MetricUnit::kFlops:
      return "FLOP";
    case MetricUnit::kBytes:
      return "B";
    case MetricUnit::kSeconds:
      return "s";
    case MetricUnit::kNumber:
      break;
  }
  return "";
}

// The factor that a suffix such as "GFLOP", "MB", "MiB", "us", "k" stands for; none when it is
// none.
std::optional<double> Factor(std::string suffix, MetricUnit unit) {
  const std::string_view name = UnitName(unit);
  if (!name.empty() && suffix.ends_with(name))
    suffix.resize(suffix.size() - name.size());
  else if (unit == MetricUnit::kMacs && suffix.ends_with("MACs"))
    suffix.resize(suffix.size() - 4);
  else if (unit == MetricUnit::kFlops && suffix.ends_with("FLOPs"))
    suffix.resize(suffix.size() - 5);
  if (suffix.empty()) return 1.0;
  if (unit == MetricUnit::kSeconds) {
    static constexpr std::pair<std::string_view, double> kSmall[] = {
        {"m", 1e-3}, {"u", 1e-6}, {"µ", 1e-6}, {"n", 1e-9}};
    for (const auto& [prefix, factor] : kSmall) {
      if (suffix == prefix) return factor;
    }
    return std::nullopt;
  }
  static constexpr std::string_view kPrefixes = "kMGTPE";
  const std::size_t power = kPrefixes.find(suffix == "K" ? 'k' : suffix[0]);
  if (power == std::string_view::npos) return std::nullopt;
  if (suffix.size() == 1 || suffix == "K") return std::pow(1000.0, power + 1);
  const bool binary = suffix.size() == 2 && suffix[1] == 'i' && unit == MetricUnit::kBytes;
  return binary ? std::optional(std::pow(1024.0, power + 1)) : std::nullopt;
}

std::string WithoutBlanks(const std::string& text) {
  std::string kept;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0 && c != ',' && c != '_') kept += c;
  }
  return kept;
}

}  // namespace

Limit ParseLimit(const std::string& text, MetricUnit unit) {
  const std::string compact = WithoutBlanks(text);
  const auto wrong = [&] {
    return Error(
        "'{}' is no limit: write a number with a unit (8.2 G, 40 MB, 1.5 ms), or the growth "
        "that is allowed (+10 MB, +2 %)",
        Printable(text));
  };
  char* end = nullptr;
  const double number = std::strtod(compact.c_str(), &end);
  if (end == compact.c_str() || !std::isfinite(number)) throw wrong();
  const bool is_signed = compact[0] == '+' || compact[0] == '-';
  const std::string suffix = end;
  if (suffix == "%") {
    if (!is_signed) throw wrong();
    return {Limit::Kind::kRelative, number / 100};
  }
  const std::optional<double> factor = Factor(suffix, unit);
  if (!factor) throw wrong();
  return {is_signed ? Limit::Kind::kGrowth : Limit::Kind::kAbsolute, number * *factor};
}

std::string LimitText(const Limit& limit, MetricUnit unit) {
  switch (limit.kind) {
    case Limit::Kind::kAbsolute:
      return FormatMetric(limit.value, unit);
    case Limit::Kind::kGrowth:
      return limit.value == 0 ? "+0" : FormatChange(limit.value, unit);
    case Limit::Kind::kRelative:
      break;
  }
  return fmt::format("{:+g} %", limit.value * 100);
}

bool Subset::Contains(const NodeRow& row) const {
  if (!op.empty() && !Matches(op, row.op)) return false;
  if (!scope.empty() && row.scope != scope && !row.scope.starts_with(scope + "/")) return false;
  return node.empty() || Matches(node, row.name);
}

std::string BudgetText(const Budget& budget) {
  std::string text(budget.metric->title);
  const Subset& subset = budget.subset;
  if (!subset.op.empty()) text += " of " + Printable(subset.op);
  if (!subset.scope.empty()) text += " in " + Printable(subset.scope);
  if (!subset.node.empty()) text += " at " + Printable(subset.node);
  return text;
}

void RequireNodeMetric(const Budget& budget) {
  if (budget.subset.All() || budget.metric->node != nullptr) return;
  throw Error("{} is of the whole model and cannot be limited for a part", budget.metric->name);
}

Budget ParseBudget(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string::npos) {
    throw Error("--max '{}' is not of the form METRIC=LIMIT, e.g. macs=+2%", Printable(text));
  }
  std::string name = text.substr(0, equals);
  Budget budget;
  if (const std::size_t bracket = name.find('['); bracket != std::string::npos) {
    const std::size_t colon = name.find(':', bracket);
    if (colon == std::string::npos || name.back() != ']') {
      throw Error("--max '{}': a part of the model is [op:Conv], [scope:layer4] or [node:*conv1*]",
                  Printable(text));
    }
    const std::string kind = name.substr(bracket + 1, colon - bracket - 1);
    const std::string pattern = name.substr(colon + 1, name.size() - colon - 2);
    if (kind == "op") {
      budget.subset.op = pattern;
    } else if (kind == "scope") {
      budget.subset.scope = pattern;
    } else if (kind == "node") {
      budget.subset.node = pattern;
    } else {
      throw Error("--max '{}': '{}' is not op, scope or node", Printable(text), Printable(kind));
    }
    name.resize(bracket);
  }
  budget.metric = &FindMetric(name);
  budget.max = ParseLimit(text.substr(equals + 1), budget.metric->unit);
  RequireNodeMetric(budget);
  return budget;
}

}  // namespace dlcost
