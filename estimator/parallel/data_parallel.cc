#include "estimator/parallel/data_parallel.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/collective/collective.h"
#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/parallel/sharded_units.h"
#include "estimator/parallel/slowest.h"

namespace dlcost {
namespace {

bool IsBackward(Phase phase) {
  return phase == Phase::kBackwardData || phase == Phase::kBackwardWeights;
}

// Writes the tasks of a step, in order.
class StepWriter {
 public:
  StepWriter(const StepProfile& profile, const System& system, const DataParallelPlan& plan)
      : profile_(profile),
        system_(system),
        plan_(plan),
        all_{plan.devices, plan.stride},
        dense_{all_, Bytes(), Bytes()},
        experts_{ExpertReplicas(plan), Bytes(), Bytes()} {
    if (Shards()) units_ = UnitsOf(profile);
    if (units_) sums_.assign(units_->modules.size(), {dense_, experts_});
    compute_ = step_.timeline.AddResource("compute stream");
    network_ = step_.timeline.AddResource("communication stream");
    if (profile.exchanges) split_ = step_.timeline.AddResource("exchange of split operators");
  }

  ParallelStep Run() {
    for (std::size_t k = 0; k < profile_.kernels.size(); ++k) {
      const StepKernel& kernel = profile_.kernels[k];
      if (kernel.phase == Phase::kOptimizer) {
        Update(kernel);
      } else {
        if (units_) {
          GatherUnit(k);
        } else if (Shards() || (GathersAhead() && !IsBackward(kernel.phase))) {
          GatherBefore(k);
        }
        Compute(kernel.name, kernel.time, kernel.exchange.has_value());
        if (IsBackward(kernel.phase) || kernel.phase == Phase::kLoss) Complete(k);
      }
    }
    SendBuckets();  // of a step without an update
    step_.timeline.Schedule();
    ShareProcessors();
    step_.time = step_.timeline.Span();
    step_.compute = UseOf(step_.timeline, compute_).busy;
    step_.communication = UseOf(step_.timeline, network_).busy;
    step_.exposed = Exposed(step_.timeline, network_, compute_);
    step_.memory = MemoryOf(profile_, plan_);
    return std::move(step_);
  }

 private:
  bool Shards() const { return plan_.zero == 3 && plan_.devices > 1; }
  bool GathersAhead() const { return plan_.gathers_ahead && (plan_.zero == 1 || plan_.zero == 2); }

  void Compute(const std::string& name, Seconds time, bool exchanges = false) {
    Task task{name, exchanges ? TaskKind::kCommunication : TaskKind::kKernel,
              exchanges ? split_ : compute_, time, std::move(waits_)};
    waits_.clear();
    if (last_compute_) task.after.push_back(*last_compute_);
    last_compute_ = step_.timeline.Add(std::move(task));
  }

  // A collective is a kernel, too: while one runs, computation has the processors that it leaves,
  // and is so much longer.
  void ShareProcessors() {
    const double share = HeldShare(channels_, profile_.processors);
    if (share == 0) return;
    for (const auto& [task, time] : Beside(step_.timeline, compute_, network_)) {
      step_.timeline.Lengthen(task, time * share);
      step_.slowed += time * share;
    }
    if (step_.slowed > Seconds()) step_.timeline.Schedule();
  }

  // Returns the task, none on a single device.
  std::optional<std::size_t> Communicate(CollectiveOp op, const std::string& what, Bytes bytes,
                                         const DeviceGroup& group, std::vector<std::size_t> after) {
    if (group.size == 1 || bytes == Bytes()) return std::nullopt;
    const CollectiveCall call{op, bytes, group};
    const CollectiveRun run = BestCollective(system_, call);
    ++step_.collectives;
    step_.sent += RingBytes(call);
    channels_ = std::max(channels_, run.channels);
    if (bytes > largest_) {
      largest_ = bytes;
      step_.algorithm = run.algorithm;
      step_.link = run.link;
    }
    if (last_sent_) after.push_back(*last_sent_);
    last_sent_ = step_.timeline.Add({fmt::format("{} {}", Name(op), what), TaskKind::kCommunication,
                                     network_, run.time(), std::move(after)});
    return last_sent_;
  }

