#include "estimator/parallel/sharded_units.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "estimator/core/integer.h"

namespace dlcost {
namespace {

bool IsForward(Phase phase) { return phase == Phase::kForward || phase == Phase::kLoss; }

// What of some bytes is whole only while it is used: a device has all of what nobody shares.
class SharedOut {
 public:
  explicit SharedOut(const DataParallelPlan& plan)
      : all_(plan.devices > 1), experts_(ExpertReplicas(plan).size > 1) {}

  Bytes Of(Bytes bytes, Bytes of_experts) const {
    return (all_ ? bytes - of_experts : Bytes()) + (experts_ ? of_experts : Bytes());
  }
  Bytes Weights(const ShardedUnit& unit) const { return Of(unit.weights, unit.expert_weights); }

 private:
  bool all_, experts_;
};

// The largest two buckets in a row, in the order in which the forward pass reads them.
Bytes LargestBuckets(const StepProfile& profile, const DataParallelPlan& plan,
                     const SharedOut& shared) {
  Bytes before, bucket, most;
  for (const StepKernel& kernel : profile.kernels) {
    bucket += shared.Of(kernel.weights, kernel.expert_weights);
    if (bucket < plan.gradients.bucket) continue;
    most = std::max(most, before + bucket);
    before = bucket;
    bucket = Bytes();
  }
  return std::max(most, before + bucket);
}

// Buffers that parameters are gathered into, in memory of the stream that gathers, which keeps it
// (PyTorch's allocator shares none between streams): a unit's is there until the next one is copied
// out, the rest's and the first module's or two modules' in a row; and before, a copy of what the
// device has of a unit.
Bytes GatherBuffers(const std::vector<ShardedUnit>& modules, Bytes rest,
                    const DataParallelPlan& plan, const SharedOut& shared) {
  Bytes before = rest, most;
  for (const ShardedUnit& module : modules) {
    const Bytes bytes = shared.Weights(module);
    const Bytes part(CeilDiv(std::max(before, bytes).count(), plan.devices));
    most = std::max(most, before + bytes + part);
    before = bytes;
  }
  return most;
}

}  // namespace

std::optional<ShardedUnits> UnitsOf(const StepProfile& profile) {
  ShardedUnits units;
  std::unordered_map<std::string, std::size_t> number;
  for (std::size_t k = 0; k < profile.kernels.size(); ++k) {
    const StepKernel& kernel = profile.kernels[k];
    const bool rest = kernel.module.empty() || kernel.phase == Phase::kOptimizer;
    if (!rest && number.try_emplace(kernel.module, units.modules.size()).second) {
      units.modules.emplace_back();
    }
    units.of.push_back(rest ? ShardedUnits::kRest : number.at(kernel.module));
    ShardedUnit& unit = rest ? units.rest : units.modules[units.of.back()];
    unit.weights += kernel.weights - kernel.outer_weights;
    units.rest.weights += kernel.outer_weights;
    unit.expert_weights += kernel.expert_weights;
    unit.gradients += kernel.gradients;
    unit.expert_gradients += kernel.expert_gradients;
    if (kernel.phase == Phase::kOptimizer) continue;
    std::optional<std::size_t>& first = IsForward(kernel.phase) ? unit.forward : unit.backward;
    if (!first) first = k;
    if (kernel.gradients > Bytes()) unit.complete = k;
  }
  if (units.modules.empty()) return std::nullopt;
  return units;
}

Bytes PassesWithGathered(const StepProfile& profile, const DataParallelPlan& plan) {
  const SharedOut shared(plan);
  const std::optional<ShardedUnits> units = UnitsOf(profile);
  if (!units) return profile.activations + LargestBuckets(profile, plan, shared);
  const std::vector<ShardedUnit>& modules = units->modules;
  const Bytes rest = shared.Weights(units->rest);
  const Bytes buffers = plan.copies ? GatherBuffers(modules, rest, plan, shared) : Bytes();
  std::size_t current = 0;
  Bytes most, completing, sending, scattered, of_rest;  // but the first: whole gradients
  for (std::size_t k = 0; k < profile.kernels.size(); ++k) {
    const StepKernel& kernel = profile.kernels[k];
    if (kernel.phase == Phase::kOptimizer) continue;
    const bool forward = IsForward(kernel.phase), inside = units->of[k] != ShardedUnits::kRest;
    if (inside) current = units->of[k];
    (inside ? completing : of_rest) += shared.Of(kernel.trained, kernel.expert_trained);
    if (inside) sending += shared.Of(kernel.gradients, kernel.expert_gradients);
    Bytes gathered = rest + shared.Weights(modules[current]);
    if (inside && !plan.copies) {  // else the next one is in a buffer until then
      const std::size_t next = forward ? current + 1 : current - 1;  // none before the first
      if (next < modules.size()) gathered += shared.Weights(modules[next]);
    }
    most = std::max(most, kernel.live + gathered + completing + scattered + of_rest);
    if (inside && modules[current].complete == k) {
      if (plan.copies) most = std::max(most, kernel.live + rest + completing + sending + of_rest);
      scattered = sending;
      completing = sending = Bytes();
    }
  }
  return std::max(most, profile.activations) + buffers;
}

}  // namespace dlcost
