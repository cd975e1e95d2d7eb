#pragma once

#include "estimator/roofline/timing_device.h"

namespace dlcost {

// The recurrent half of an LSTM, GRU or plain RNN layer: every step multiplies the state of a batch
// with the recurrent weights. (The input half is one matrix product over all steps.)
struct RecurrentProblem {
  double gates = 4;  // products of hidden x hidden per step: LSTM 4, GRU 3, plain 1
  double hidden = 0, batch = 1, steps = 1;
  double element_bytes = 4;
};

// Of one step, in seconds.
struct StepTime {
  double product = 0;  // arithmetic, and what it waits for
  double wait = 0;     // gates, a kernel of their own
  double seconds() const { return product + wait; }
};

// The elementwise kernel that follows the product of every step.
double GatesSeconds(const TimingDevice& device, const RecurrentProblem& problem);
// The least time of a step's product in tiles: its blocks walk all of k.
double WalkSeconds(const TimingDevice& device, const RecurrentProblem& problem);

}  // namespace dlcost
