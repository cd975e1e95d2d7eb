#include <algorithm>

#include "estimator/roofline/blocked_time.h"
#include "estimator/roofline/choose_conv.h"
#include "estimator/roofline/part.h"
#include "estimator/roofline/terms.h"
#include "models/algorithms/attention.h"
#include "models/algorithms/convolution.h"
#include "models/algorithms/gemm.h"

namespace dlcost {
namespace {

// Products of oneDNN on a core that nobody else used lie within a factor of 1.35 of the expected
// time (bench/published/blocked.csv).
constexpr double kCoresRange = 0.3;

MicroKernel KernelOf(const Target& target, DType type, const Cores& cores) {
  const ComputeUnit unit = FindUnit(target, type).value_or(ComputeUnit{.peak = 0, .bytes = 4});
  // The peak holds at the highest turbo, which `clock_share` takes to what all cores sustain.
  const double rated = cores.clock / cores.clock_share;
  MicroKernel kernel =
      MicroKernelFor(cores, unit.pipe(), type, unit.bytes, unit.peak / cores.count / rated);
  if (IsFloat(type) && !unit.tensor) kernel.per_clock *= cores.machine.float_share;
  return kernel;
}

// How the libraries of processors run a nest.
struct OnCores {
  const Target& target;
  const Part& part;
  const Cores& cores;
  const MicroKernel& kernel;

  PartRun Only(Execution execution) const { return {.execution = std::move(execution)}; }

