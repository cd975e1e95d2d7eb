#include "models/algorithms/blocked.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "estimator/core/integer.h"
#include "models/algorithms/attention.h"
#include "models/algorithms/convolution.h"
#include "models/algorithms/gemm.h"

namespace dlcost {
namespace {

constexpr int kTileBytes = 64;  // of one row of a matrix unit's tile register
constexpr int kMostAcross = 4;  // registers of the second operand that libraries hold at a time

Count AtLeastOne(double value) { return std::max(Count(1), Count(Truncate(value))); }

// A block of m rows and n columns over all of k: clocks, and bytes from the caches.
struct Block {
  double cycles = 0, l2_bytes = 0, l3_bytes = 0;
};

struct Extents {
  double m, n, k;
};

Block TimeBlock(const Extents& block, double first, const MicroKernel& kernel,
                const CacheBlocks& blocks, const Cores& cores) {
  const double groups = std::ceil(block.k / kernel.group);
  const double parts = std::ceil(block.k / blocks.kc.AsDouble());
  const double whole_rows = std::floor(block.m / kernel.rows);
  const double last_rows = block.m - whole_rows * kernel.rows;
  const double registers = std::ceil(block.n / kernel.lanes);
  const double whole_columns = std::floor(registers / kernel.registers);
  const double last_registers = registers - whole_columns * kernel.registers;
  Block sum;
  const auto add = [&](double count, double rows, double across) {
    if (count <= 0 || rows <= 0 || across <= 0) return;
    // The tile itself comes and goes once for every block of k.
    const double tile = 2 * rows * across / kernel.loads;
    sum.cycles += count * (groups * kernel.Clocks(rows, across) + parts * tile);
  };
  add(whole_rows * whole_columns, kernel.rows, kernel.registers);
  add(whole_columns, last_rows, kernel.registers);
  add(whole_rows, kernel.rows, last_registers);
  add(1, last_rows, last_registers);
  // Rows pass once for each column of tiles, from the L1 where they stay there.
  const double panels = std::ceil(registers / kernel.registers);
  const double a = first * kernel.bytes, b = block.n * block.k * kernel.bytes;
  const bool rows_stay =
      block.m * std::min(block.k, blocks.kc.AsDouble()) * kernel.bytes <= cores.l1 / 2;
  sum.l2_bytes = a * (rows_stay ? 1 : panels) + b + 2 * block.m * block.n * 4 * parts;
  // Columns come again for each block of rows, unless all of them stay in the L2.
  const double kept = block.n * std::min(block.k, blocks.kc.AsDouble()) * kernel.bytes;
  const double again = kept <= cores.l2 / 2 ? 1 : std::ceil(block.m / blocks.mc.AsDouble());
  sum.l3_bytes = a * std::ceil(block.n / blocks.nc.AsDouble()) + b * again;
  return sum;
}

std::string TiledName(std::string_view what, const MicroKernel& kernel) {
  return fmt::format("{} {}x{}", what, kernel.rows, kernel.columns());
}

// `channels` is the part of k that is padded to whole groups: all of it, or one tap's.
Stage BlockedProduct(std::string name, const GemmNest& nest, Count first, Count channels,
                     const MicroKernel& kernel, const Cores& cores) {
  const Count padded_k =
      std::max(nest.k, nest.k / std::max(Count(1), channels) * RoundUp(channels, kernel.group));
  GemmNest executed = nest;
  executed.k = padded_k;
  const BlockedPlacement place = PlaceBlocked(executed, first, kernel, cores);
  Stage stage{.name = std::move(name)};
  stage.grid = TileGrid{
      .batch = nest.batch,
      .m = nest.m,
      .n = nest.n,
      .k = nest.k,
      .tile_m = place.rows,
      .tile_n = place.columns,
      .tile_k = std::min(BlocksFor(cores, kernel).kc, std::max(Count(1), nest.k)),
      .cut = TileGrid::Cut{.m = nest.m, .n = RoundUp(nest.n, kernel.lanes), .k = padded_k}};
  stage.terms = ProductTerms(*stage.grid, {.pipe = kernel.pipe, .type = kernel.type}, {});
  return stage;
}

Stage BlockedProduct(std::string name, const GemmNest& nest, const MicroKernel& kernel,
                     const Cores& cores) {
  return BlockedProduct(std::move(name), nest, nest.batch * nest.m * nest.k, nest.k, kernel, cores);
}

}  // namespace

double MicroKernel::Clocks(double tile_rows, double tile_registers) const {
  return std::max(tile_rows * tile_registers / per_clock,
                  (tile_rows + tile_registers * loads_per_operand) / loads);
}

MicroKernel MicroKernelFor(const Cores& cores, Pipe pipe, DType type, double bytes,
                           double flops_per_clock) {
  MicroKernel kernel{.pipe = pipe, .type = type, .bytes = bytes};
  if (pipe == Pipe::kTensor) {
    kernel.rows = 2 * std::max(1, cores.machine.tile_rows);
    kernel.registers = 2;
    kernel.lanes = kTileBytes / 4;
    kernel.group = std::max(1, Truncate<int>(kTileBytes / bytes));
    kernel.loads_per_operand = kernel.lanes;
  } else {
    const double output = std::max(4.0, bytes);  // sums of narrow types have four bytes
    kernel.lanes = std::max(1, Truncate<int>(cores.machine.vector_bytes / output));
    double best = 0;
    for (int across = 1; across <= kMostAcross; ++across) {
      const int rows = (cores.machine.registers - across - 1) / across;
      const double reuse = 1.0 * rows * across / (rows + across);
      if (rows < 1 || reuse <= best) continue;
      best = reuse;
      kernel.rows = rows;
      kernel.registers = across;
    }
    const double units = std::max(1.0, cores.vector_per_clock);
    kernel.group =
        std::max(1, Truncate<int>(std::round(flops_per_clock / 2 / kernel.lanes / units)));
    // Cores with more than two multiply-add units load three registers for four of them.
    kernel.loads = std::max(2.0, 0.75 * units);
  }
  kernel.per_clock = flops_per_clock / 2 / kernel.lanes / kernel.group;
  if (kernel.per_clock <= 0) kernel.per_clock = 1;
  return kernel;
}

CacheBlocks BlocksFor(const Cores& cores, const MicroKernel& kernel) {
  CacheBlocks blocks;
  blocks.kc = RoundUp(AtLeastOne(cores.l1 / 2 / (kernel.columns().AsDouble() * kernel.bytes)),
                      kernel.group);
  const double column = blocks.kc.AsDouble() * kernel.bytes;
  blocks.mc = RoundUp(AtLeastOne(cores.l2 / 2 / column), kernel.rows);
  const double shared = cores.l3 > 0 ? cores.l3 : cores.l2 * cores.count;
  blocks.nc = RoundUp(AtLeastOne(shared / 2 / column), kernel.columns());
  return blocks;
}

BlockedPlacement PlaceBlocked(const GemmNest& nest, Count first, const MicroKernel& kernel,
                              const Cores& cores) {
  const CacheBlocks blocks = BlocksFor(cores, kernel);
  const Count count = cores.count;
  const Count down = std::max(Count(1), CeilDiv(nest.m, kernel.rows));
  const Count across = std::max(Count(1), CeilDiv(nest.n, kernel.lanes));
  BlockedPlacement best;
  double least = 0;
  Count last_rows, last_columns;
  for (Count parts_m = 1; parts_m <= std::min(count, down); parts_m += Count(1)) {
    const Count rows = std::min(nest.m, RoundUp(CeilDiv(nest.m, parts_m), kernel.rows));
    // More parts of the same size only add passes.
    if (rows == std::exchange(last_rows, rows) && least > 0) continue;
    last_columns = 0;
    for (Count parts_n = 1; parts_n <= std::min(count / parts_m, across); parts_n += Count(1)) {
      const Count columns = std::min(nest.n, RoundUp(CeilDiv(nest.n, parts_n), kernel.lanes));
      if (columns == std::exchange(last_columns, columns) && least > 0) continue;
      const Count tasks = nest.batch * parts_m * parts_n;
      const double passes = CeilDiv(tasks, count).AsDouble();
      const double share = first.AsDouble() / (nest.batch.AsDouble() * nest.m.AsDouble());
      const Block block = TimeBlock({rows.AsDouble(), columns.AsDouble(), nest.k.AsDouble()},
                                    share * rows.AsDouble(), kernel, blocks, cores);
      const double time = passes * std::max({block.cycles, block.l2_bytes / cores.machine.l2_rate,
                                             block.l3_bytes / cores.machine.l3_rate});
      if (least > 0 && time >= least) continue;
      least = time;
      best = {.rows = rows,
              .columns = columns,
              .passes = CeilDiv(tasks, count),
              .busy = std::min(tasks, count),
              .cycles = passes * block.cycles,
              .l2_bytes = passes * block.l2_bytes,
              .l3_bytes = passes * block.l3_bytes};
    }
  }
  return best;
}

Execution BlockedGemm(const GemmNest& nest, const MicroKernel& kernel, const Cores& cores) {
  Execution execution{.algorithm = Algorithm::kBlockedGemm,
                      .name = TiledName(Name(Algorithm::kBlockedGemm), kernel)};
  execution.stages.push_back(BlockedProduct("product", nest, kernel, cores));
  if (!nest.b_is_weight) {
    // One panel at a time: kc of k by nc columns.
    const CacheBlocks blocks = BlocksFor(cores, kernel);
    const double panel = std::min(nest.k, blocks.kc).AsDouble() *
                         std::min(nest.n, blocks.nc).AsDouble() * kernel.bytes;
    execution.workspace = Bytes(Count(Truncate(std::ceil(panel))));
  }
  return execution;
}

Execution BlockedConv(const ConvNest& nest, const MicroKernel& kernel, const Cores& cores) {
  const GemmNest gemm = AsGemm(InAnyOrder(nest));
  Execution execution{.algorithm = Algorithm::kDirect, .name = TiledName("direct", kernel)};
  const Count channels = nest.in_channels / nest.groups;
  execution.stages.push_back(
      BlockedProduct("direct product", gemm, InputElements(nest), channels, kernel, cores));
  return execution;
}

namespace {

// Probabilities and the gradients of probabilities and scores go through memory.
Execution BlockedBackward(const AttentionNest& nest, const MicroKernel& kernel,
                          const Cores& cores) {
  Execution execution{.algorithm = Algorithm::kMaterializedAttention,
                      .name = TiledName("materialized_backward", kernel)};
  const Count positions = nest.batch * nest.q_heads * nest.q_len * nest.kv_len;
  const Bytes size = SizeOf(kernel.type, positions);
  const auto products = BackwardProducts(nest);
  for (std::size_t i = 0; i < products.size(); ++i) {
    Stage stage = BlockedProduct(std::string(products[i].name), products[i].nest, kernel, cores);
    // The first two write scores and dP, the others read P or dS.
    (i < 2 ? stage.extra_written : stage.extra_read) = size;
    execution.stages.push_back(std::move(stage));
    if (i != 1) continue;
    Stage scores{.name = "gradient of the scores"};
    scores.terms.push_back(GradientOfScores(nest, kernel.type));
    scores.extra_read = scores.extra_written = size + size;
    execution.stages.push_back(std::move(scores));
  }
  execution.workspace = size + size;
  return execution;
}

}  // namespace

Execution BlockedAttention(const AttentionNest& nest, const MicroKernel& kernel,
                           const Cores& cores) {
  if (nest.backward) return BlockedBackward(nest, kernel, cores);
  const GemmNest scores{
      .batch = nest.batch * nest.q_heads, .m = nest.q_len, .n = nest.kv_len, .k = nest.qk_dim};
  const GemmNest values{.batch = scores.batch, .m = nest.q_len, .n = nest.v_dim, .k = nest.kv_len};
  Execution execution{.algorithm = Algorithm::kMaterializedAttention,
                      .name = TiledName("materialized", kernel)};
  const Count positions = scores.batch * scores.m * scores.n;
  const Bytes size = SizeOf(kernel.type, positions);
  Stage first = BlockedProduct("scores", scores, kernel, cores);
  first.extra_written = size;
  // Sums are kept in fp32 whatever the operands are.
  Stage softmax{.name = "softmax"};
  softmax.terms.push_back(
      {.what = "softmax: scale, exponential, sum, divide",
       .kind = TermKind::kPointwise,
       .type = Bits(kernel.type) < 32 ? DType::kFloat32 : kernel.type,
       .instructions = Instructions{.fma = 1, .add = 1, .mul = 1, .special = 1} * positions});
  softmax.extra_read = softmax.extra_written = size;
  Stage last = BlockedProduct("values", values, kernel, cores);
  last.extra_read = size;
  execution.workspace = size + size;
  execution.stages.push_back(std::move(first));
  execution.stages.push_back(std::move(softmax));
  execution.stages.push_back(std::move(last));
  return execution;
}

Execution BlockedRecurrent(const RecurrentNest& nest, const MicroKernel& kernel,
                           const Cores& cores) {
  const Count columns = nest.gates * nest.hidden;
  Execution execution{.algorithm = Algorithm::kRecurrentInputGemm,
                      .name = TiledName("blocked_recurrent", kernel)};
  if (nest.input > Count(0)) {
    execution.stages.push_back(BlockedProduct("input product",
                                              {.batch = nest.directions,
                                               .m = nest.steps * nest.batch,
                                               .n = columns,
                                               .k = nest.input,
                                               .b_is_weight = true},
                                              kernel, cores));
  }
  Stage steps =
      BlockedProduct("step", {.m = nest.batch, .n = columns, .k = nest.hidden, .b_is_weight = true},
                     kernel, cores);
  steps.launches = nest.directions * nest.steps;
  for (Term& term : steps.terms) term.instructions = term.instructions * steps.launches;
  execution.stages.push_back(std::move(steps));
  return execution;
}

}  // namespace dlcost
