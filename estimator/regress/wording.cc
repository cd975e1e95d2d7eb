#include "estimator/regress/wording.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace dlcost {
namespace {

std::vector<std::string> Parts(const std::string& name) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : name + "/") {
    if (c != '/') {
      part += c;
    } else if (!part.empty()) {
      parts.push_back(part);
      part.clear();
    }
  }
  return parts;
}

}  // namespace

std::string ListNames(const std::vector<std::string>& names, std::size_t most) {
  if (names.empty()) return "";
  if (names.size() == 1) return names.front();
  const bool all = names.size() <= most;
  const auto shown = static_cast<std::ptrdiff_t>(all ? names.size() - 1 : most - 1);
  const std::string last =
      all ? names.back() : fmt::format("{} more", names.size() - static_cast<std::size_t>(shown));
  return fmt::format("{} and {}", fmt::join(names.begin(), names.begin() + shown, ", "), last);
}

std::string CommonModule(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::vector<std::string> common = Parts(names.front());
  if (!common.empty()) common.pop_back();
  for (const std::string& name : names) {
    const std::vector<std::string> parts = Parts(name);
    std::size_t same = 0;
    while (same < common.size() && same + 1 < parts.size() && common[same] == parts[same]) ++same;
    common.resize(same);
  }
  return fmt::to_string(fmt::join(common, "/"));
}

std::string ShortName(const std::string& name, const std::string& op, const std::string& module) {
  std::vector<std::string> parts = Parts(name);
  const std::size_t skip = std::min(module.empty() ? 0 : Parts(module).size(), parts.size() - 1);
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(skip));
  // "conv1/Conv" says no more than "conv1".
  if (parts.size() > 1 && parts.back().starts_with(op)) parts.pop_back();
  return Printable(fmt::to_string(fmt::join(parts, "/")));
}

std::string CostText(const Cost& difference, const Report& whole) {
  // Less of a total than one would write down: rounding, a bias more or less.
  constexpr double kNegligible = 5e-4;
  std::vector<std::string> texts;
  bool negligible = false;
  for (const TotalMetric& metric : Metrics()) {
    if (metric.node == nullptr || metric.name == "parameters") continue;
    // FLOPs follow from MACs, where there are any.
    if (metric.name == "flops" && difference.macs != 0) continue;
    const double value = metric.node(difference);
    const std::optional<double> total = metric.total(whole);
    if (value == 0 || !total) continue;
    if (std::abs(value) < kNegligible * *total) {
      negligible = true;
      continue;
    }
    std::string text = FormatChange(value, metric.unit);
    if (metric.name == "bytes") text += " of traffic";
    if (metric.name == "weight_bytes") text += " of weights";
    if (metric.name == "bound_s") text += " bound";
    if (metric.name == "expected_s") text += " expected";
    if (*total > 0) text += fmt::format(" ({})", FormatPercent(*total, *total + value));
    texts.push_back(text);
  }
  if (texts.empty()) return negligible ? "next to no cost" : "no cost";
  return fmt::to_string(fmt::join(texts, ", "));
}

std::string Sentence(const Change& change, const Report& whole) {
  Cost all = change.cost;
  all += change.follower_cost;
  std::string text = change.what;
  const std::int64_t known = change.followers - change.lost;
  const auto nodes = [](std::int64_t n) {
    return fmt::format("{} {}", n, n == 1 ? "node" : "nodes");
  };
  if (known > 0) text += fmt::format("; {} downstream with other shapes", nodes(known));
  if (change.lost > 0)
    text += fmt::format("; {} downstream now of unknown cost", nodes(change.lost));
  if (change.told_elsewhere) return text + ": counted with what else changed at these nodes";
  return text + ": " + CostText(all, whole);
}

}  // namespace dlcost
