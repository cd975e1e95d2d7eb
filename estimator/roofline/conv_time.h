#pragma once

#include "estimator/roofline/tiles.h"
#include "estimator/roofline/timing_device.h"

namespace dlcost {

enum class ConvMethod {
  kImplicitGemm,
  kExplicitGemm,
  kWinogradFused,
  kWinogradStaged,
  kFft,
  // The implicit product with the tiles and the split over k of the matrix product library: what is
  // left for few output positions, where the convolution kernels' large tiles leave most units
  // idle.
  kSplitGemm,
};

// A 2-D convolution (1-D has height 1); all sizes per group are worked out inside.
struct ConvProblem {
  double batch = 1, channels = 1, height = 1, width = 1;  // input
  double filters = 1, kernel_height = 1, kernel_width = 1;
  double out_height = 1, out_width = 1;
  double groups = 1;
  double element_bytes = 4;
  bool tensor = false;     // runs on matrix units, else on vector units
  double peak = 0;         // dense, FLOP/s of the whole device, for this type
  double extra_bytes = 0;  // other operands: a residual, a bias
};

struct ConvTime {
  ConvMethod method = ConvMethod::kImplicitGemm;
  Tile tile{1, 1};
  double batch = 1, m = 0, n = 0, k = 0;  // the matrix products that run
  double tiles = 0, waves = 0, busy = 1;
  double executed_flops = 0;  // of the products, padding included
  double units_seconds = 0;
  double memory_bytes = 0;
  double memory_seconds = 0;
  double transform_seconds = 0;  // stages of their own: Winograd or Fourier transforms, im2col
  double launch_seconds = 0;
  double seconds = 0;
};

// The time of one method. Winograd methods are for 3x3 filters with stride 1 (the caller checks).
ConvTime ExpectedConv(const TimingDevice& device, const ConvProblem& problem, ConvMethod method,
                      const Conditions& conditions);
// The faster of the two ways to run Winograd.
ConvTime ExpectedWinograd(const TimingDevice& device, const ConvProblem& problem,
                          const Conditions& conditions);

}  // namespace dlcost
