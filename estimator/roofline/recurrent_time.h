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

struct RecurrentTime {
  bool persistent = false;  // one kernel keeps the weights in registers and synchronizes per step
  double product_seconds = 0;  // of one step
  double pointwise_seconds = 0;
  double step_seconds = 0;
  double launch_seconds = 0;
  double seconds = 0;
};

// Every step as one product and one elementwise kernel.
RecurrentTime ExpectedRecurrentSteps(const TimingDevice& device, const RecurrentProblem& problem,
                                     const Conditions& conditions);
// One persistent kernel; `seconds` is 0 where the weights do not fit in the registers.
RecurrentTime ExpectedPersistent(const TimingDevice& device, const RecurrentProblem& problem,
                                 const Conditions& conditions);

}  // namespace dlcost
