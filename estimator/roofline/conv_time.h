#pragma once

#include "estimator/roofline/timing_device.h"
#include "models/algorithms/execution.h"

namespace dlcost {

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
  double batch = 1, m = 0, n = 0, k = 0;  // the matrix products that run
  double tiles = 0, waves = 0, busy = 1;
  double efficiency = 0;      // of the peak, in the main loop
  double tile_seconds = 0;    // one tile
  double executed_flops = 0;  // of the products, padding included
  double units_seconds = 0;
  double memory_bytes = 0;
  double memory_seconds = 0;
  double cache_seconds = 0;
  double overlap = 0;            // exponent of the norm of the three
  double split_seconds = 0;      // adding up the parts of k
  double transform_seconds = 0;  // stages of their own: Winograd or Fourier transforms, im2col
  double launch_seconds = 0;
  double seconds = 0;
};

// The time of one way to run it, whose tiles are those of the execution's grid. A product that
// splits k, and every product on matrix units, has the constants of matrix products.
ConvTime TimeOfConv(const TimingDevice& device, const ConvProblem& problem,
                    const Execution& execution, const Conditions& conditions);

}  // namespace dlcost
