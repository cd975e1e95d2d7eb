#include "models/algorithms/recurrent.h"

#include <fmt/format.h>

#include <algorithm>

namespace dlcost {
namespace {

Count Columns(const RecurrentNest& nest) { return nest.gates * nest.hidden; }
Count StepLaunches(const RecurrentNest& nest) { return nest.directions * nest.steps; }

GemmOptions ToGemm(const RecurrentOptions& options, bool accumulate) {
  return {
      .pipe = options.pipe, .type = options.type, .tile = options.tile, .accumulate = accumulate};
}

// `launches` equal products, one after the other; the grid is that of one of them.
Stage Repeated(const GemmNest& nest, Count launches, bool accumulate,
               const RecurrentOptions& options, const Library& library) {
  GemmNest all = nest;
  all.batch = launches;
  GemmOptions gemm = ToGemm(options, accumulate);
  gemm.tile = options.step_tile.value_or(options.tile);
  gemm.split_k = options.step_split;
  // One sample leaves nothing to tile: every step is a matrix-vector product, in halves too.
  const bool vector = nest.m == Count(1);
  Stage stage = vector ? MatrixVector(all, options.type, library).stages[0]
                       : TiledGemm(all, gemm, library).stages[0];
  stage.name = "step";
  stage.launches = launches;
  if (stage.grid) stage.grid->batch = 1;
  return stage;
}

Count Rereads(const RecurrentNest& nest) { return std::max(Count(0), nest.steps - 1); }

// The pre-activations of all gates, which go through memory between two kernels.
Bytes Gates(const RecurrentNest& nest, DType type) {
  return SizeOf(type, StepLaunches(nest) * nest.batch * Columns(nest));
}

Stage InputProduct(const RecurrentNest& nest, const RecurrentOptions& options,
                   const Library& library) {
  const GemmNest gemm{
      .batch = nest.directions, .m = nest.steps * nest.batch, .n = Columns(nest), .k = nest.input};
  Stage stage = TiledGemm(gemm, ToGemm(options, false), library).stages[0];
  stage.name = "input product";
  stage.extra_written += Gates(nest, options.type);
  return stage;
}

Execution Make(Algorithm algorithm, const RecurrentOptions& options) {
  return {.algorithm = algorithm,
          .name = fmt::format("{} {}x{}", Name(algorithm), options.tile.m, options.tile.n)};
}

}  // namespace

Count RecurrentWeights(const RecurrentNest& nest) {
  return nest.directions * nest.hidden * Columns(nest);
}
Count InputWeights(const RecurrentNest& nest) {
  return nest.directions * nest.input * Columns(nest);
}

Execution RecurrentSteps(const RecurrentNest& nest, const RecurrentOptions& options,
                         const Library& library) {
  Execution execution = Make(Algorithm::kRecurrentSteps, options);
  Stage step = Repeated({.m = nest.batch, .n = Columns(nest), .k = nest.input + nest.hidden},
                        StepLaunches(nest), false, options, library);
  step.extra_read +=
      SizeOf(options.type, (RecurrentWeights(nest) + InputWeights(nest)) * Rereads(nest));
  step.extra_written += Gates(nest, options.type);
  Stage gates{.name = "gates", .launches = StepLaunches(nest)};
  gates.extra_read = Gates(nest, options.type);
  execution.stages = {std::move(step), std::move(gates)};
  return execution;
}

Execution RecurrentInputGemm(const RecurrentNest& nest, const RecurrentOptions& options,
                             const Library& library) {
  Execution execution = Make(Algorithm::kRecurrentInputGemm, options);
  Stage step = Repeated({.m = nest.batch, .n = Columns(nest), .k = nest.hidden}, StepLaunches(nest),
                        true, options, library);
  const Bytes gate_bytes = Gates(nest, options.type);
  step.extra_read += gate_bytes + SizeOf(options.type, RecurrentWeights(nest) * Rereads(nest));
  step.extra_written += gate_bytes;
  Stage gates{.name = "gates", .launches = StepLaunches(nest)};
  gates.extra_read = gate_bytes;
  execution.workspace = gate_bytes;
  execution.stages = {InputProduct(nest, options, library), std::move(step), std::move(gates)};
  return execution;
}

Execution RecurrentPersistent(const RecurrentNest& nest, const RecurrentOptions& options,
                              const Library& library) {
  Execution execution = Make(Algorithm::kRecurrentPersistent, options);
  Stage steps = Repeated({.m = nest.batch, .n = Columns(nest), .k = nest.hidden},
                         StepLaunches(nest), true, options, library);
  steps.name = "persistent steps";
  steps.launches = 1;
  steps.extra_read += Gates(nest, options.type);
  execution.workspace = Gates(nest, options.type);
  execution.stages = {InputProduct(nest, options, library), std::move(steps)};
  return execution;
}

}  // namespace dlcost
