#include "estimator/parallel/plan_search.h"

#include <algorithm>
#include <exception>
#include <set>

#include "estimator/parallel/slowest.h"

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

  FoundPlans Run() {
    HybridPlan plan;
    plan.global_batch = search_.global_batch;
    plan.spread = search_.spread;
    plan.overlap = search_.overlap;
    plan.gradients = search_.gradients;
    std::vector<HybridPlan> ways = Ways(plan);
    while (!ways.empty()) {
      const std::vector<bool> may_fit = Add(ways);
      std::vector<HybridPlan> larger;
      for (std::size_t w = 0; w < ways.size(); ++w) {
        HybridPlan& way = ways[w];
        way.micro_batch *= 2;
        if (!IsLookedAt(way)) continue;
        if (may_fit[w]) {
          larger.push_back(way);
        } else {
          ++found_.too_large;
        }
      }
      ways = std::move(larger);
    }
    const auto fits = [&](const HybridStep& step) {
      return !search_.memory || step.memory <= *search_.memory;
    };
    for (plan.context = 2; plan.context <= search_.devices; plan.context *= 2) {
      if (std::any_of(found_.steps.begin(), found_.steps.end(), fits)) break;
      if (search_.devices % plan.context != 0) continue;
      Add(Ways(plan));
    }
    std::stable_sort(found_.steps.begin(), found_.steps.end(),
                     [](const HybridStep& a, const HybridStep& b) { return a.time < b.time; });
    return std::move(found_);
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

  // Among how many devices whole experts are shared out: the neighbours of a node; without other
  // splits among all, too.
  std::set<int> ExpertWays(const HybridPlan& plan, const StepProfile& profile) const {
    std::set<int> ways;
    const int rest = search_.devices / (plan.tensor * plan.context);
    for (const int most : {MostNeighbours(plan), plan.tensor == 1 ? rest : 1}) {
      const int power = LargestPower(std::min<std::int64_t>(most, profile.routed_experts));
      if (power > 1 && profile.routed_experts % power == 0) ways.insert(power);
    }
    return ways;
  }

  int MostNeighbours(const HybridPlan& plan) const {
    return system_.node_devices / (plan.sequence ? 1 : plan.tensor);
  }

  // The ways to divide the model, with micro-batches of one item: whole, and with operators split,
  // along the sequence too where that divides; each with whole experts shared out where it has
  // some.
  std::vector<HybridPlan> Ways(const HybridPlan& plan) {
    std::vector<HybridPlan> first = {plan}, ways;
    for (const int tensor : Splits(plan)) {
      first.push_back(plan);
      first.back().tensor = tensor;
      first.back().sequence = true;
    }
    std::erase_if(first, [&](const HybridPlan& way) { return !Divides(way); });
    Prepare(first);
    std::vector<const StepProfile*> profiles;
    std::vector<HybridPlan> others;
    for (HybridPlan& way : first) {
      profiles.push_back(profile_of_(way));
      if (profiles.back() != nullptr || !way.sequence) continue;
      way.sequence = false;
      others.push_back(way);
    }
    Prepare(others);
    for (std::size_t f = 0; f < first.size(); ++f) {
      const HybridPlan& way = first[f];
      const StepProfile* profile = profiles[f];
      if (profile == nullptr && way.tensor > 1) profile = profile_of_(way);
      if (profile == nullptr) continue;
      ways.push_back(way);
      for (const int experts : ExpertWays(way, *profile)) {
        ways.push_back(way);
        ways.back().experts = experts;
      }
    }
    return ways;
  }

  // Whether the search goes on to such micro-batches: those of a divided model are small, of one
  // item where experts are far from each other.
  bool IsLookedAt(const HybridPlan& way) const {
    const bool far = way.experts > MostNeighbours(way);
    const std::int64_t most = far                                 ? 1
                              : way.tensor > 1 || way.experts > 1 ? kMostSplitMicroBatch
                                                                  : kMostMicroBatch;
    return way.micro_batch <= most && Divides(way);
  }

  void Prepare(const std::vector<HybridPlan>& ways) const {
    if (search_.prepare && !ways.empty()) search_.prepare(ways);
  }

  // A way to divide the model, with any number of stages.
  struct Tried {
    const StepProfile* profile = nullptr;
    std::vector<HybridStep> steps;
    std::exception_ptr error;  // instead
  };

  // Returns of each whether something may fit with larger micro-batches, which keep as much or
  // more: they need less of nothing but sums of gradients.
  std::vector<bool> Add(const std::vector<HybridPlan>& ways) {
    Prepare(ways);
    std::vector<Tried> all(ways.size());
    for (std::size_t w = 0; w < ways.size(); ++w) all[w].profile = profile_of_(ways[w]);
    const auto attempt = [&](std::size_t w) {
      try {
        if (all[w].profile != nullptr) all[w].steps = StepsOf(ways[w], *all[w].profile);
      } catch (...) {
        all[w].error = std::current_exception();
      }
    };
    if (search_.for_each) {
      search_.for_each(ways.size(), attempt);
    } else {
      for (std::size_t w = 0; w < ways.size(); ++w) attempt(w);
    }
    std::vector<bool> may_fit;
    for (Tried& tried : all) {
      if (tried.error) std::rethrow_exception(tried.error);
      may_fit.push_back(MayFitLarger(tried));
      std::move(tried.steps.begin(), tried.steps.end(), std::back_inserter(found_.steps));
    }
    return may_fit;
  }

  bool MayFitLarger(const Tried& tried) const {
    if (!search_.memory || tried.steps.empty()) return true;
    const StepProfile& profile = *tried.profile;
    const Bytes sums = std::max(profile.gradient_sums, profile.gradients) - profile.gradients;
    return std::any_of(tried.steps.begin(), tried.steps.end(), [&](const HybridStep& step) {
      return step.memory <= *search_.memory + sums;
    });
  }

  std::vector<HybridStep> StepsOf(HybridPlan plan, const StepProfile& of_device) const {
    // All plans are of as many devices, and wait for one that is as slow.
    const double slowest = SlowestOf(search_.devices, search_.spread);
    const StepProfile slowed = slowest == 1 ? StepProfile() : of_device.Slowed(slowest);
    const StepProfile& profile = slowest == 1 ? of_device : slowed;
    std::vector<HybridStep> steps;
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
        HybridPlan slow = plan;
        slow.spread = 0;  // the profile's times hold it
        steps.push_back(RunHybrid(profile, system_, slow));
        steps.back().plan.spread = plan.spread;
      }
      plan.zero = 0;
    }
    return steps;
  }

  const ProfileOfPlan& profile_of_;
  const System& system_;
  const PlanSearch& search_;
  FoundPlans found_;
};

}  // namespace

FoundPlans AllPlans(const ProfileOfPlan& profile_of, const System& system,
                    const PlanSearch& search) {
  return Searcher(profile_of, system, search).Run();
}

}  // namespace dlcost
