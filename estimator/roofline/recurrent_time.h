#pragma once

#include "estimator/roofline/timing_device.h"

namespace dlcost {

// The recurrent half of an LSTM, GRU or plain RNN layer: every step multiplies the state of a batch
// with the recurrent weights. (The input half is one matrix product over all steps.)
struct RecurrentProblem {
  double gates = 4;  // products of hidden x hidden per step: LSTM 4, GRU 3, plain 1
  double hidden = 0, batch = 1, steps = 1;
  double element_bytes = 4;
  bool tensor = false;
  double peak = 0;            // dense, FLOP/s of the whole device
  double register_bytes = 0;  // register files of all units; 0: unknown, no persistent kernel
};

// Of one step, in seconds.
struct StepTime {
  double product = 0;  // arithmetic, and what it waits for
  double wait = 0;     // gates as a kernel of their own, or the synchronization of all units
  double seconds() const { return product + wait; }
};

// The elementwise kernel that follows the product of every step.
double GatesSeconds(const TimingDevice& device, const RecurrentProblem& problem);
// One kernel keeps the weights in registers and synchronizes per step. Whether they fit:
bool FitsRegisters(const RecurrentProblem& problem);
StepTime PersistentStep(const TimingDevice& device, const RecurrentProblem& problem);

}  // namespace dlcost
