#include "dlcost/sweep.h"

#include <algorithm>

#include "estimator/api/state.h"
#include "estimator/core/spelling.h"
#include "estimator/request/sweep.h"

namespace dlcost::api {

// The sweep points into the model.
struct Sweep::State {
  Model model;
  dlcost::Sweep sweep;
  SweepRenderOptions render;
  std::vector<dlcost::SweepPoint> points;
};

Sweep::Sweep(std::shared_ptr<const State> state) : state_(std::move(state)) {}

SizeList SizesOf(const Axis& axis) {
  const std::string name = Printable(axis.name);
  if (!axis.list.empty()) {
    if (!axis.sizes.empty()) throw dlcost::Error("axis '{}': sizes and a list of them", name);
    return ParseSizeList(axis.batch ? "--batch" : "--dim " + name, axis.list);
  }
  if (axis.sizes.empty()) throw dlcost::Error("axis '{}' has no sizes", name);
  if (axis.weights.empty()) return ListedSizes(axis.sizes);
  if (axis.weights.size() != axis.sizes.size()) {
    throw dlcost::Error("axis '{}': {} weights of {} sizes", name, axis.weights.size(),
                        axis.sizes.size());
  }
  return ObservedSizes(name, axis.sizes, axis.weights);
}

namespace {

SweepPoint PointOf(const Sweep::State& state, const dlcost::SweepPoint& from) {
  const auto seconds = [](const std::optional<Seconds>& time) {
    return time ? std::optional(time->value()) : std::nullopt;
  };
  const SweepSetup& setup = state.sweep.setups.at(from.setup);
  SweepPoint point;
  point.sizes.assign(from.sizes.begin(), from.sizes.end());
  point.dtype = setup.dtype;
  point.precision = setup.precision;
  point.optimizer = setup.train;
  point.runtime = setup.report.runtime;
  if (!state.sweep.devices.empty()) point.device = state.sweep.devices.at(from.device).id;
  point.why_not = from.why_not;
  point.macs = from.macs.value();
  point.flops = from.flops.value();
  point.bytes = from.bytes.value();
  point.needed_bytes = from.needed.value();
  point.bound_s = seconds(from.bound);
  point.expected_s = seconds(from.expected);
  point.items_per_s = from.items_per_second();
  point.tokens_per_s = from.tokens_per_second();
  point.joules_per_item = JoulesPerItem(state.sweep, from);
  point.price_per_million_items = state.render.CostOf(state.sweep, from);
  point.fits = from.fits;
  point.limited_by = from.limiter;
  return point;
}

}  // namespace

Sweep RunSweep(const Model& model, const SweepRequest& request) {
  return Guarded([&] {
    auto state = std::make_shared<Sweep::State>(Sweep::State{model, {}, {}, {}});
    dlcost::SweepRequest asked{
        .model = ModelOptionsOf(state->model, request.bindings, request.options),
        .device = DeviceOptionsOf(request.options, nullptr),
        .count = CountOptionsOf(request.options),
        .runtimes = request.runtimes,
        .trains = request.optimizers,
        .precisions = request.precisions,
        .dtypes = request.dtypes,
        .devices = DevicesOf(request.devices),
        .bounds_only = request.bounds_only,
        .buckets = request.buckets,
        .conditions = request.conditions,
        .rank = request.rank,
        .price = request.price_per_hour};
    for (const Axis& axis : request.axes) {
      asked.axes.push_back({axis.batch ? "" : axis.name, SizesOf(axis)});
    }
    std::string left_out;
    if (request.served_alone && !asked.devices.empty()) {
      ServedDevices served = ServedByAll(asked, std::move(asked.devices));
      asked.devices = std::move(served.devices);
      left_out = std::move(served.left_out);
    }
    state->render = SelectionOf(asked);
    state->render.note = std::move(left_out);
    state->sweep = SweepOf(asked, state->model.state().model);
    dlcost::RunSweep(state->sweep,
                     [&](const dlcost::SweepPoint& point) { state->points.push_back(point); });
    return Sweep(std::move(state));
  });
}

std::vector<SweepPoint> Sweep::points() const {
  std::vector<SweepPoint> points;
  for (const dlcost::SweepPoint& point : state_->points) points.push_back(PointOf(*state_, point));
  return points;
}
std::vector<SweepPoint> Sweep::best() const {
  return Guarded([&] {
    std::vector<SweepPoint> best;
    for (const dlcost::SweepPoint* point : Ranked(state_->sweep, state_->render, state_->points)) {
      best.push_back(PointOf(*state_, *point));
    }
    return best;
  });
}
std::string Sweep::Text(std::size_t rows, bool plot) const {
  return Guarded([&] {
    SweepRenderOptions render = state_->render;
    render.rows = rows;
    render.plot = plot;
    if (plot && state_->sweep.devices.empty())
      throw dlcost::Error("times need a device: add --gpu");
    return SweepText(state_->sweep, render, state_->points);
  });
}
std::string Sweep::Json() const {
  return Guarded([&] {
    std::string json;
    WriteSweepJson(state_->sweep, state_->render, state_->points,
                   [&](std::string_view piece) { json += piece; });
    return json;
  });
}
std::string Sweep::Csv() const {
  return Guarded([&] {
    std::string csv = SweepCsvHead(state_->sweep);
    for (const auto& point : state_->points) {
      csv += SweepCsvLine(state_->sweep, state_->render, point);
    }
    return csv;
  });
}
std::string Sweep::Html() const {
  return Guarded([&] { return SweepHtml(state_->sweep, state_->render, state_->points); });
}
std::string Sweep::Svg(bool dark, const std::string& title) const {
  return Guarded([&] { return SweepSvg(state_->sweep, state_->points, dark, title); });
}

}  // namespace dlcost::api