  // What a kernel reads of the parameters: in the backward pass, those that it is the last to read.
  static Bytes Needs(const StepKernel& kernel) {
    return IsBackward(kernel.phase) ? kernel.trained : kernel.weights;
  }
  // Part of it: of experts, which fewer devices share out.
  static Bytes NeedsOfExperts(const StepKernel& kernel) {
    return IsBackward(kernel.phase) ? kernel.expert_trained : kernel.expert_weights;
  }

  // Gathers a bucket of parameters before the first kernel that needs them, at most one bucket
  // ahead of the computation.
  void GatherBefore(std::size_t kernel) {
    if (kernel < gathered_ || Needs(profile_.kernels[kernel]) == Bytes()) return;
    const bool backward = IsBackward(profile_.kernels[kernel].phase);
    Bytes bucket, experts;
    gathered_ = kernel;
    for (; gathered_ < profile_.kernels.size() && bucket < plan_.gradients.bucket; ++gathered_) {
      const StepKernel& next = profile_.kernels[gathered_];
      if (next.phase == Phase::kOptimizer || IsBackward(next.phase) != backward) break;
      bucket += Needs(next);
      experts += NeedsOfExperts(next);
    }
    Gather(profile_.kernels[kernel].name, bucket, experts);
  }

  // The same for a unit before the first kernel of each of its passes; the rest is there until the
  // end.
  void GatherUnit(std::size_t kernel) {
    if (kernel == 0) {
      Gather("what does not repeat", units_->rest.weights, units_->rest.expert_weights);
    }
    if (units_->of[kernel] == ShardedUnits::kRest) return;
    const ShardedUnit& unit = units_->UnitOf(kernel);
    if (unit.forward != kernel && unit.backward != kernel) return;
    Gather(profile_.kernels[kernel].module, unit.weights, unit.expert_weights);
  }

  // `experts` is part of `bytes`.
  void Gather(const std::string& of, Bytes bytes, Bytes experts) {
    std::vector<std::size_t> after;
    if (before_gather_) after.push_back(*before_gather_);
    before_gather_ = last_compute_;
    const auto gather = [&](const char* what, Bytes part, const DeviceGroup& group) {
      if (const auto task = Communicate(CollectiveOp::kAllGather, what + of, part, group, after)) {
        waits_.push_back(*task);
        if (plan_.copies) Compute("copy of " + of, profile_.streaming.Of(part + part));
      }
    };
    gather("parameters of ", bytes - experts, all_);
    gather("experts of ", experts, experts_.group);
  }

  void Complete(std::size_t k) {
    const StepKernel& kernel = profile_.kernels[k];
    const bool module = units_ && plan_.gradients.overlap && units_->of[k] != ShardedUnits::kRest;
    Bucket& dense = module ? sums_[units_->of[k]].first : dense_;
    Bucket& experts = module ? sums_[units_->of[k]].second : experts_;
    dense.bytes += kernel.gradients - kernel.expert_gradients;
    dense.stored += kernel.trained - kernel.expert_trained;
    experts.bytes += kernel.expert_gradients;
    experts.stored += kernel.expert_trained;
    for (Bucket* bucket : {&dense, &experts}) {
      const bool full = units_ ? module && units_->UnitOf(k).complete == k
                               : bucket->bytes >= plan_.gradients.bucket;
      if (full && plan_.gradients.overlap) Send(*bucket);
    }
  }

  // Gradients that the same devices add up.
  struct Bucket {
    DeviceGroup group;
    Bytes bytes;   // as they are sent
    Bytes stored;  // as they are in memory
  };

  void Send(Bucket& bucket) {
    if (bucket.bytes == Bytes()) return;
    if (plan_.copies && bucket.group.size > 1) {
      Compute("copy of gradients", profile_.streaming.Of(bucket.stored + bucket.bytes));
    }
    const CollectiveOp op =
        plan_.zero > 0 ? CollectiveOp::kReduceScatter : CollectiveOp::kAllReduce;
    std::vector<std::size_t> after;
    if (last_compute_) after.push_back(*last_compute_);
    if (const auto task = Communicate(op, fmt::format("gradients {}", ++buckets_), bucket.bytes,
                                      bucket.group, std::move(after))) {
      reduced_ = *task;
    }
    bucket.bytes = bucket.stored = Bytes();
  }

  void SendBuckets() {
    Send(dense_);
    Send(experts_);
  }

