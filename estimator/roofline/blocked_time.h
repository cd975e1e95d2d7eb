#pragma once

#include <vector>

#include "models/algorithms/blocked.h"

namespace dlcost {

// What a kernel asks of a processor's cores beside its products.
struct CoreLoad {
  double operations = 0;         // elementwise instructions, one lane each
  double elements = 0;           // that they are shared out by, where no product's blocks are
  double read = 0, written = 0;  // bytes of operands
  double element_bytes = 4;      // of one of them
  double kept = 0;               // of both, in a cache before or after
  double packed = 0;             // bytes of second operands that are no weights
  Count first;                   // elements of the first operand, where they are fewer than m x k
};

// One stage of an execution on the core that has most of it. Seconds.
struct StageTime {
  const Stage* stage = nullptr;
  BlockedPlacement place;  // of one product
  double runs = 1;         // products one after the other: steps, planes
  double units = 0, l2 = 0, l3 = 0;
  double seconds = 0;  // the longest of the three
};

struct CoreTime {
  std::vector<StageTime> stages;
  double vector = 0;        // elementwise work and transforms, on all cores
  double streamed = 0;      // what passes through the shared cache beside the products
  double packing = 0;       // of a second operand that is no weight
  double memory_bytes = 0;  // to and from device memory
  double memory = 0;
  double launch = 0;
  // max(stages + vector + streamed, memory) + packing + launch: memory is prefetched under the rest
  double seconds = 0;
};

// `execution` is null for a kernel that only streams data. `memory_rate`: rated bytes per second.
CoreTime ExpectedOnCores(const Execution* execution, const MicroKernel& kernel, const Cores& cores,
                         double memory_rate, const CoreLoad& load);

// Bytes that stay on the chip between kernels: half of what the caches hold, the other half takes
// what streams through.
double KeptBetweenKernels(const Cores& cores);

// Instructions of one lane that a transcendental function takes (a reduction of its argument and a
// polynomial), and a division or a root (an estimate and a step of Newton's). oneDNN's softmax
// takes 42 per element with its sums, maxima and division (bench/processors).
inline constexpr double kSpecialInstructions = 30;
inline constexpr double kDivisionInstructions = 8;

}  // namespace dlcost
