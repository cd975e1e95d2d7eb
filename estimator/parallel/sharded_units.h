#pragma once

#include <optional>
#include <vector>

#include "estimator/parallel/data_parallel.h"

namespace dlcost {

// Parameters that devices share out (ZeRO 3) and that are gathered, and whose gradients are
// scattered, at once.
struct ShardedUnit {
  Bytes weights, expert_weights;      // the latter is part of the former
  Bytes gradients, expert_gradients;  // as they are sent
  // Numbers of kernels, where there are any: the first of the forward pass, of the backward pass
  // (what is computed again is part of it), and the one that completes its gradients.
  std::optional<std::size_t> forward, backward, complete;
};

// PyTorch's FSDP as transformers are wrapped in it: each module that repeats is a unit, and the
// rest is one that is gathered before the first kernel and freed behind the last (`fully_shard` of
// the model itself does not reshard after the forward pass).
struct ShardedUnits {
  static constexpr std::size_t kRest = static_cast<std::size_t>(-1);

  std::vector<ShardedUnit> modules;  // in the order of the forward pass
  ShardedUnit rest;
  std::vector<std::size_t> of;  // the module of each kernel

  const ShardedUnit& UnitOf(std::size_t kernel) const {
    return of[kernel] == kRest ? rest : modules[of[kernel]];
  }
};

// None where no module repeats: buckets of parameters are gathered.
std::optional<ShardedUnits> UnitsOf(const StepProfile& profile);

// The most that lives in a pass beside what lasts on a device that gathers parameters for it: with
// the unit that computes the next one is there, gathered ahead, and behind it the gradients of the
// one before, which are scattered meanwhile. Of buckets two in a row count; their gradients do not.
Bytes PassesWithGathered(const StepProfile& profile, const DataParallelPlan& plan);

}  // namespace dlcost
