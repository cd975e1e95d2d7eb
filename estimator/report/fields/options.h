#pragma once

#include "estimator/report/fields/vocabulary.h"
#include "estimator/report/report.h"

namespace dlcost {

void Fields(auto& v, fields::IsA<ReportOptions> auto& options) {
  using fields::Either;
  using fields::Keep;
  using fields::Or;
  AttentionForm attention = options.plan.Form();
  std::vector<FusionStep> fuses;
  for (const FusionStep step : FusionSteps()) {
    if (options.plan.fuses.Has(step)) fuses.push_back(step);
  }
  v.Field("convention", options.convention);
  v.Field("math", options.run.math);
  auto& asked = options.model;
  v.Later("dtype", Or(asked.dtype, ""));
  v.If(!asked.precision.empty(), "precision", asked.precision);
  v.If(!asked.frozen.empty(), "freeze", asked.frozen);
  v.If(asked.sparse_embeddings, "sparse_embeddings", asked.sparse_embeddings);
  v.If(!asked.at.empty(), "at", asked.at);
  v.If(!asked.assume.empty(), "assume", asked.assume);
  v.If(!asked.trips.empty(), "trips", asked.trips);
  v.If(!asked.branches.empty(), "branch", asked.branches);
  v.If(!asked.values.empty(), "value", asked.values);
  v.Later("runtime", options.runtime);
  v.Later("runtime_given", options.runtime_given);
  v.Field("fusion", options.plan.fusion);
  v.Later("fuses", fuses);
  v.Later("attention", attention);
  v.Later("conv", Or(options.run.conv, "auto"));
  v.Field("cache", options.run.cache);
  v.Later("launch", options.run.launch);
  v.Later("selection", options.run.selection);
  v.Later("convolutions", Either(options.run.timed_convolutions, "timed", "ranked"));
  v.Later("layout", Either(options.run.converts, "file", "kernels"));
  v.Later("planes", Either(options.run.planes_first, "first", "any"));
  v.Later("alignment", Either(options.run.odd_rows, "as-is", "padded"));
  v.Later("quantized", Either(options.run.int8_blocks, "int8", "floats"));
  v.Later("update_form", options.run.update);
  v.Later("clock", Either(options.run.rested, "rested", "sustained"));
  Keep(options.plan.attention_by_default, attention);
  FusionSet set;
  for (const FusionStep step : fuses) set.Add(step);
  Keep(options.plan.fuses, set);
  Keep(options.run.bias_apart, AddsBiasApart(set));
}

}  // namespace dlcost
