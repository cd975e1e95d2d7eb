#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/hardware/device.h"
#include "estimator/hardware/roof.h"
#include "estimator/plan/kernel.h"

namespace dlcost {

// Where the inputs of a kernel are when it starts, and its results when they are read.
enum class CacheState {
  kCold,  // in device memory: every byte crosses its interface
  // What kernels pass on is in the on-chip levels as far as it fits, and the weights are if all of
  // them do, where the run before has left them. All else is not.
  kPassed,
  kWarm,  // whatever fits in the on-chip levels is there already: bytes minus their size cross
};

std::string_view Name(CacheState state);  // "cold", "passed", "warm"
std::optional<CacheState> ParseCacheState(std::string_view name);
std::span<const CacheState> CacheStates();

struct BoundOptions {
  MathMode math = MathMode::kDefault;
  CacheState cache = CacheState::kPassed;
  Bytes weights;             // RunOptions::weights
  bool int8_blocks = false;  // RunOptions::int8_blocks
};

// The time that one roof imposes.
struct RoofTime {
  std::string roof;  // "tensor fp16", "vector fp32", "device memory", "L2"
  Seconds time;
};

// Whether weights stay on the chip from one run of the model to the next: all of them fit there. A
// memory that a compiler manages starts each run without.
bool WeightsStay(const Device& device, const BoundOptions& options);
// Of what the kernel reads: the weights that the run before has left there.
Bytes KeptWeights(const Kernel& kernel, const Device& device, const BoundOptions& options);

// Whether a product's weights take no more than 8 bits each, with the scales of their blocks.
bool StoresNarrow(const Kernel& kernel);

// A time that no implementation can beat: the maximum over units and memory levels of work / peak.
struct Bound {
  std::vector<RoofTime> roofs;  // compute units first, then memory levels
  Seconds compute;              // the slowest unit
  Seconds memory;               // the slowest memory level
  Seconds time;                 // max(compute, memory)
  std::string limiter;          // name of the roof that is highest; "" when nothing runs
  Bytes on_chip;                // of what the kernel moves: may stay in the on-chip levels
  bool overflows = false;       // kernels pass on more than these hold
  std::vector<std::string>
      notes;  // units that stand in for missing ones, rates that are not public
};

// Multiply-accumulates count two operations at the roof of the unit that runs them
// (matrix units where the kernel is a matrix product, a convolution, attention or recurrence);
// every other floating-point operation counts one at the vector roof. Units work side by side, so
// times of one unit add and the slowest unit counts.
//
// `least` is the work that no algorithm avoids, `macs_on` the units that its multiply-accumulates
// run on at best; `extra` are bytes that go through memory beside the kernel's operands.
Bound BoundKernel(const Kernel& kernel, const Work& least, WorkKind macs_on, Bytes extra,
                  const Device& device, const BoundOptions& options);

}  // namespace dlcost
