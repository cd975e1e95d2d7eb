#pragma once

#include <string>

#include "estimator/core/dtype.h"
#include "estimator/core/units.h"
#include "estimator/roofline/timing_constants.h"
#include "models/algorithms/library.h"

namespace dlcost {

struct Device;

// What the time model needs to know of a device: no more than a spec sheet says, and constants.
struct TimingDevice {
  double units = 1;        // SMs, CUs, cores
  double clock = 1e9;      // of the units, in Hz
  double threads = 2048;   // that one unit works on at a time
  double memory_rate = 0;  // rated bandwidth of device memory, byte/s
  double cache = 0;        // bytes that can stay on the chip between kernels
  double cache_read = 0;   // bytes per second that a benchmark read from it; 0: none did
  double power = 0;        // of the board, in W; 0: not public, no limit
  double process = 0;      // feature size by name ("4N", "4NP": 5), in nm; 0: not public, no limit
  TimingConstants constants;
  const Library* library = &LibraryFor("generic");  // traits of its kernels

  double operator[](Constant constant) const { return constants[constant]; }
};

// Throws Error when the device file lists no memory bandwidth. A device without a public number of
// units is taken as one unit, without a clock as 1 GHz: tiles then cost nothing beyond their work.
TimingDevice MakeTimingDevice(const Device& device);

// How a kernel finds its surroundings when it starts.
struct Conditions {
  bool eager = false;   // launched by a framework call; otherwise from a graph or back to back
  bool rested = false;  // RunOptions::rested
  // Shares (0 to 1) of the weights, and of everything else that the kernel touches, that a cache
  // could hold: what the same kernel or another one touched just before. 0: starts cold.
  double kept_weights = 1, kept_rest = 1;
  double weight_copies =
      1;  // weights are used in turns: so many copies pass before one comes again
};

// Share (0 to 1) of data that comes from device memory when `touched` bytes pass between two uses:
// of weights, and of everything else.
double MissShare(const TimingDevice& device, const Conditions& conditions, double touched);
double WeightMissShare(const TimingDevice& device, const Conditions& conditions, double touched);

// The width in bytes by which the energy of a FLOP goes: that of the inputs, but less for integers,
// whose arithmetic has no exponents to align.
double EnergyWidth(DType type);

// FLOP/s that the board's power carries; infinite where power or process are not public.
double PowerLimit(const TimingDevice& device, bool tensor, double energy_width);

// Work that would take `seconds` if the board's power were no limit.
struct PoweredWork {
  bool tensor = false;      // on matrix units, else on vector units
  double energy_width = 2;  // EnergyWidth of the inputs
  double flops = 0;
  double rate = 0;  // of the main loop, FLOP/s
  double seconds = 0;
  // The board has been at work for long: vector units run at the clock that its power carries.
  // Otherwise they start at full clock, after a pause. (Matrix units: ApplySustainedPower.)
  bool steady = false;
};

// What the work takes in seconds on the power that the board has. Boards start a kernel at full
// clock and come down to what their power carries: matrix units, which draw little while they wait,
// to the FLOP/s that it carries; vector units, whose warps issue instructions all the time, to the
// clock at which their main loop stays within it.
double UnderPower(const TimingDevice& device, const PoweredWork& work);

// Bytes per second that the last-level cache delivers to all units: to tiles of products, and to
// kernels that only read, as benchmarks of the cache do.
double CacheRate(const TimingDevice& device);
double CacheReadRate(const TimingDevice& device);

// The least multiple of `multiple` that is no less than `value`.
double RoundUp(double value, double multiple);

// (a^p + b^p + c^p)^(1/p) of times in seconds; p = 1 adds, large p takes the longest.
double Overlap(double p, double a, double b, double c = 0);

}  // namespace dlcost
