#include <algorithm>

#include "estimator/sweep/sweep_render.h"

namespace dlcost {

std::optional<double> SweepRenderOptions::CostOf(const Sweep& sweep,
                                                 const SweepPoint& point) const {
  const std::optional<double> rate = point.items_per_second();
  if (!rate || *rate <= 0) return std::nullopt;
  // Without the values that --set gave it.
  const std::string& id = sweep.devices[point.device].id;
  auto at = price.find(id.substr(0, id.find(' ')));
  if (at == price.end()) at = price.find("");
  if (at == price.end()) return std::nullopt;
  return at->second / 3600 / *rate * 1e6;
}

std::optional<double> SweepRenderOptions::RankOf(const Sweep& sweep,
                                                 const SweepPoint& point) const {
  if (rank == "energy") return point.joules_per_item();
  if (rank == "price") return CostOf(sweep, point);
  const std::optional<Seconds> latency = point.latency();
  if (!latency) return std::nullopt;
  return rank == "latency" ? latency->value() : -point.items_per_second().value_or(0);
}

std::vector<const SweepPoint*> Ranked(const Sweep& sweep, const SweepRenderOptions& options,
                                      const std::vector<SweepPoint>& points) {
  std::vector<const SweepPoint*> met;
  for (const SweepPoint& point : points) {
    const bool meets = std::all_of(options.conditions.begin(), options.conditions.end(),
                                   [&](const SweepCondition& c) { return c.Meets(point); });
    if (point.why_not.empty() && point.fits.value_or(true) && meets &&
        options.RankOf(sweep, point)) {
      met.push_back(&point);
    }
  }
  std::stable_sort(met.begin(), met.end(), [&](const SweepPoint* a, const SweepPoint* b) {
    return *options.RankOf(sweep, *a) < *options.RankOf(sweep, *b);
  });
  return met;
}

}  // namespace dlcost
