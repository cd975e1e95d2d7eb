#include "dlcost/sweep.h"

#include <algorithm>

#include "estimator/api/state.h"
#include "estimator/core/dtype_spelling.h"
#include "estimator/sweep/sweep.h"
#include "estimator/sweep/sweep_render.h"

namespace dlcost::api {

// The sweep points into the model.
struct Sweep::State {
  Model model;
  dlcost::Sweep sweep;
  std::vector<dlcost::SweepPoint> points;
};

Sweep::Sweep(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Sweep RunSweep(const Model& model, const SweepRequest& request) {
  return Guarded([&] {
    auto state = std::make_shared<Sweep::State>(Sweep::State{model, {}, {}});
    dlcost::Sweep& sweep = state->sweep;
    sweep.model = &state->model.state().model;
    ModelOptions options = ModelOptionsOf(state->model, request.bindings, request.options);
    sweep.infer = InferOptionsOf(options, BindingsOf(options));
    for (const Axis& axis : request.axes) {
      if (axis.sizes.empty()) throw dlcost::Error("axis '{}' has no sizes", Printable(axis.name));
      sweep.axes.push_back({.name = axis.batch ? "batch" : axis.name,
                            .sizes = axis.sizes,
                            .weights = {},
                            .batch = axis.batch});
    }
    sweep.devices = DevicesOf(request.devices);
    ReportOptions report;
    if (sweep.devices.empty()) report = ReportOptionsOf(request.options, nullptr);
    // The same for all of them, where the runtime has kernels for each.
    for (const dlcost::Device& device : sweep.devices) {
      report = ReportOptionsOf(request.options, &device);
    }
    options.plan = report.plan;
    const SweepSetup like = {.dtype = options.dtype,
                             .precision = options.precision,
                             .train = options.train,
                             .derive = DerivationOf(options),
                             .report = report};
    sweep.setups.assign(std::max<std::size_t>(request.dtypes.size(), 1), like);
    for (std::size_t i = 0; i < request.dtypes.size(); ++i) {
      sweep.setups[i].dtype = request.dtypes[i];
      if (!request.dtypes[i].empty()) ReadDType("--dtype", request.dtypes[i]);
    }
    sweep.bounds_only = request.bounds_only;
    dlcost::RunSweep(sweep,
                     [&](const dlcost::SweepPoint& point) { state->points.push_back(point); });
    return Sweep(std::move(state));
  });
}

std::vector<SweepPoint> Sweep::points() const {
  const auto seconds = [](const std::optional<Seconds>& time) {
    return time ? std::optional(time->value()) : std::nullopt;
  };
  std::vector<SweepPoint> points;
  for (const dlcost::SweepPoint& from : state_->points) {
    SweepPoint& point = points.emplace_back();
    point.sizes.assign(from.sizes.begin(), from.sizes.end());
    point.dtype = state_->sweep.setups.at(from.setup).dtype;
    if (!state_->sweep.devices.empty()) point.device = state_->sweep.devices.at(from.device).id;
    point.why_not = from.why_not;
    point.macs = from.macs.value();
    point.flops = from.flops.value();
    point.bytes = from.bytes.value();
    point.needed_bytes = from.needed.value();
    point.bound_s = seconds(from.bound);
    point.expected_s = seconds(from.expected);
    point.items_per_s = from.items_per_second();
    point.tokens_per_s = from.tokens_per_second();
    point.fits = from.fits;
    point.limited_by = from.limiter;
  }
  return points;
}
std::string Sweep::Text() const {
  return Guarded([&] { return SweepText(state_->sweep, {}, state_->points); });
}
std::string Sweep::Json() const {
  return Guarded([&] {
    std::string json;
    WriteSweepJson(state_->sweep, {}, state_->points,
                   [&](std::string_view piece) { json += piece; });
    return json;
  });
}
std::string Sweep::Csv() const {
  return Guarded([&] {
    std::string csv = SweepCsvHead(state_->sweep);
    for (const auto& point : state_->points) csv += SweepCsvLine(state_->sweep, {}, point);
    return csv;
  });
}

std::string Sweep::Html() const {
  return Guarded([&] { return SweepHtml(state_->sweep, {}, state_->points); });
}

}  // namespace dlcost::api
