#pragma once

#include <string>
#include <vector>

#include "estimator/core/units.h"

namespace dlcost {

// What is known of a training step beside its nodes, which carry their phases.
struct StepFacts {
  std::string loss, optimizer;  // as the options name them: "cross_entropy", "adamw"
  std::string precision;        // "" as the file says, or as --precision names it
  std::string recompute = "none";
  Count micro_batches = 1;  // forward and backward passes before one update
  bool clips = false;       // gradients by the norm of all
  Count trained;            // parameters that the step updates
  // Memory that lasts: what the update reads, and what it keeps from step to step.
  Bytes trained_bytes, gradient_bytes, state_bytes;
  // Copies of the parameters in float32 that the update changes where the step computes with
  // others.
  Bytes master_bytes;
  // Forward values that the backward pass reads: inputs of the step and what forward nodes wrote,
  // views of one value once, weights not.
  Bytes saved_bytes;
  // Forward products one of whose operands wants no gradient, in order, with the
  // multiply-accumulates that are saved by it.
  struct NoGradient {
    std::string node;
    Macs macs;
  };
  std::vector<NoGradient> without_data_gradient;
};

}  // namespace dlcost
