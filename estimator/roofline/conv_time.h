#pragma once

#include <limits>

#include "estimator/roofline/gemm_time.h"
#include "estimator/roofline/timing_device.h"
#include "models/algorithms/execution.h"

namespace dlcost {

// A 2-D convolution (1-D has height 1); all sizes per group are worked out inside.
struct ConvProblem {
  double batch = 1, channels = 1, height = 1, width = 1;  // input
  double filters = 1, kernel_height = 1, kernel_width = 1;
  double out_height = 1, out_width = 1;
  double groups = 1;
  double rows_read = 1;  // share of the input's rows that the filter meets: a stride may skip some
  // Of a transposed one: the shares of output positions that the filter reaches, and of the filter
  // that each of them meets.
  double reached = 1, met = 1;
  bool of_weights = false;  // the weights are the result: products sum over positions
  bool by_tap = false;      // one product for each tap of the filter (ConvOptions::by_tap)
  double element_bytes = 4;
  double energy_width = 4;  // EnergyWidth of the elements
  // Vector units that compute halves in pairs: a block alone takes as long as one of floats, and
  // two run beside each other.
  bool paired = false;
  bool tensor = false;     // runs on matrix units, else on vector units
  double peak = 0;         // dense, FLOP/s of the whole device, for this type
  double spare = 1;        // ComputeUnit::spare
  double extra_bytes = 0;  // other operands: a residual, a bias
};

// Where the time of one way to run it goes: that of its matrix products, and what is around them.
struct ConvTime : GemmTime {
  double batch = 1, m = 0, n = 0, k = 0;  // the matrix products that run
  double executed_flops = 0;              // of the products, padding included
  double overlap = 0;                     // exponent of the norm of units, memory and cache
  double transform_seconds = 0;  // stages of their own: Winograd or Fourier transforms, im2col
};

// The time of one way to run it, whose tiles are those of the execution's grid. A product that
// splits k, and every product on matrix units, has the constants of matrix products. A time that is
// clearly no less than `best` need not be exact.
ConvTime TimeOfConv(const TimingDevice& device, const ConvProblem& problem,
                    const Execution& execution, const Conditions& conditions,
                    double best = std::numeric_limits<double>::infinity());

}  // namespace dlcost
