#include "models/algorithms/systolic.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/algorithms/attention.h"
#include "models/algorithms/convolution.h"
#include "models/algorithms/gemm.h"

namespace dlcost {
namespace {

// A shape other than the array's own has to save a twentieth of the cycles: it needs more operands
// per clock.
constexpr int kWorthReshaping = 20;

struct Shape {
  Count rows, columns, arrays;
};

SystolicPlacement Place(const GemmNest& nest, const SystolicMachine& machine, const Shape& shape) {
  const bool weights = machine.stationary == Stationary::kWeights;
  const Count across = weights ? nest.k : nest.m, stream = weights ? nest.m : nest.k;
  SystolicPlacement best{.rows = shape.rows, .columns = shape.columns, .arrays = shape.arrays};
  best.tiles = nest.batch * CeilDiv(across, shape.rows) * CeilDiv(nest.n, shape.columns);
  for (Count parts = 1; parts <= shape.arrays; parts += Count(1)) {
    const Count passes = CeilDiv(best.tiles * parts, shape.arrays);
    const Count streamed = CeilDiv(stream, parts);
    const Count cycles =
        passes * std::max(streamed, Count(machine.switch_cycles)) + shape.rows + shape.columns;
    if (parts > Count(1) && cycles >= best.cycles) continue;
    best.parts = parts;
    best.passes = passes;
    best.streamed = streamed;
    best.cycles = cycles;
  }
  return best;
}

TileGrid GridOf(const GemmNest& nest, const SystolicMachine& machine,
                const SystolicPlacement& place) {
  const bool weights = machine.stationary == Stationary::kWeights;
  return {.batch = nest.batch,
          .m = nest.m,
          .n = nest.n,
          .k = nest.k,
          // What streams is not padded.
          .tile_m = weights ? std::max(Count(1), nest.m) : place.rows,
          .tile_n = place.columns,
          .tile_k = weights ? place.rows : Count(1)};
}

std::string PlacedName(std::string_view what, const SystolicPlacement& place) {
  return fmt::format("{} {}x{}", what, place.rows, place.columns);
}

Stage SystolicProduct(std::string name, const GemmNest& nest, DType type,
                      const SystolicMachine& machine) {
  Stage stage{.name = std::move(name)};
  stage.grid = GridOf(nest, machine, PlaceProduct(nest, machine));
  stage.terms = ProductTerms(*stage.grid, {.pipe = Pipe::kTensor, .type = type}, {});
  return stage;
}

}  // namespace

SystolicPlacement PlaceProduct(const GemmNest& nest, const SystolicMachine& machine) {
  const Count rows = machine.rows, columns = machine.columns, arrays = machine.arrays;
  SystolicPlacement best = Place(nest, machine, {rows, columns, arrays});
  if (machine.least_side == 0) return best;
  // Two arrays joined, one, or half of one.
  for (const Count area : {rows * columns, rows * columns * 2, rows * columns / 2}) {
    const Count own = std::max(Count(1), rows * columns * arrays / area);
    for (Count side = machine.least_side; side * machine.least_side <= area; side *= Count(2)) {
      const SystolicPlacement place = Place(nest, machine, {side, area / side, own});
      if (place.cycles + place.cycles / kWorthReshaping < best.cycles) best = place;
    }
  }
  return best;
}

Execution SystolicGemm(const GemmNest& nest, DType type, const SystolicMachine& machine) {
  Execution execution{.algorithm = Algorithm::kSystolic,
                      .name = PlacedName(Name(Algorithm::kSystolic), PlaceProduct(nest, machine))};
  execution.stages.push_back(SystolicProduct("product", nest, type, machine));
  return execution;
}

Execution SystolicDepthwise(const ConvNest& nest, DType type) {
  return DepthwiseConv(nest, {.pipe = Pipe::kVector, .type = type});
}

namespace {

Execution SystolicBackward(const AttentionNest& nest, DType type, const SystolicMachine& machine) {
  Execution execution{.algorithm = Algorithm::kFlashAttention};
  for (const BackwardProduct& each : BackwardProducts(nest)) {
    const bool first = execution.stages.empty();
    if (first) {
      execution.name = PlacedName("systolic_attention_backward", PlaceProduct(each.nest, machine));
    }
    Stage stage = SystolicProduct(std::string(each.name), each.nest, type, machine);
    stage.launches = first ? 1 : 0;
    execution.stages.push_back(std::move(stage));
  }
  Stage scores{.name = "gradient of the scores", .launches = 0};
  scores.terms.push_back(GradientOfScores(nest, type));
  execution.stages.push_back(std::move(scores));
  return execution;
}

}  // namespace

Execution SystolicAttention(const AttentionNest& nest, DType type, const SystolicMachine& machine,
                            bool materialized) {
  if (nest.backward) return SystolicBackward(nest, type, machine);
  const Count sharing = std::max(Count(1), nest.q_heads / std::max(Count(1), nest.kv_heads));
  const GemmNest scores{.batch = nest.batch * nest.q_heads / sharing,
                        .m = nest.q_len * sharing,
                        .n = nest.kv_len,
                        .k = nest.qk_dim};
  const GemmNest values{.batch = scores.batch, .m = scores.m, .n = nest.v_dim, .k = nest.kv_len};
  Execution execution{
      .algorithm = materialized ? Algorithm::kMaterializedAttention : Algorithm::kFlashAttention,
      .name = PlacedName(materialized ? "systolic_materialized" : "systolic_attention",
                         PlaceProduct(scores, machine))};
  execution.stages.push_back(SystolicProduct("scores", scores, type, machine));
  const Count positions = scores.batch * scores.m * scores.n;
  // Sums are kept in fp32 whatever the operands are.
  Stage softmax{.name = "softmax", .launches = materialized ? 1 : 0};
  softmax.terms.push_back(
      {.what = "softmax: scale, exponential, sum, divide",
       .kind = TermKind::kPointwise,
       .type = Bits(type) < 32 ? DType::kFloat32 : type,
       .instructions = Instructions{.fma = 1, .add = 1, .mul = 1, .special = 1} * positions});
  Stage last = SystolicProduct("values", values, type, machine);
  last.launches = materialized ? 1 : 0;
  if (materialized) {
    const Bytes size = SizeOf(type, positions);
    execution.stages[0].extra_written = size;
    softmax.extra_read = softmax.extra_written = size;
    last.extra_read = size;
    execution.workspace = size + size;
  }
  execution.stages.push_back(std::move(softmax));
  execution.stages.push_back(std::move(last));
  return execution;
}

Execution SystolicRecurrent(const RecurrentNest& nest, DType type, const SystolicMachine& machine) {
  const Count columns = nest.gates * nest.hidden;
  const GemmNest inputs{
      .batch = nest.directions, .m = nest.steps * nest.batch, .n = columns, .k = nest.input};
  const GemmNest step{.m = nest.batch, .n = columns, .k = nest.hidden};
  Execution execution{.algorithm = Algorithm::kRecurrentInputGemm,
                      .name = PlacedName("systolic_recurrent", PlaceProduct(step, machine))};
  execution.stages.push_back(SystolicProduct("input product", inputs, type, machine));
  Stage steps = SystolicProduct("step", step, type, machine);
  steps.launches = nest.directions * nest.steps;
  for (Term& term : steps.terms) term.instructions = term.instructions * steps.launches;
  execution.stages.push_back(std::move(steps));
  return execution;
}

}  // namespace dlcost
