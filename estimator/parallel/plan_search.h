#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "estimator/parallel/hybrid.h"

namespace dlcost {

// The profile of a plan's micro-batch, which lasts as long as the search; null where the model does
// not split so.
using ProfileOfPlan = std::function<const StepProfile*(const HybridPlan&)>;

struct PlanSearch {
  int devices = 1;
  std::int64_t global_batch = 1;
  double spread = 0;            // of the devices' speeds (slowest.h)
  std::optional<Bytes> memory;  // of a device
  ExchangeOverlap overlap;
  GradientSends gradients;
  // Told of plans whose profiles will be asked for, so that they are made at once. May be empty.
  std::function<void(const std::vector<HybridPlan>&)> prepare;
  // Calls what it is given for every number below the first argument, in any order and from several
  // threads. Empty: one after the other.
  std::function<void(std::size_t, const std::function<void(std::size_t)>&)> for_each;
};

struct FoundPlans {
  std::vector<HybridStep> steps;  // the fastest first
  // Ways to divide the model of which larger micro-batches were not looked at: nothing fits
  // already.
  int too_large = 0;
};

// Every plan of so many devices that divides the global batch: replicas and stages, ZeRO 0 to 3,
// micro-batches of powers of two up to 64, as long as something of that way to divide the model
// fits; with up to 8 items, operators split among powers of two of a node's devices, along the
// sequence too where that divides, and whole experts shared out in a node or among all. Where none
// needs at most `memory`, sequences are split as well.
FoundPlans AllPlans(const ProfileOfPlan& profile_of, const System& system,
                    const PlanSearch& search);

}  // namespace dlcost
