#pragma once

#include <optional>

#include "estimator/roofline/tiles.h"
#include "estimator/roofline/timing_device.h"

namespace dlcost {

// batch products of an m x k by a k x n matrix; m and k belong to the activations, n and k to the
// weights (or to the second activation).
struct GemmProblem {
  double batch = 1, m = 0, n = 0, k = 0;
  double input_bytes = 2;  // of one element, both inputs
  double output_bytes = 2;
  bool tensor = true;  // runs on matrix units, else on vector units
  double peak = 0;     // dense, FLOP/s of the whole device, for these types
  // What is really read, where it is not batch * m * k and batch * n * k elements: the image of an
  // implicit GEMM, weights stored in fewer bits.
  std::optional<double> activation_bytes, weight_bytes;
  double extra_bytes = 0;  // other operands: a residual, a bias
  bool bias = false;       // added by a kernel of its own, as frameworks do in eager mode
  bool quantize = false;   // the activations arrive in 16 bits and are quantized first
};

// One way to run it, and where its time goes. Times in seconds.
struct GemmTime {
  Tile tile{1, 1};
  int split = 1;
  double tiles = 0, waves = 0;  // tiles of all parts; rounds over the units, the last one included
  double busy = 1;              // how much of a unit one tile keeps busy
  double padding = 0;           // share of the executed arithmetic that is padding of m, n and k
  double efficiency = 0;        // of the peak, in the main loop
  double tile_seconds = 0;      // one tile
  double units_seconds = 0;     // all waves
  double memory_bytes = 0;      // to and from device memory
  double reread_bytes = 0;      // part of it: panels that the cache could not keep
  double memory_seconds = 0;
  double cache_bytes = 0;  // tiles' operands through the last-level cache
  double cache_seconds = 0;
  double split_seconds = 0;
  double prepare_seconds = 0;  // bias or quantization kernels
  double launch_seconds = 0;
  double seconds = 0;  // all together
};

// The fastest of the library's tiles and splits.
GemmTime ExpectedGemm(const TimingDevice& device, const GemmProblem& problem,
                      const Conditions& conditions);
// With a given tile and split.
GemmTime GemmWithTile(const TimingDevice& device, const GemmProblem& problem,
                      const Conditions& conditions, Tile tile, int split);

}  // namespace dlcost
