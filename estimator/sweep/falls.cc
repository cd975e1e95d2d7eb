#include "estimator/sweep/falls.h"

#include <algorithm>
#include <map>

#include "estimator/core/error.h"
#include "estimator/sweep/sweep_model.h"

namespace dlcost {
namespace {

// A kernel as it runs at a point.
struct Seen {
  std::string op;
  double per_item = 0;  // s
  SweepFall::Run run;
  // Multiply-adds that the units could do in its waves, per item.
  std::optional<double> wave_work;
};

std::map<std::string, Seen> KernelsAt(const Sweep& sweep, const SweepPoint& point) {
  const SweepModel model(sweep);
  ReportOptions options = sweep.setups[point.setup].report;
  options.detail = ReportDetail::kRows;
  const Report report =
      BuildReport(model.Infer(point.sizes, point.setup), sweep.devices[point.device], options);
  const double items = static_cast<double>(point.items);
  std::map<std::string, Seen> kernels;
  for (const KernelRow& kernel : report.kernels) {
    if (!kernel.sums.expected) continue;
    const double seconds = kernel.sums.expected->value();
    Seen seen{.op = kernel.op,
              .per_item = seconds / items,
              .run = {.algorithm = kernel.algorithm, .time = Seconds(seconds)}};
    const TileGrid* grid = kernel.execution == nullptr ? nullptr : kernel.execution->Grid();
    if (grid != nullptr) {
      const Count units = report.device->units, waves = grid->Waves(units);
      seen.run.tiles = grid->Blocks().value();
      seen.run.waves = waves.value();
      seen.wave_work = waves.AsDouble() * grid->tile_m.AsDouble() * grid->tile_n.AsDouble() *
                       grid->padded_k().AsDouble() / grid->split_k.AsDouble() / items;
    }
    kernels.emplace(report.nodes[kernel.main].name, std::move(seen));
  }
  return kernels;
}

void Explain(const Sweep& sweep, SweepFall& fall) {
  const std::map<std::string, Seen> before = KernelsAt(sweep, *fall.from);
  const std::map<std::string, Seen> after = KernelsAt(sweep, *fall.to);
  const auto growth = [&](const auto& kernel) {
    const auto was = before.find(kernel.first);
    return was == before.end() ? 0 : kernel.second.per_item - was->second.per_item;
  };
  std::map<std::string, double> by_op;
  for (const auto& kernel : after) by_op[kernel.second.op] += growth(kernel);
  const auto op = std::max_element(
      by_op.begin(), by_op.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (op == by_op.end() || op->second <= 0) return;
  const std::pair<const std::string, Seen>* most = nullptr;
  for (const auto& kernel : after) {
    if (kernel.second.op != op->first) continue;
    if (most == nullptr || growth(kernel) > growth(*most)) most = &kernel;
  }
  const auto was = before.find(most->first);
  if (was == before.end()) return;
  fall.op = op->first;
  fall.node = most->first;
  fall.before = was->second.run;
  fall.after = most->second.run;
  fall.units = sweep.devices[fall.to->device].units.value_or(1);
  if (!was->second.wave_work || !most->second.wave_work) return;
  const double work = *most->second.wave_work / *was->second.wave_work - 1;
  const double time = most->second.per_item / was->second.per_item - 1;
  fall.by_waves = work >= time / 2;
}

}  // namespace

std::vector<SweepFall> FallsOf(const Sweep& sweep, const SweepCurve& curve, std::size_t explained) {
  constexpr double kFall = 0.03;  // less is no cliff
  const std::optional<std::size_t> axis = CurveAxis(sweep);
  if (!axis) return {};
  std::vector<const SweepPoint*> ordered;
  for (const SweepPoint* point : curve.points) {
    if (point->why_not.empty() && point->items_per_second()) ordered.push_back(point);
  }
  std::stable_sort(ordered.begin(), ordered.end(), [&](const SweepPoint* a, const SweepPoint* b) {
    return a->sizes[*axis] < b->sizes[*axis];
  });
  std::vector<SweepFall> falls;
  for (std::size_t i = 1; i < ordered.size(); ++i) {
    if (ordered[i]->items <= ordered[i - 1]->items) continue;  // longer items, not more of them
    const double share = 1 - *ordered[i]->items_per_second() / *ordered[i - 1]->items_per_second();
    if (share > kFall) falls.push_back({.from = ordered[i - 1], .to = ordered[i], .share = share});
  }
  std::stable_sort(falls.begin(), falls.end(),
                   [](const SweepFall& a, const SweepFall& b) { return a.share > b.share; });
  for (std::size_t i = 0; i < std::min(explained, falls.size()); ++i) {
    try {
      Explain(sweep, falls[i]);
    } catch (const Error&) {  // what took the sizes before does so again; a fall stands without
    }
  }
  return falls;
}

}  // namespace dlcost
