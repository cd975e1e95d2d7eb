#pragma once

#include <string>

#include "estimator/parallel/step_profile.h"

namespace dlcost {

// Which exchanges run beside computation instead of being waited for.
struct ExchangeOverlap {
  // In pieces beside the pieces of the product that reads what is gathered or makes what is summed
  // (Transformer Engine's tp-comm-overlap, PyTorch's asynchronous tensor parallelism).
  bool tensor = false;
  // Keys and values from neighbour to neighbour beside the attention of those that are there, as in
  // a ring (Liu et al., arXiv 2310.01889; Transformer Engine's cp_comm_type p2p).
  bool context = false;
  // All-to-alls of one micro-batch beside the computation of another (Megatron Core's
  // overlap-moe-expert-parallel-comm): of the first forward and the last backward pass nothing.
  bool experts = false;
  // What replicas exchange for an update: parameters that ZeRO 1 and 2 share out are gathered
  // before the next forward pass reads them, and the stages of a pipeline send gradients while the
  // last backward pass goes on (Megatron Core's overlap-param-gather and overlap-grad-reduce).
  bool replicas = false;

  // Whether any is of a divided model.
  bool divided() const { return tensor || context || experts; }
};

// "tp,cp,ep,dp", each at most once; throws Error for anything else, with the nearest spelling.
ExchangeOverlap ParseExchangeOverlap(const std::string& text);

// What a plan says about its exchanges.
struct ExchangePlan {
  int tensor = 1, context = 1;     // devices that split operators, and the sequence
  std::int64_t micro_batches = 1;  // of a step, one behind the other
};

// The profile with exchanges as long as nothing runs beside them. In N pieces, the last piece of
// what computes, or the first, has nothing beside it: at most (N - 1) / N of either is hidden.
// Computation beside them is longer by the processors that a collective's kernel holds.
StepProfile WithOverlap(const StepProfile& profile, const ExchangeOverlap& overlap,
                        const ExchangePlan& plan);

}  // namespace dlcost
