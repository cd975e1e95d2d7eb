#include <algorithm>
#include <cmath>

#include "estimator/sweep/sweep_render.h"

namespace dlcost {

std::optional<double> SweepRenderOptions::CostOf(const Sweep& sweep,
                                                 const SweepPoint& point) const {
  const std::optional<double> rate = point.items_per_second();
  if (!rate) return std::nullopt;
  // Without the values that --set gave it.
  const std::string& id = sweep.devices[point.device].id;
  auto at = price.find(id.substr(0, id.find(' ')));
  if (at == price.end()) at = price.find("");
  if (at == price.end()) return std::nullopt;
  return at->second / 3600 / *rate * 1e6;
}

std::vector<const SweepPoint*> Ranked(const Sweep& sweep, const SweepRenderOptions& options,
                                      const std::vector<SweepPoint>& points) {
  std::vector<const SweepPoint*> met;
  for (const SweepPoint& point : points) {
    const bool meets = std::all_of(options.conditions.begin(), options.conditions.end(),
                                   [&](const SweepCondition& c) { return c.Meets(point); });
    if (point.why_not.empty() && point.fits.value_or(true) && point.latency() && meets) {
      met.push_back(&point);
    }
  }
  const auto cost = [&](const SweepPoint* point) -> double {
    if (options.rank == "latency") return point->latency()->value();
    if (options.rank == "energy") return point->joules_per_item().value_or(HUGE_VAL);
    if (options.rank == "price") return options.CostOf(sweep, *point).value_or(HUGE_VAL);
    return -point->items_per_second().value_or(0);
  };
  std::stable_sort(met.begin(), met.end(),
                   [&](const SweepPoint* a, const SweepPoint* b) { return cost(a) < cost(b); });
  return met;
}

}  // namespace dlcost