  void Update(const StepKernel& kernel) {
    SendBuckets();
    if (reduced_) waits_.push_back(*reduced_);
    Compute(kernel.name, kernel.time * UpdatedShare(profile_, plan_));
    if (!GathersAhead() && (plan_.zero == 1 || plan_.zero == 2)) {
      Communicate(CollectiveOp::kAllGather, "parameters",
                  profile_.weights - profile_.experts.weights, all_, {*last_compute_});
      Communicate(CollectiveOp::kAllGather, "parameters of experts", profile_.experts.weights,
                  experts_.group, {*last_compute_});
    }
  }

  const StepProfile& profile_;
  const System& system_;
  const DataParallelPlan& plan_;
  ParallelStep step_;
  std::size_t compute_ = 0, network_ = 0, split_ = 0;
  std::optional<std::size_t> last_compute_, last_sent_, reduced_, before_gather_;
  std::vector<std::size_t> waits_;  // of the next computation, beside the one before
  DeviceGroup all_;
  Bucket dense_, experts_;
  std::optional<ShardedUnits> units_;            // that are gathered, instead of buckets
  std::vector<std::pair<Bucket, Bucket>> sums_;  // of each of their modules: dense, experts
  Bytes largest_;
  int buckets_ = 0;
  int channels_ = 0;          // processors that the collectives hold
  std::size_t gathered_ = 0;  // kernels whose parameters are there
};

}  // namespace

DeviceGroup ExpertReplicas(const DataParallelPlan& plan) {
  if (plan.folds) return {plan.devices * plan.stride / plan.experts, plan.experts};
  return {plan.devices / plan.experts, plan.stride * plan.experts};
}

double UpdatedShare(const StepProfile& profile, const DataParallelPlan& plan) {
  if (plan.zero == 0) return 1;
  const double experts =
      profile.experts.sent_gradients.AsDouble() / std::max(1.0, profile.sent_gradients.AsDouble());
  return (1 - experts) / plan.devices + experts / ExpertReplicas(plan).size;
}

namespace {

bool GradientsLast(const DataParallelPlan& plan, std::int64_t micro_batches) {
  return plan.devices > 1 || micro_batches > 1;
}

}  // namespace

Bytes LastingOf(const StepProfile& profile, const DataParallelPlan& plan,
                std::int64_t micro_batches) {
  const auto part = [&](Bytes bytes, Bytes of_experts, int from) {
    if (plan.zero < from) return bytes;
    return Bytes(CeilDiv((bytes - of_experts).count(), plan.devices) +
                 CeilDiv(of_experts.count(), ExpertReplicas(plan).size));
  };
  const ParameterBytes& experts = profile.experts;
  if (!GradientsLast(plan, micro_batches)) return profile.states + profile.weights;
  const bool sums = micro_batches > 1;
  return part(profile.states, experts.states, 1) +
         part(sums ? profile.gradient_sums : profile.gradients,
              sums ? experts.gradient_sums : experts.gradients, 2) +
         part(profile.weights, experts.weights, 3);
}

Bytes MemoryOf(const StepProfile& profile, const DataParallelPlan& plan,
               std::int64_t micro_batches) {
  if (profile.trains && !GradientsLast(plan, micro_batches)) return profile.alone;
  // Each updates its part.
  const double share = UpdatedShare(profile, plan);
  const Bytes updating(RoundToInteger(profile.Updating(micro_batches).AsDouble() * share));
  const bool gathers = plan.zero == 3 && plan.devices > 1;
  const Bytes passes = gathers ? PassesWithGathered(profile, plan) : profile.activations;
  return LastingOf(profile, plan, micro_batches) + std::max(passes, updating);
}

ParallelStep RunDataParallel(const StepProfile& profile, const System& system,
                             const DataParallelPlan& plan) {
  if (plan.devices < 1) throw Error("{} devices: a plan has one or more", plan.devices);
  if (plan.zero < 0 || plan.zero > 3) throw Error("zero={}: it is 0, 1, 2 or 3", plan.zero);
  const double slowest = SlowestOf(plan.devices, plan.spread);
  if (slowest == 1) return StepWriter(profile, system, plan).Run();
  return StepWriter(profile.Slowed(slowest), system, plan).Run();
}

}  // namespace dlcost
