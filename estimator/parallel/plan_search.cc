#include "estimator/parallel/plan_search.h"

#include <algorithm>
#include <set>

namespace dlcost {
namespace {

constexpr std::int64_t kMostMicroBatch = 64, kMostSplitMicroBatch = 8;

int LargestPower(std::int64_t limit) {
  int power = 1;
  while (power * 2 <= limit) power *= 2;
  return power;
}

class Searcher {
 public:
  Searcher(const ProfileOfPlan& profile_of, const System& system, const PlanSearch& search)
      : profile_of_(profile_of), system_(system), search_(search) {}

  std::vector<HybridStep> Run() {
    HybridPlan plan;
    plan.global_batch = search_.global_batch;
    plan.spread = search_.spread;
    plan.overlap = search_.overlap;
    if (search_.prepare) Prepare(plan);
    for (plan.micro_batch = 1; plan.micro_batch <= kMostMicroBatch; plan.micro_batch *= 2) {
      Add(plan);
      if (plan.micro_batch <= kMostSplitMicroBatch) AddSplit(plan);
    }
    const auto fits = [&](const HybridStep& step) {
      return !search_.memory || step.memory <= *search_.memory;
    };
    plan.micro_batch = 1;
    for (plan.context = 2; plan.context <= search_.devices; plan.context *= 2) {
      if (std::any_of(steps_.begin(), steps_.end(), fits)) break;
      if (search_.devices % plan.context != 0) continue;
      Add(plan);
      AddSplit(plan);
    }
    std::stable_sort(steps_.begin(), steps_.end(),
                     [](const HybridStep& a, const HybridStep& b) { return a.time < b.time; });
    return std::move(steps_);
  }

 private:
  // Without a split, and with operators split among powers of two of a node's devices.
  std::vector<int> Splits(const HybridPlan& plan) const {
    std::vector<int> splits;
    for (int tensor = 2; tensor <= std::min(search_.devices, system_.node_devices); tensor *= 2) {
      if (search_.devices % (tensor * plan.context) == 0) splits.push_back(tensor);
    }
    return splits;
  }

  // Whether some number of stages leaves replicas that share out the global batch.
  bool Divides(const HybridPlan& plan) const {
    const int rest = search_.devices / (plan.tensor * plan.context);
    for (int stages = 1; stages <= std::min(rest, kMostChunks); ++stages) {
      if (rest % stages == 0 && plan.global_batch % (plan.micro_batch * (rest / stages)) == 0) {
        return true;
      }
    }
    return false;
  }

  // Among how many devices whole experts are shared out: the neighbours of a node; of one item
  // among all, too.
  std::set<int> ExpertWays(const HybridPlan& plan, const StepProfile& profile) const {
    std::set<int> ways;
    if (plan.micro_batch > kMostSplitMicroBatch) return ways;
    const int rest = search_.devices / (plan.tensor * plan.context);
    const bool all = plan.micro_batch == 1 && plan.tensor == 1;  // a profile for each takes time
    for (const int most :
         {system_.node_devices / (plan.sequence ? 1 : plan.tensor), all ? rest : 1}) {
      const int power = LargestPower(std::min<std::int64_t>(most, profile.routed_experts));
      if (power > 1 && profile.routed_experts % power == 0) ways.insert(power);
    }
    return ways;
  }

  // What Run asks for if something fits: with one item, what does not split is left out of the
  // larger micro-batches.
  void Prepare(HybridPlan plan) {
    std::vector<HybridPlan> ways = {plan}, all;
    for (const int tensor : Splits(plan)) {
      ways.push_back(plan);
      ways.back().tensor = tensor;
      ways.back().sequence = true;
    }
    search_.prepare(ways);
    for (HybridPlan way : ways) {
      const StepProfile* profile = profile_of_(way);
      if (profile == nullptr) continue;
      const std::int64_t most = way.tensor > 1 ? kMostSplitMicroBatch : kMostMicroBatch;
      for (way.micro_batch = 1; way.micro_batch <= most; way.micro_batch *= 2) {
        if (!Divides(way)) continue;
        if (way.micro_batch > 1) all.push_back(way);
        for (const int experts : ExpertWays(way, *profile)) {
          all.push_back(way);
          all.back().experts = experts;
        }
      }
    }
    search_.prepare(all);
  }

  // With these micro-batches, and so many devices that split operators and the sequence.
  void Add(HybridPlan plan) {
    if (!Divides(plan)) return;
    const StepProfile* profile = profile_of_(plan);
    if (profile == nullptr) return;
    AddStages(plan, *profile);
    for (const int ways : ExpertWays(plan, *profile)) {
      plan.experts = ways;
      if (const StepProfile* parts = profile_of_(plan)) AddStages(plan, *parts);
    }
  }

  // The same with operators split, along the sequence too where that divides.
  void AddSplit(HybridPlan plan) {
    for (const int tensor : Splits(plan)) {
      plan.tensor = tensor;
      for (const bool sequence : {true, false}) {
        plan.sequence = sequence;
        const std::size_t before = steps_.size();
        Add(plan);
        if (steps_.size() > before) break;
      }
    }
  }

  void AddStages(HybridPlan plan, const StepProfile& profile) {
    const int rest = search_.devices / (plan.tensor * plan.context);
    const auto kernels =
        std::count_if(profile.kernels.begin(), profile.kernels.end(),
                      [](const StepKernel& kernel) { return kernel.phase == Phase::kForward; });
    for (int stages = 1; stages <= std::min(rest, kMostChunks); ++stages) {
      if (rest % stages != 0 || stages > kernels) continue;
      plan.data = rest / stages;
      plan.stages = stages;
      if (plan.global_batch % (plan.micro_batch * plan.data) != 0) continue;
      if (plan.sharers() % plan.experts != 0) continue;
      const int most = plan.replicas() == 1 ? 0 : stages > 1 ? 1 : 3;
      for (plan.zero = 0; plan.zero <= most; ++plan.zero) {
        steps_.push_back(RunHybrid(profile, system_, plan));
      }
      plan.zero = 0;
    }
  }

  const ProfileOfPlan& profile_of_;
  const System& system_;
  const PlanSearch& search_;
  std::vector<HybridStep> steps_;
};

}  // namespace

std::vector<HybridStep> AllPlans(const ProfileOfPlan& profile_of, const System& system,
                                 const PlanSearch& search) {
  return Searcher(profile_of, system, search).Run();
}

}  // namespace dlcost
