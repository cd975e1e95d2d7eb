#pragma once

#include "estimator/hardware/systolic_machine.h"
#include "models/algorithms/execution.h"

namespace dlcost {

// What a kernel asks of a machine of systolic arrays beside its products.
struct SystolicLoad {
  double vector_operations = 0;  // elementwise, one per element and operation
  double bytes = 0;              // to and from device memory, each value once
  double bytes_read = 0;         // part of it that is operands
  double element_bytes = 2;      // of the operands
  double kernels = 1;            // how many of the compiled program's kernels
};

// What the machine offers for it.
struct SystolicRates {
  double peak = 0;     // FLOP/s of all arrays for the operands' type; 0: no product
  double memory = 0;   // rated bytes per second of device memory
  double on_chip = 0;  // bytes that hold operands between passes
};

struct SystolicTime {
  double cycles = 0;  // of the arrays, all products one after the other
  double bytes = 0;   // to and from device memory, operands read again included
  // Seconds. Products wait for what the vector units make of the product before, so the two add
  // up; memory is loaded ahead of both.
  double array = 0, vector = 0, memory = 0, kernels = 0;
  double seconds = 0;  // max(array + vector, memory) + kernels
};

// `execution` is null for a kernel that only streams data.
SystolicTime ExpectedSystolic(const SystolicMachine& machine, const Execution* execution,
                              const SystolicRates& rates, const SystolicLoad& load);

// Bytes that a product reads more than once: operands that do not fit into half of the on-chip
// memory (the other half takes what comes next) pass in blocks of b x b outputs, 8 bytes each for
// its sum and its share of the panels.
double BytesReadAgain(const TileGrid& grid, double element_bytes, double operand_bytes,
                      double on_chip);

}  // namespace dlcost