  PartRun operator()(const GemmNest& nest) const {
    return Only(IsDot(nest) ? DotProducts(nest, part.type) : BlockedGemm(nest, kernel, cores));
  }
  PartRun operator()(const ConvNest& nest) const {
    if (MacsOf(nest) == Count(0) || nest.axes.empty()) return {};
    const ConvChooser chooser(target, nest, part.type);
    PartRun run{.forced = chooser.IsForced()};
    if (chooser.IsDepthwise()) {
      run.execution = chooser.Depthwise();
    } else if (run.forced && *target.options.conv != Algorithm::kDirect) {
      run.execution = chooser.ByRule().execution;
      run.runner_up = Name(Algorithm::kDirect);
    } else {
      run.execution = BlockedConv(nest, kernel, cores);
      run.runner_up = Name(Algorithm::kIm2colGemm);
    }
    return run;
  }
  PartRun operator()(const AttentionNest& nest) const {
    if (target.options.attention == AttentionForm::kMaterialized || nest.backward) {
      return Only(BlockedAttention(nest, kernel, cores));
    }
    return Only(FlashAttention(nest, {.pipe = kernel.pipe, .type = part.type}, target.library));
  }
  PartRun operator()(const RecurrentNest& nest) const {
    return Only(BlockedRecurrent(nest, kernel, cores));
  }
  template <typename Other>
  PartRun operator()(const Other&) const {
    return {};
  }
};

double Operations(const Part& part, bool product) {
  double sum = 0, special = 0;
  // A multiply-add of a stencil loads its input and its tap: two loads per instruction.
  if (!product) sum += 2 * part.work.Of(OpClass::kMac).AsDouble();
  for (const OpClass each : {OpClass::kAdd, OpClass::kMul, OpClass::kCompare, OpClass::kConvert}) {
    sum += part.work.Of(each).AsDouble();
  }
  for (const OpClass each : {OpClass::kDiv, OpClass::kSqrt}) {
    sum += kDivisionInstructions * part.work.Of(each).AsDouble();
  }
  for (const OpClass each : {OpClass::kExp, OpClass::kLog, OpClass::kTrig}) {
    special += part.work.Of(each).AsDouble();
  }
  return sum + kSpecialInstructions * special;
}

// Second operands that a call brings: what is stored as weights was packed when the model was read.
double PackedBytes(const Part& part, double element_bytes) {
  if (const auto* gemm = std::get_if<GemmNest>(&part.nest); gemm != nullptr && !gemm->b_is_weight) {
    return (gemm->batch * gemm->n * gemm->k).AsDouble() * element_bytes;
  }
  if (const auto* a = std::get_if<AttentionNest>(&part.nest)) {
    return (a->batch * a->kv_heads * a->kv_len * (a->qk_dim + a->v_dim)).AsDouble() * element_bytes;
  }
  return 0;
}

// What loops over results or reduced elements are shared out by: by the work, not by what of it
// passes through memory, which fusion leaves out. Kernels that only move data have their bytes.
double ElementsOf(const Part& part) {
  if (const auto* map = std::get_if<ElementwiseNest>(&part.nest)) return map->elements.AsDouble();
  if (const auto* rows = std::get_if<ReduceNest>(&part.nest)) {
    return (rows->outer * rows->reduce).AsDouble();
  }
  if (const auto* conv = std::get_if<ConvNest>(&part.nest)) return OutputElements(*conv).AsDouble();
  if (const auto* dots = std::get_if<GemmNest>(&part.nest)) return MacsOf(*dots).AsDouble();
  return part.bytes() / 2 / (std::max(Bits(part.type), 8) / 8.0);
}

CoreLoad LoadOf(const Target& target, const Part& part, const PartRun& run,
                const MicroKernel& kernel, const Cores& cores) {
  const bool tiled = run.execution.Grid() != nullptr;
  CoreLoad load{.operations = Operations(part, tiled),
                .elements = std::max(1.0, ElementsOf(part)),
                .read = part.read,
                .written = part.written,
                .element_bytes = std::max(Bits(part.type), 8) / 8.0};
  load.packed = tiled ? PackedBytes(part, kernel.bytes) : 0;
  if (const auto* conv = std::get_if<ConvNest>(&part.nest); conv != nullptr && tiled) {
    if (run.execution.algorithm == Algorithm::kDirect) load.first = InputElements(*conv);
  }
  const double room = KeptBetweenKernels(cores);
  // Weights stay where this half holds those of the whole model.
  const double own = part.weights > room ? part.share * part.kernel.bytes_weights.AsDouble() /
                                               part.kernel.repeat.AsDouble()
                                         : 0;
  const double passed = std::max(0.0, part.passed - own);
  load.kept = passed <= room ? passed : 0;
  if (target.options.cache == CacheState::kWarm) {
    load.kept = std::max(load.kept, std::min(part.bytes(), room));
  }
  return load;
}

void ExplainStage(const StageTime& stage, const MicroKernel& kernel, const Cores& cores,
                  TermWriter& terms) {
  const TileGrid& grid = *stage.stage->grid;
  TermWriter side = terms.Longest(stage.stage->name, stage.seconds);
  side.Text("micro-kernel", fmt::format("{} x {}", kernel.rows, kernel.columns()),
            kernel.pipe == Pipe::kTensor
                ? "two by two tile registers of the matrix unit"
                : fmt::format("rows x registers of {} lanes that reuse loads most in {} registers",
                              kernel.lanes, cores.machine.registers));
  side.Text("tile", fmt::format("{} x {} x {}", grid.tile_m, grid.tile_n, grid.tile_k),
            "block of a core, cut at the ends, by the k that an L1 holds");
  const CacheBlocks blocks = BlocksFor(cores, kernel);
  side.Text("cache blocks", fmt::format("{} x {} x {}", blocks.mc, blocks.nc, blocks.kc),
            "mc rows in half an L2, nc columns in half of the shared cache, kc of k in half an L1");
  side.Fact("blocks", grid.Blocks().AsDouble(), "",
            fmt::format("on {} of {} cores", stage.place.busy, cores.count));
  side.Time("units", stage.units);
  side.Below().Fact("cycles", stage.runs * stage.place.cycles, "",
                    fmt::format("at {:.4g} MHz, which all cores sustain", cores.clock / 1e6));
  side.Time("L2", stage.l2);
  side.Below().Fact("bytes of a core", stage.runs * stage.place.l2_bytes, "B",
                    fmt::format("at {:.4g} bytes per clock", cores.machine.l2_rate));
  side.Time("shared cache", stage.l3);
  side.Below().Fact("bytes of a core", stage.runs * stage.place.l3_bytes, "B",
                    fmt::format("at {:.4g} bytes per clock", cores.machine.l3_rate));
}

void ExplainCores(const Target& target, const CoreTime& t, const MicroKernel& kernel,
                  const Cores& cores, PartTime& time) {
  TermWriter terms(time.terms);
  terms.Time("start on the cores", time.launch, "once, and once more for every doubling of cores");
  terms.TimeIfAny("packing", t.packing, "the second operand is no weight");
  const double together = t.seconds - t.launch - t.packing;
  TermWriter side = terms.Longest("together", together);
  if (t.stages.empty()) {
    side.Time("arithmetic", t.vector, "on vector units");
    side.Time("shared cache", t.streamed);
  } else {
    double products = 0;
    for (const StageTime& stage : t.stages) products += stage.seconds;
    TermWriter on_cores = side.Sum("cores", products + t.vector + t.streamed);
    for (const StageTime& stage : t.stages) ExplainStage(stage, kernel, cores, on_cores);
    on_cores.TimeIfAny("elementwise and transforms", t.vector, "on vector units");
    on_cores.TimeIfAny("between the stages", t.streamed, "through the shared cache");
  }
  side.Time("device memory", t.memory, "prefetched under the rest");
  side.Below().Fact(
      "bytes", t.memory_bytes, "B",
      fmt::format("lines are read before they are written; at {:.4g} % of {:.4g} GB/s",
                  100 * cores.machine.memory_share, target.timing->memory_rate / 1e9));
  if (!t.stages.empty() && t.stages.back().place.busy < Count(cores.count)) {
    time.advice.push_back(fmt::format("Only {} of {} cores have work: larger batches help.",
                                      t.stages.back().place.busy, cores.count));
  }
}

}  // namespace

PartRun RunOnCores(const Target& target, const Part& part, bool product) {
  const Cores cores = CoresOf(target.device);
  const MicroKernel kernel = KernelOf(target, part.type, cores);
  PartRun run;
  if (product) run = std::visit(OnCores{target, part, cores, kernel}, part.nest);
  const bool tiled = run.execution.Grid() != nullptr;
  if (target.timing == nullptr || (tiled && !FindUnit(target, part.type))) return run;
  if (!tiled && part.bytes() <= 0) return run;
  const CoreTime t =
      ExpectedOnCores(run.execution.stages.empty() ? nullptr : &run.execution, kernel, cores,
                      target.timing->memory_rate, LoadOf(target, part, run, kernel, cores));
  PartTime& time = run.time.emplace();
  time.launch = t.launch;
  time.units = t.vector;
  for (const StageTime& stage : t.stages) {
    time.units += stage.units;
    time.cache += std::max(stage.l2, stage.l3);
  }
  time.cache += t.streamed;
  time.apart = t.packing;
  time.memory = t.memory;
  time.seconds = t.seconds;
  time.range = kCoresRange;
  if (target.options.explain) ExplainCores(target, t, kernel, cores, time);
  return run;
}

}  // namespace dlcost
