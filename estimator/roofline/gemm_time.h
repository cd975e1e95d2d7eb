#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>

#include "estimator/roofline/timing_device.h"
#include "models/algorithms/execution.h"

namespace dlcost {

// Sums that the blocks of one unit hold together on vector units: half of 256 KiB of registers.
inline constexpr int kSumsPerUnit = 32768;

// batch products of an m x k by a k x n matrix; m and k belong to the activations, n and k to the
// weights (or to the second activation).
struct GemmProblem {
  double batch = 1, m = 0, n = 0, k = 0;
  double input_bytes = 2;   // of one element, both inputs
  double energy_width = 2;  // EnergyWidth of the inputs
  double output_bytes = 2;
  bool tensor = true;   // runs on matrix units, else on vector units
  bool biased = false;  // adds a stored vector
  bool linear = false;  // of weights, whose kernels walk both operands along k (StridedLoads)
  double peak = 0;      // dense, FLOP/s of the whole device, for these types
  double spare = 1;     // ComputeUnit::spare
  // The library's kernels for rows as these lie; null: its usual ones.
  const UnalignedRows* rows = nullptr;
  // Its kernels on vector units for few rows of 8-bit floats; null: others run.
  const FewRows8Bit* few = nullptr;
  // The kernels of weights in blocks; null: others run.
  const BlockProducts* blocks = nullptr;
  // Bytes of one weight that is stored in fewer bits than what it meets; else 0.
  double narrow_weight = 0;
  // What is really read, where it is not batch * m * k and batch * n * k elements: the image of an
  // implicit GEMM, weights stored in fewer bits.
  std::optional<double> activation_bytes, weight_bytes;
  double extra_bytes = 0;  // other operands: a residual, a bias
  double start = 0;        // seconds before the first tile multiplies, beside the launch
  double fill = 1;         // rate at which operands reach a unit, over that of usual products
};

// On vector units, what loading a tile's step takes over its arithmetic; `sides` are those of the
// tile, 1/rows + 1/columns, `rate` that of one unit in FLOP/s. The library's vector_loads are not
// 0.
double LoadsOverArithmetic(const TimingDevice& device, double rate, double element_bytes,
                           double sides);

// Where the time of one way to run it goes. Times in seconds.
struct GemmTime {
  double tiles = 0, waves = 0;  // tiles of all parts; rounds over the units, the last one included
  double busy = 1;              // how much of a unit one tile keeps busy
  double padding = 0;           // share of the executed arithmetic that is padding of m, n and k
  double efficiency = 0;        // of the peak, in the main loop
  double tile_seconds = 0;      // one tile
  double start_seconds = 0;     // before the first of them multiplies, beside the launch
  double units_seconds = 0;     // all waves, with the start
  double widening_seconds = 0;  // part of it: weights that are stored in fewer bits
  double hot_seconds = 0;       // part of it: what a clock within the board's power adds
  double memory_bytes = 0;      // to and from device memory
  double reread_bytes = 0;      // part of it: panels that the cache could not keep
  double memory_seconds = 0;
  double cache_bytes = 0;  // tiles' operands through the last-level cache
  double cache_seconds = 0;
  double split_seconds = 0;
  double launch_seconds = 0;
  double seconds = 0;  // all together
};

// The times of the problem in different tiles: what they share is worked out once.
class GemmTimer {
 public:
  GemmTimer(const TimingDevice& device, const GemmProblem& problem, const Conditions& conditions);

  // In the tiles of `grid`, whose extents are the problem's. A time that is clearly no less than
  // `best` before the launch need not be exact.
  GemmTime Tiled(const TileGrid& grid, double best = std::numeric_limits<double>::infinity()) const;
  // A product with a vector on vector units is no tiled kernel: every unit streams its share of the
  // matrix and multiplies as it comes.
  GemmTime Vector() const;
  // The library's for the problem on such units, and whether they come with parts of k.
  std::span<const TileShape> Tiles() const;
  bool Splits() const;

 private:
  struct Shared;
  void AddLaunch(GemmTime& time) const;

  const TimingDevice& device_;
  const GemmProblem& problem_;
  const Conditions& conditions_;
  std::shared_ptr<const Shared> shared_;
};

}  // namespace dlcost
