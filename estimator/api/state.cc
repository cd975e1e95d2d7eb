#include "estimator/api/state.h"

namespace dlcost::api {
namespace {

void RefuseNegative(const std::string& name, std::int64_t size) {
  if (size < 0) throw dlcost::Error("size {} of '{}' is negative", size, Printable(name));
}

void SetTraining(const Options& options, ModelOptions& model) {
  model.train = options.optimizer;
  model.loss = options.loss;
  model.frozen = options.frozen;
  model.recompute = options.recompute;
  model.micro_batches = options.micro_batches;
  model.clip_norm = options.clip_norm;
  model.sparse_embeddings = options.sparse_embeddings;
  model.fit = options.fit;
}

}  // namespace

ModelOptions ModelOptionsOf(const Bindings& bindings, const Options& options) {
  if (bindings.batch) RefuseNegative("batch", *bindings.batch);
  for (const auto& [name, size] : bindings.dims) RefuseNegative(name, size);
  for (const auto& [name, shape] : bindings.shapes) {
    for (const std::int64_t size : shape) RefuseNegative(name, size);
  }
  ModelOptions asked;
  asked.batch = bindings.batch;
  asked.batch_max = bindings.largest_batch;
  if (bindings.largest_batch && bindings.batch) {
    throw dlcost::Error("a batch and the largest one: give one of them");
  }
  asked.bound = {.dims = bindings.dims,
                 .batch = bindings.batch,
                 .inputs = bindings.shapes,
                 .values = bindings.values};
  asked.trips = bindings.trips;
  asked.branches = bindings.branches;
  asked.ops = bindings.custom_operators;
  asked.at = bindings.at;
  asked.assume = bindings.assume_typical ? "typical" : "";
  asked.dtype = options.dtype;
  asked.precision = options.precision;
  SetTraining(options, asked);
  return asked;
}

ModelOptions ModelOptionsOf(const Model& model, const Bindings& bindings, const Options& options) {
  ModelOptions asked = ModelOptionsOf(bindings, options);
  asked.path = model.path();
  asked.read = &model.state().model;
  return asked;
}

CountOptions CountOptionsOf(const Options& options) {
  CountOptions count;
  count.convention = options.convention;
  count.runtime = options.runtime;
  count.fusion = options.fusion;
  count.attention = options.attention;
  count.algorithms = {"conv=" + options.convolution};
  return count;
}

DeviceOptions DeviceOptionsOf(const Options& options, const dlcost::Device* device) {
  DeviceOptions asked;
  asked.math = options.math;
  asked.cache = options.cache;
  asked.launch = options.launch;
  asked.layout = options.layout;
  asked.update = options.update_form;
  asked.found = device;
  return asked;
}

ReportOptions ReportOptionsOf(const Options& options, const ModelOptions& model,
                              const dlcost::Device* device) {
  ReportOptions report =
      dlcost::ReportOptionsOf(CountOptionsOf(options), DeviceOptionsOf(options, device), model);
  report.scope_depth = options.scope_depth;
  return report;
}

}  // namespace dlcost::api
