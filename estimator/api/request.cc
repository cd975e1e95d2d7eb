#include "estimator/api/state.h"
#include "estimator/runtime/runtime.h"

namespace dlcost::api {

ModelOptions ModelOptionsOf(const std::string& path, const Bindings& bindings,
                            const Options& options) {
  ModelOptions model;
  model.path = path;
  model.trips = bindings.trips;
  model.branches = bindings.branches;
  model.ops = bindings.custom_operators;
  model.at = bindings.at;
  model.assume = bindings.assume_typical ? "typical" : "";
  model.dtype = options.dtype;
  model.train = options.optimizer;
  model.loss = options.loss;
  model.frozen = options.frozen;
  model.recompute = options.recompute;
  model.precision = options.precision;
  return model;
}

dlcost::Bindings BindingsOf(const Bindings& bindings) {
  const auto refuse = [](const std::string& name, std::int64_t size) {
    if (size < 0) throw dlcost::Error("size {} of '{}' is negative", size, Printable(name));
  };
  if (bindings.batch) refuse("batch", *bindings.batch);
  for (const auto& [name, size] : bindings.dims) refuse(name, size);
  for (const auto& [name, shape] : bindings.shapes) {
    for (const std::int64_t size : shape) refuse(name, size);
  }
  return {.dims = bindings.dims,
          .batch = bindings.batch,
          .inputs = bindings.shapes,
          .values = bindings.values};
}

ReportOptions ReportOptionsOf(const Options& options, std::span<const dlcost::Device> devices) {
  const ModelOptions model = ModelOptionsOf({}, {}, options);
  CountOptions count;
  count.convention = options.convention;
  count.runtime = options.runtime;
  count.fusion = options.fusion;
  count.attention = options.attention;
  count.algorithms = {"conv=" + options.convolution};
  DeviceOptions device;
  device.math = options.math;
  device.cache = options.cache;
  device.launch = options.launch;
  for (const dlcost::Device& one : devices) RequireRunsOn(RuntimeOf(count), one);
  ReportOptions report = dlcost::ReportOptionsOf(count, device, model);
  report.dtype = options.dtype;
  report.scope_depth = options.scope_depth;
  return report;
}

}  // namespace dlcost::api
