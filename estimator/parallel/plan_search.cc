#include <algorithm>
#include <set>

#include "estimator/parallel/hybrid.h"

namespace dlcost {
namespace {

constexpr std::int64_t kMostMicroBatch = 64, kMostSplitMicroBatch = 8;

// Every plan of so many devices, into `steps`.
class PlanSearch {
 public:
  PlanSearch(const ProfileOfPlan& profile_of, const System& system, int devices,
             std::vector<HybridStep>& steps)
      : profile_of_(profile_of), system_(system), devices_(devices), steps_(steps) {}

  // With these micro-batches, and so many devices that split operators and the sequence: without
  // shared out experts, and among the neighbours of a node; of one item among all, too.
  void Add(HybridPlan plan) {
    const StepProfile* profile = profile_of_(plan);
    if (profile == nullptr) return;
    AddStages(plan, *profile);
    std::set<int> shared;
    const int rest = devices_ / (plan.tensor * plan.context);
    const bool all = plan.micro_batch == 1 && plan.tensor == 1;  // a profile for each takes time
    for (const int most :
         {system_.node_devices / (plan.sequence ? 1 : plan.tensor), all ? rest : 1}) {
      const int ways = LargestPower(std::min<std::int64_t>(most, profile->routed_experts));
      if (ways > 1 && profile->routed_experts % ways == 0) shared.insert(ways);
    }
    for (const int ways : shared) {
      if (plan.micro_batch > kMostSplitMicroBatch) continue;
      plan.experts = ways;
      if (const StepProfile* parts = profile_of_(plan)) AddStages(plan, *parts);
    }
  }

  // The same with operators split among powers of two of a node's devices, along the sequence too
  // where that divides.
  void AddSplit(HybridPlan plan) {
    for (plan.tensor = 2; plan.tensor <= std::min(devices_, system_.node_devices);
         plan.tensor *= 2) {
      if (devices_ % (plan.tensor * plan.context) != 0) continue;
      for (const bool sequence : {true, false}) {
        plan.sequence = sequence;
        const std::size_t before = steps_.size();
        Add(plan);
        if (steps_.size() > before) break;
      }
    }
  }

 private:
  static int LargestPower(std::int64_t limit) {
    int power = 1;
    while (power * 2 <= limit) power *= 2;
    return power;
  }

  void AddStages(HybridPlan plan, const StepProfile& profile) {
    const int rest = devices_ / (plan.tensor * plan.context);
    const auto kernels =
        std::count_if(profile.kernels.begin(), profile.kernels.end(),
                      [](const StepKernel& kernel) { return kernel.phase == Phase::kForward; });
    for (int stages = 1; stages <= std::min(rest, kMostChunks); ++stages) {
      if (rest % stages != 0 || stages > kernels) continue;
      plan.data = rest / stages;
      plan.stages = stages;
      if (plan.global_batch % (plan.micro_batch * plan.data) != 0) continue;
      if (plan.sharers() % plan.experts != 0) continue;
      const int most = plan.replicas() == 1 ? 0 : stages > 1 ? 1 : plan.experts > 1 ? 2 : 3;
      for (plan.zero = 0; plan.zero <= most; ++plan.zero) {
        steps_.push_back(RunHybrid(profile, system_, plan));
      }
      plan.zero = 0;
    }
  }

  const ProfileOfPlan& profile_of_;
  const System& system_;
  int devices_;
  std::vector<HybridStep>& steps_;
};

}  // namespace

std::vector<HybridStep> AllPlans(const ProfileOfPlan& profile_of, const System& system, int devices,
                                 std::int64_t global_batch, double spread,
                                 std::optional<Bytes> memory, const ExchangeOverlap& overlap) {
  std::vector<HybridStep> steps;
  PlanSearch search(profile_of, system, devices, steps);
  HybridPlan plan;
  plan.global_batch = global_batch;
  plan.spread = spread;
  plan.overlap = overlap;
  for (plan.micro_batch = 1; plan.micro_batch <= kMostMicroBatch; plan.micro_batch *= 2) {
    search.Add(plan);
    if (plan.micro_batch <= kMostSplitMicroBatch) search.AddSplit(plan);
  }
  const auto fits = [&](const HybridStep& step) { return !memory || step.memory <= *memory; };
  plan.micro_batch = 1;
  for (plan.context = 2; plan.context <= devices; plan.context *= 2) {
    if (std::any_of(steps.begin(), steps.end(), fits)) break;
    if (devices % plan.context != 0) continue;
    search.Add(plan);
    search.AddSplit(plan);
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const HybridStep& a, const HybridStep& b) { return a.time < b.time; });
  return steps;
}

}  // namespace dlcost
