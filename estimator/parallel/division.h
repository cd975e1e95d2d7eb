#pragma once

#include <set>
#include <string>

#include "estimator/parallel/context_parallel.h"
#include "estimator/parallel/hybrid.h"
#include "estimator/parallel/tensor_parallel.h"
#include "estimator/training/grouped_experts.h"

namespace dlcost {

// What of a plan changes the model that a device has: axes of operators, the sequence, experts.
struct Division {
  TensorParallel tensor;
  ContextParallel context;
  ExpertPlaces experts;

  bool Divides() const { return tensor.devices > 1 || context.devices > 1 || experts.devices > 1; }
};

// Devices that split operators are neighbours; those that split the sequence are as far from each
// other as those are many, and so are those that share out experts, unless the plan folds them.
// `expert_load`: see
// ExpertPlaces. `annotations`: see TensorParallel.
Division DivisionOf(const HybridPlan& plan, bool trains, double expert_load = 1,
                    const DeviceConfiguration* annotations = nullptr);

// The model of one device.
struct DividedModel {
  InferredModel model;
  std::set<std::string> experts;  // names of the weights that hold a device's experts
};
DividedModel Divide(const InferredModel& model, const Division& division,
                    const InferOptions& options);

}  // namespace dlcost
