#include "estimator/roofline/conv_time.h"

#include <algorithm>
#include <cmath>

#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/roofline/gemm_time.h"

namespace dlcost {
namespace {

using C = Constant;

constexpr double kWarpFilters = 32;  // of a vector kernel's tile that one warp computes
constexpr double kPairedRate = 0.9;  // of pairs of halves, over twice that of floats
constexpr double kDepthStep = 8;     // the main loop advances by eight elements of k
// FLOP per clock of a unit where halves of images are multiplied one by one, as they lie: a unit
// of an H100 or an H200 takes 0.58 us for 32 x 32 results of 27 products each, 2.6 us where they
// are of 147, after as long a start as matrix units (implicit_convolve_sgemm,
// bench/published/*/kernels.csv).
constexpr double kImageFlops = 62;
// As tile.busy_area, of tiles whose loads add to their arithmetic (Library::vector_loads).
constexpr double kLoadsBusyArea = 1860;

// The products of a method, and what they read and write.
struct Products {
  double efficiency;
  double memory_bytes;  // overlapped with the products
  bool by_tile = true;  // tiles have a start, and large ones are faster
};

double Sustained(const TimingDevice& d) { return d.memory_rate * d[C::kMemorySustained]; }

// Products on vector units, with the convolution's constants.
void RunProducts(const TimingDevice& d, const ConvProblem& p, const Conditions& conditions,
                 const TileGrid& grid, const Products& w, ConvTime* t) {
  const double planes = grid.planes.AsDouble();
  t->batch = grid.batch.AsDouble() * planes;
  t->m = grid.m.AsDouble();
  t->n = grid.n.AsDouble();
  t->k = grid.k.AsDouble();
  const double depth = RoundUp(t->k, kDepthStep);
  const double rows = grid.tile_m.AsDouble(), columns = grid.tile_n.AsDouble();
  t->tiles = grid.Blocks().AsDouble();
  const double units = d.units * (p.paired ? 2 : 1);
  const double rate = p.peak * (p.paired ? kPairedRate : 1);
  t->waves = std::ceil(t->tiles / units);
  const bool loads = d.library->vector_loads > 0;
  const double area = loads ? kLoadsBusyArea : d[C::kTileBusyArea];
  t->busy = std::min(1.0, t->waves * rows * columns * planes / area);
  const double sides = 1 / rows + 1 / columns;
  const double penalty = !w.by_tile ? 0
                         : loads    ? LoadsOverArithmetic(d, rate / units, p.element_bytes, sides)
                                    : d[C::kConvTilePenalty] * sides;
  t->efficiency = std::min(1.0, w.efficiency / (1 + penalty));
  // Warps whose filters lie beyond the last one compute nothing.
  const double used = std::min(columns, RoundUp(t->n, kWarpFilters) / std::ceil(t->n / columns));
  const double arithmetic = 2 * rows * used * depth * planes / (rate / units * t->efficiency);
  t->tile_seconds = arithmetic / t->busy + (w.by_tile ? d[C::kTileOverhead] : 0);
  t->executed_flops = 2 * t->tiles * rows * columns * depth * planes;
  t->units_seconds = UnderPower(d, {.tensor = p.tensor,
                                    .energy_width = p.energy_width,
                                    .flops = 2 * t->batch * t->m * t->n * t->k,
                                    .rate = p.peak * w.efficiency,
                                    .seconds = t->waves * t->tile_seconds,
                                    .steady = !conditions.rested && !p.tensor});
  t->hot_seconds = t->units_seconds - t->waves * t->tile_seconds;
  t->memory_bytes = w.memory_bytes;
  t->memory_seconds = w.memory_bytes / Sustained(d);
}

// Traffic of the tensors themselves, in bytes.
struct Traffic {
  double activations, weights;
  double input, output;
};

Traffic TensorTraffic(const ConvProblem& p) {
  const double input = p.batch * p.channels * p.height * p.rows_read * p.width;
  const double output = p.batch * p.filters * p.out_height * p.out_width;
  const double weights = p.filters * p.channels / p.groups * p.kernel_height * p.kernel_width;
  return {(input + output) * p.element_bytes + p.extra_bytes, weights * p.element_bytes,
          input * p.element_bytes, output * p.element_bytes};
}

// Elements per clock of a unit that a kernel transposes, in any type: where the last-level cache
// holds what it reads and writes, and where it does not (cuDNN 9 on an H100 and an H200 alike:
// bench/published/*/kernels.csv).
constexpr double kTransposed = 2.9;
constexpr double kTransposedFar = 2.05;

// Clocks of a unit for each position whose channels cuDNN 9 pads or cuts, and for each of its
// channels: nhwcAddPaddingKernel, 350 to 1,000 us of the calls in bench/published/h200/conv.csv.
constexpr double kPaddedPosition = 54;
constexpr double kPaddedChannel = 0.61;

// Clocks that cuDNN 9's kernel for any layouts takes for filters, whatever their size: 9 us on an
// H100 and an H200 (tensorTransformGeneric, bench/published/*/kernels.csv).
constexpr double kGenericClocks = 15e3;

// What a kernel that only moves data takes beside its launch, of which the share `far` passes
// through memory.
double MovingClocks(const Stage& stage, double far, double element_bytes) {
  if (stage.padded > Count(0)) {
    const double bytes = (stage.extra_read + stage.extra_written).AsDouble();
    return stage.padded.AsDouble() * kPaddedPosition + bytes / 2 / element_bytes * kPaddedChannel;
  }
  return stage.transposed.AsDouble() * ((1 - far) / kTransposed + far / kTransposedFar);
}

// What conversions of layouts take, each a kernel of its own, and what else goes through memory.
double TransformSeconds(const TimingDevice& d, const ConvProblem& p, const Conditions& conditions,
                        const Execution& execution, double extra) {
  double seconds = 0;
  for (const Stage& stage : execution.stages) {
    if (stage.transposed == Count(0) && stage.padded == Count(0)) continue;
    const double bytes = (stage.extra_read + stage.extra_written).AsDouble();
    extra -= bytes;
    // What it reads was written just before, and what it writes is read next.
    const double far = MissShare(d, conditions, bytes / 2);
    if (stage.generic) seconds += kGenericClocks / d.clock;
    seconds += d[C::kLaunchGraph] +
               std::max(bytes * far / Sustained(d),
                        MovingClocks(stage, far, p.element_bytes) / (d.units * d.clock));
  }
  return seconds + std::max(0.0, extra) / Sustained(d);
}

// The units run at a share of their rate.
void Slow(double rate, ConvTime* t) {
  t->units_seconds /= rate;
  t->tile_seconds /= rate;
  t->hot_seconds /= rate;
}

// Channels as kernels for matrix units load them: of 8 bits sixteen at a time, or four of an image.
double PaddedChannels(const Library& library, double channels, double element_bytes) {
  if (element_bytes >= 2) return RoundUp(channels, library.conv_tensor_channels);
  return channels <= 4 ? 4 : RoundUp(channels, 16);
}

// Rate of a product for each image, whose rows are its positions, over that of others. Matrix units
// that are cut lose nothing to how rows lie (Library::odd_rows).
double PlaneRate(const TimingDevice& d, const ConvProblem& p) {
  if (d[C::kTensorCut] < 1) return 1;
  const Library& library = *d.library;
  const auto positions = Truncate<std::int64_t>(p.out_height * p.out_width);
  if (p.element_bytes > 2) return positions % 4 == 0 ? library.first_tf32 : library.first_tf32_odd;
  if (positions % 8 == 0) return 1;
  return positions % 2 == 0 ? library.even_rows.rate : library.odd_rows.rate;
}

// The implicit GEMM with the constants of matrix products.
ConvTime ProductConv(const TimingDevice& d, const ConvProblem& p, TileGrid grid,
                     const Traffic& traffic, const Conditions& conditions) {
  const double group_channels = p.channels / p.groups;
  const double channels =
      p.tensor ? PaddedChannels(*d.library, group_channels, p.element_bytes) : group_channels;
  // What an image's operands take is time that slower arithmetic hides.
  const double share = std::min(1.0, (p.by_tap ? 1 : d.library->conv_tensor_rate) * p.spare);
  GemmProblem gemm{.batch = p.groups,
                   .m = p.batch * p.out_height * p.out_width * p.reached,
                   .n = p.filters / p.groups,
                   .k = std::ceil(channels * p.kernel_height * p.kernel_width * p.met),
                   .input_bytes = p.element_bytes,
                   .energy_width = p.energy_width,
                   .output_bytes = p.element_bytes,
                   .tensor = p.tensor,
                   .peak = p.tensor ? p.peak * share : p.peak,
                   .activation_bytes = traffic.input,
                   .extra_bytes = p.extra_bytes,
                   .start = p.tensor ? d.library->conv_tensor_start / d.clock : 0,
                   .fill = grid.of_planes ? 1 : d.library->conv_tensor_fill};
  if (grid.of_planes) {
    gemm.batch *= p.batch;
    gemm.m /= p.batch;
    gemm.weight_bytes = traffic.weights;
    gemm.peak *= PlaneRate(d, p);
  }
  if (p.of_weights) {
    const double taps = p.kernel_height * p.kernel_width;
    gemm.batch = p.by_tap ? p.groups * taps : p.groups;
    gemm.m = p.by_tap ? group_channels : channels * taps;
    gemm.k = p.batch * p.out_height * p.out_width;
    gemm.weight_bytes = traffic.output;
    if (!p.tensor) {
      const double sides = 1 / grid.tile_m.AsDouble() + 1 / grid.tile_n.AsDouble();
      gemm.peak *= std::min(1.0, d[C::kConvEfficiency] / (1 + d[C::kConvTilePenalty] * sides)) /
                   d[C::kVectorEfficiency];
    }
  }
  if (grid.walked > Count(0)) {
    gemm.k = grid.walked.AsDouble();
  } else {
    grid.k = Count(Truncate(gemm.k));
  }
  ConvTime t{GemmTimer(d, gemm, conditions).Tiled(grid, 0)};  // its sum is that of TimeOfConv
  if (p.of_weights && p.kernel_height * p.kernel_width <= 1) Slow(d.library->conv_weights_1x1, &t);
  t.batch = gemm.batch;
  t.m = gemm.m;
  t.n = gemm.n;
  t.k = gemm.k;
  t.overlap = d[p.tensor ? C::kTensorOverlap : C::kVectorOverlap];
  t.executed_flops = 2 * gemm.batch * gemm.m * gemm.n * gemm.k / (1 - t.padding);
  return t;
}

// One-kernel Winograd gains nothing from pairs of halves.
ConvProblem InFloats(ConvProblem p) {
  p.peak /= 2;
  p.paired = false;
  return p;
}

// Images in halves on vector units (Library::conv_halves_nhwc).
ConvProblem OneByOne(const TimingDevice& d, ConvProblem p) {
  p.peak = kImageFlops * d.units * d.clock;
  return p;
}

}  // namespace

ConvTime TimeOfConv(const TimingDevice& device, const ConvProblem& p, const Execution& execution,
                    const Conditions& conditions, double best) {
  const TileGrid* grid = execution.Grid();
  if (grid == nullptr) throw Error("{} has no tiles", execution.name);
  const Traffic traffic = TensorTraffic(p);
  double extra = (execution.ExtraRead() + execution.ExtraWritten()).AsDouble();
  const double efficiency = device[C::kConvEfficiency];
  ConvTime t;
  switch (execution.algorithm) {
    case Algorithm::kWinograd:
      // The transformed filters go through memory; all frequencies of a tile are one block's.
      RunProducts(device, p.paired ? InFloats(p) : p, conditions, *grid,
                  {device[C::kConvWinogradFused], traffic.activations + traffic.weights + extra},
                  &t);
      break;
    case Algorithm::kWinogradNonfused:
    case Algorithm::kFft:
      // Everything that is transformed goes through memory, before and after the products.
      RunProducts(device, p, conditions, *grid, {device.library->winograd.staged_rate, 0}, &t);
      t.memory_bytes = traffic.activations + traffic.weights + extra;
      t.transform_seconds = t.memory_bytes / Sustained(device);
      break;
    default:
      if (p.tensor || p.of_weights || grid->split_k > Count(1)) {
        // Parts of k are summed up in floats.
        const bool floats = p.paired && grid->split_k > Count(1);
        t = ProductConv(device, floats ? InFloats(p) : p, *grid, traffic, conditions);
        // Adding up the parts of k has a time of its own.
        for (const Stage& stage : execution.stages) {
          if (stage.grid) extra -= (stage.extra_read + stage.extra_written).AsDouble();
        }
      } else {
        const double bytes = traffic.activations + traffic.weights;
        if (p.element_bytes == 2 && !p.paired && device.library->conv_halves_nhwc) {
          RunProducts(device, OneByOne(device, p), conditions, *grid, {1, bytes, false}, &t);
          t.start_seconds = device.library->conv_tensor_start / device.clock;
          t.units_seconds += t.start_seconds;
        } else {
          RunProducts(device, p, conditions, *grid, {efficiency, bytes}, &t);
        }
      }
      // im2col writes the unfolded input and the product reads it; the same for another layout.
      t.transform_seconds = TransformSeconds(device, p, conditions, execution, extra);
  }
  if (t.overlap == 0) t.overlap = device[C::kKernelOverlap];
  if (p.reached < 1) Slow(device.library->conv_unreached, &t);
  t.launch_seconds = device[C::kLaunchGraph];
  const auto total = [&](double together) {
    return together + t.split_seconds + t.transform_seconds + t.launch_seconds;
  };
  t.seconds = total(std::max({t.units_seconds, t.memory_seconds, t.cache_seconds}));
  if (t.seconds < best) {  // else the norm, which is no less, need not be worked out
    t.seconds = total(Overlap(t.overlap, t.units_seconds, t.memory_seconds, t.cache_seconds));
  }
  return t;
}

}  // namespace dlcost
