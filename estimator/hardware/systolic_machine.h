#pragma once

namespace dlcost {

// What a systolic array keeps while the other operand streams past.
enum class Stationary {
  kWeights,  // a tile of rows x columns of k x n: TPU, NeuronCore
  kOutputs,  // a tile of rows x columns of m x n: Gaudi
};

// A machine whose matrix products run on a few large arrays of multiply-accumulators, fed by a
// compiler that knows the whole program: TPU, Gaudi, Trainium. It has no blocks and no waves.
struct SystolicMachine {
  int rows = 0, columns = 0;  // of one array
  int arrays = 0;             // in the whole device
  Stationary stationary = Stationary::kWeights;
  // Clocks that an array needs from one tile to the next however little streams past: the next tile
  // comes in, or the last one leaves, behind the current one.
  int switch_cycles = 0;
  // Two arrays may join or one split in two, and their multipliers stand in any rectangle of powers
  // of two whose shorter side is at least this; 0: the shape is fixed.
  int least_side = 0;
  // Elementwise operations per second of the vector units, all of them together.
  double vector_rate = 0;
  double array_share = 1;   // of its clocks that an array multiplies in while it has work
  double memory_share = 1;  // of the rated bandwidth that streams sustain
  double kernel_time = 0;   // seconds between one kernel of a compiled program and the next
  bool operator==(const SystolicMachine&) const = default;
};

}  // namespace dlcost
