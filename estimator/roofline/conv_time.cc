#include "estimator/roofline/conv_time.h"

#include <algorithm>
#include <cmath>

#include "estimator/roofline/gemm_time.h"

namespace dlcost {
namespace {

using C = Constant;

constexpr double kChannelStep = 8;
constexpr double kWarpFilters = 32;  // of a vector kernel's tile that one warp computes
constexpr double kDepthStep = 8;     // the main loop advances by eight elements of k

// The products of a method, and what they read and write.
struct Products {
  double batch, m, n, k;
  double efficiency;
  double result_bytes;  // per element of the products' result, as it leaves the unit
  double memory_bytes;  // overlapped with the products
};

double Sustained(const TimingDevice& d) { return d.memory_rate * d[C::kMemorySustained]; }

// Products on vector units, with the convolution's constants.
void RunProducts(const TimingDevice& d, const ConvProblem& p, const Products& w, ConvTime* t) {
  t->batch = w.batch;
  t->m = w.m;
  t->n = w.n;
  t->k = w.k;
  const double depth = RoundUp(w.k, kDepthStep);
  double best = 0;
  for (const Tile tile : ConvTiles()) {
    const double rows = tile.rows, columns = tile.columns;
    const double tiles = w.batch * std::ceil(w.m / rows) * std::ceil(w.n / columns);
    const double waves = std::ceil(tiles / d.units);
    const double busy = std::min(1.0, waves * rows * columns / d[C::kConvBusyArea]);
    const double efficiency =
        std::min(1.0, w.efficiency / (1 + d[C::kConvTilePenalty] * (1 / rows + 1 / columns)));
    // Warps whose filters lie beyond the last one compute nothing.
    const double used = std::min(columns, RoundUp(w.n, kWarpFilters) / std::ceil(w.n / columns));
    const double arithmetic = 2 * rows * used * depth / (p.peak / d.units * efficiency);
    const double drain = rows * columns * w.result_bytes / (d[C::kConvDrain] * d.clock);
    const double seconds = waves * (arithmetic / busy + drain + d[C::kTileOverhead]);
    if (best == 0 || seconds < best) {
      best = seconds;
      t->tile = tile;
      t->tiles = tiles;
      t->waves = waves;
      t->busy = busy;
      t->executed_flops = 2 * tiles * rows * columns * depth;
    }
  }
  t->units_seconds = UnderPower(d, {.tensor = p.tensor,
                                    .bytes = p.element_bytes,
                                    .flops = 2 * w.batch * w.m * w.n * w.k,
                                    .rate = p.peak * w.efficiency,
                                    .seconds = best});
  t->memory_bytes = w.memory_bytes;
  t->memory_seconds = w.memory_bytes / Sustained(d);
}

// The implicit GEMM with the tiles and constants of matrix products.
ConvTime ProductConv(const TimingDevice& d, const ConvProblem& p, double input_bytes,
                     const Conditions& conditions) {
  // Matrix instructions take channels by eight: libraries pad what is no multiple.
  const double group_channels = p.channels / p.groups;
  const double channels = p.tensor ? RoundUp(group_channels, kChannelStep) : group_channels;
  GemmProblem gemm{.batch = p.groups,
                   .m = p.batch * p.out_height * p.out_width,
                   .n = p.filters / p.groups,
                   .k = channels * p.kernel_height * p.kernel_width,
                   .input_bytes = p.element_bytes,
                   .output_bytes = p.element_bytes,
                   .tensor = p.tensor,
                   .peak = p.tensor ? p.peak * d[C::kConvTensor] : p.peak,
                   .activation_bytes = input_bytes,
                   .extra_bytes = p.extra_bytes};
  const GemmTime g = ExpectedGemm(d, gemm, conditions);
  ConvTime t;
  t.tile = g.tile;
  t.batch = gemm.batch;
  t.m = gemm.m;
  t.n = gemm.n;
  t.k = gemm.k;
  t.tiles = g.tiles;
  t.waves = g.waves;
  t.busy = g.busy;
  t.executed_flops = 2 * gemm.batch * gemm.m * gemm.n * gemm.k / (1 - g.padding);
  t.units_seconds = g.units_seconds;
  t.memory_bytes = g.memory_bytes;
  t.memory_seconds = g.memory_seconds;
  t.seconds = g.seconds - g.launch_seconds;
  return t;
}

// Traffic of the tensors themselves, in bytes.
struct Traffic {
  double activations, weights;
  double input;
};

Traffic TensorTraffic(const ConvProblem& p) {
  const double input = p.batch * p.channels * p.height * p.width;
  const double output = p.batch * p.filters * p.out_height * p.out_width;
  const double weights = p.filters * p.channels / p.groups * p.kernel_height * p.kernel_width;
  return {(input + output) * p.element_bytes + p.extra_bytes, weights * p.element_bytes,
          input * p.element_bytes};
}

}  // namespace

ConvTime ExpectedConv(const TimingDevice& device, const ConvProblem& p, ConvMethod method,
                      const Conditions& conditions) {
  const Traffic traffic = TensorTraffic(p);
  const double positions = p.batch * p.out_height * p.out_width;
  const double group_channels = p.channels / p.groups, group_filters = p.filters / p.groups;
  const double taps = group_channels * p.kernel_height * p.kernel_width;
  const Products implicit{p.groups,
                          positions,
                          group_filters,
                          taps,
                          device[C::kConvEfficiency],
                          p.element_bytes,
                          traffic.activations + traffic.weights};
  ConvTime t;
  const bool product = method == ConvMethod::kImplicitGemm || method == ConvMethod::kExplicitGemm;
  if (method == ConvMethod::kSplitGemm || (p.tensor && product)) {
    t = ProductConv(device, p, traffic.input, conditions);
  } else if (method == ConvMethod::kWinogradFused) {
    // F(2x2,3x3): 16 products per 2x2 outputs and channel; the filters are transformed first.
    const double tiles = p.batch * std::ceil(p.out_height / 2) * std::ceil(p.out_width / 2);
    RunProducts(device, p,
                {16 * p.groups, tiles, group_filters, group_channels, device[C::kConvWinogradFused],
                 p.element_bytes * 4 / 16, traffic.activations + traffic.weights * 16 / 9 * 2},
                &t);
  } else if (method == ConvMethod::kWinogradStaged) {
    // F(4x4,3x3): 36 products per 4x4 outputs; transformed tiles go through memory.
    const double tiles = p.batch * std::ceil(p.out_height / 4) * std::ceil(p.out_width / 4);
    RunProducts(device, p,
                {36 * p.groups, tiles, group_filters, group_channels,
                 device[C::kConvWinogradStaged], p.element_bytes, 0},
                &t);
    t.memory_bytes = traffic.activations +
                     2 * 36 * p.element_bytes * tiles * (p.channels + p.filters) +
                     traffic.weights * (1 + 36.0 / 9 * 2);
    t.transform_seconds = t.memory_bytes / Sustained(device);
  } else if (method == ConvMethod::kFft) {
    // Tiles of 32 x 32: 32 * 17 complex products (4 multiplications each) per tile and pair.
    constexpr double kFftTile = 32, kPoints = 32 * 17;
    const double step_h = kFftTile - p.kernel_height + 1, step_w = kFftTile - p.kernel_width + 1;
    const double tiles = p.batch * std::ceil(p.out_height / std::max(1.0, step_h)) *
                         std::ceil(p.out_width / std::max(1.0, step_w));
    RunProducts(device, p,
                {4 * kPoints * p.groups, tiles, group_filters, group_channels,
                 device[C::kConvWinogradStaged], p.element_bytes, 0},
                &t);
    t.memory_bytes = traffic.activations + traffic.weights +
                     2 * 2 * kPoints * p.element_bytes *
                         (tiles * (p.channels + p.filters) + p.filters * group_channels);
    t.transform_seconds = t.memory_bytes / Sustained(device);
  } else {
    RunProducts(device, p, implicit, &t);
    if (method == ConvMethod::kExplicitGemm) {
      // im2col writes the unfolded input and the product reads it.
      t.transform_seconds = 2 * positions * taps * p.groups * p.element_bytes / Sustained(device);
    }
  }
  t.method = method;
  if (t.seconds == 0) {
    t.seconds =
        Overlap(device[C::kConvOverlap], t.units_seconds, t.memory_seconds) + t.transform_seconds;
  }
  t.launch_seconds =
      conditions.eager ? device[C::kLaunchEager] + device[C::kLaunchConv] : device[C::kLaunchGraph];
  t.seconds += t.launch_seconds;
  return t;
}

ConvTime ExpectedWinograd(const TimingDevice& device, const ConvProblem& problem,
                          const Conditions& conditions) {
  const ConvTime fused = ExpectedConv(device, problem, ConvMethod::kWinogradFused, conditions);
  const ConvTime staged = ExpectedConv(device, problem, ConvMethod::kWinogradStaged, conditions);
  return staged.seconds < fused.seconds ? staged : fused;
}

}  // namespace dlcost
