#include "estimator/parallel/hybrid.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "estimator/collective/collective.h"
#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/core/spelling.h"
#include "estimator/core/whole_number.h"
#include "estimator/parallel/slowest.h"

namespace dlcost {
namespace {

constexpr int kMostPlanDevices = 1 << 20;
// Micro-batches per stage that are placed one by one.
constexpr std::int64_t kPlaced = 2;

// The micro-batch whose activations are in memory at once on the first stage.
double InFlight(const HybridPlan& plan, int stage) {
  const auto batches = static_cast<double>(plan.micro_batches());
  if (plan.schedule == PipelineSchedule::kGPipe) return batches;
  // Passes over one of its chunks that a device of an interleaved pipeline starts with, and the one
  // that follows them: 2 (p - d - 1) + (v - 1) p + 1 (Narayanan et al., arXiv 2104.04473).
  const double passes = 2.0 * (plan.stages - stage - 1) + (plan.chunks - 1.0) * plan.stages + 1;
  const double ahead = plan.chunks == 1 ? plan.stages - stage : passes / plan.chunks;
  return std::min(batches, ahead);
}

Bytes GradientsOf(const StepProfile& profile, const HybridPlan& plan) {
  return plan.micro_batches() > 1 ? profile.gradient_sums : profile.gradients;
}

DataParallelPlan ReplicasOf(const HybridPlan& plan) {
  return {.devices = plan.replicas(),
          .stride = plan.tensor,
          .experts = plan.experts,
          .folds = plan.folds(),
          .zero = plan.zero,
          .copies = plan.copies,
          .gradients = plan.gradients,
          .gathers_ahead = plan.overlap.replicas};
}

// What replicas exchange of a stage's gradients, and what its update gathers: of what all have, and
// of experts.
std::vector<CollectiveCall> ExchangesOf(const PipelineStage& stage, const HybridPlan& plan) {
  std::vector<CollectiveCall> calls;
  const auto add = [&](const DeviceGroup& group, Bytes gradients, Bytes weights) {
    if (group.size == 1 || gradients == Bytes()) return;
    if (plan.zero == 0) {
      calls.push_back({CollectiveOp::kAllReduce, gradients, group});
    } else {
      calls.push_back({CollectiveOp::kReduceScatter, gradients, group});
      calls.push_back({CollectiveOp::kAllGather, weights, group});
    }
  };
  add({plan.replicas(), plan.tensor}, stage.gradients - stage.expert_gradients,
      stage.weights - stage.expert_weights);
  add(ExpertReplicas(ReplicasOf(plan)), stage.expert_gradients, stage.expert_weights);
  return calls;
}

HybridStep RunPipeline(const StepProfile& profile, const System& system, const HybridPlan& plan) {
  HybridStep step;
  step.plan = plan;
  const int chunks = plan.stages * plan.chunks;
  step.stages = BalancedStages(profile, chunks);
  std::vector<PipelineChunk> work;
  for (PipelineStage& stage : step.stages) {
    if (stage.passed > Bytes()) {
      const int stride = plan.replicas() * plan.tensor;
      const CollectiveCall call{CollectiveOp::kSend, stage.passed, {2, stride}};
      stage.send = BestCollective(system, call).time();
    }
    work.push_back({stage.forward, stage.backward, stage.send, stage.for_weights});
  }
  // What a device does for one micro-batch, and the slowest of them.
  std::vector<PipelineStage> devices(static_cast<std::size_t>(plan.stages));
  for (std::size_t c = 0; c < step.stages.size(); ++c) {
    PipelineStage& device = devices[c % devices.size()];
    device.forward += step.stages[c].forward;
    device.backward += step.stages[c].backward;
    device.update += step.stages[c].update;
    device.weights += step.stages[c].weights;
    device.gradients += step.stages[c].gradients;
    device.saved += step.stages[c].saved;
    device.expert_weights += step.stages[c].expert_weights;
    device.expert_gradients += step.stages[c].expert_gradients;
  }
  Seconds slowest, tail;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const PipelineStage& device = devices[d];
    slowest = std::max(slowest, device.forward + device.backward);
    Seconds exchange;
    Bytes sent;
    // Beside the last backward pass, or the first forward pass of the next step.
    Seconds backward = plan.overlap.replicas ? device.backward : Seconds();
    Seconds forward = plan.overlap.replicas ? device.forward : Seconds();
    for (const CollectiveCall& call : ExchangesOf(device, plan)) {
      const CollectiveRun run = BestCollective(system, call);
      Seconds& room = call.op == CollectiveOp::kAllGather ? forward : backward;
      const Seconds hidden = std::min(run.time(), room);
      room = room - hidden;
      exchange += run.time() - hidden * (1 - HeldShare(run.channels, profile.processors));
      sent += RingBytes(call);
    }
    tail = std::max(tail, exchange + device.update * UpdatedShare(profile, ReplicasOf(plan)));
    step.exposed = std::max(step.exposed, exchange);
    step.sent = std::max(step.sent, sent);
    // Of what all replicas have, and of experts.
    const auto share = [](Bytes of, Bytes all) {
      return of.AsDouble() / std::max(1.0, all.AsDouble());
    };
    const ParameterBytes& experts = profile.experts;
    const double dense =
        share(device.weights - device.expert_weights, profile.weights - experts.weights);
    const double expert = share(device.expert_weights, experts.weights);
    const double saved = device.saved.AsDouble() * InFlight(plan, static_cast<int>(d));
    // What micro-batches keep while they wait, and what one of them needs beside that while it
    // runs.
    const double running =
        std::max(0.0, (profile.activations.AsDouble() - profile.saved.AsDouble()));
    step.saved = std::max(step.saved, Bytes(RoundToInteger(saved)));
    const double parts = plan.zero > 0 ? plan.replicas() : 1;
    const double expert_parts = plan.zero > 0 ? ExpertReplicas(ReplicasOf(plan)).size : 1;
    const Bytes expert_gradients =
        plan.micro_batches() > 1 ? experts.gradient_sums : experts.gradients;
    const Bytes gradients = GradientsOf(profile, plan) - expert_gradients;
    const double lasting =
        device.weights.AsDouble() +
        dense * (gradients.AsDouble() + (profile.states - experts.states).AsDouble() / parts) +
        expert * (expert_gradients.AsDouble() + experts.states.AsDouble() / expert_parts);
    step.lasting = std::max(step.lasting, Bytes(RoundToInteger(lasting)));
    const double updating = profile.Updating(plan.micro_batches()).AsDouble() *
                            UpdatedShare(profile, ReplicasOf(plan)) *
                            share(device.weights, profile.weights);
    const double most = std::max(saved + running, updating) + lasting;
    step.memory = std::max(step.memory, Bytes(RoundToInteger(most)));
  }
  const std::int64_t batches = plan.micro_batches();
  const std::int64_t simulated = std::min<std::int64_t>(batches, kPlaced * plan.stages);
  const Timeline timeline =
      PipelineTimeline(work, plan.stages, static_cast<int>(simulated), plan.schedule);
  const Seconds passes = timeline.Span() + slowest * static_cast<double>(batches - simulated);
  Seconds busy;
  for (const PipelineStage& device : devices) busy += device.forward + device.backward;
  step.bubble = 1 - busy * static_cast<double>(batches) / (passes * plan.stages);
  step.time = passes + tail;
  return step;
}

// Without a pipeline the micro-batches follow each other, and the last one's backward pass hides
// the exchange.
HybridStep RunReplicas(const StepProfile& profile, const System& system, const HybridPlan& plan) {
  HybridStep step;
  step.plan = plan;
  const ParallelStep last = RunDataParallel(profile, system, ReplicasOf(plan));
  const Seconds pass = profile.Time() - profile.Time(Phase::kOptimizer);
  // With ZeRO 3 every micro-batch gathers its parameters.
  const Seconds early = plan.zero == 3 ? pass + last.exposed + last.slowed : pass;
  const auto before = static_cast<double>(plan.micro_batches() - 1);
  step.time = last.time + early * before;
  step.exposed = last.exposed * (plan.zero == 3 ? before + 1 : 1);
  step.memory = MemoryOf(profile, ReplicasOf(plan), plan.micro_batches());
  step.saved = profile.saved;
  step.lasting = LastingOf(profile, ReplicasOf(plan), plan.micro_batches());
  step.sent = last.sent * (plan.zero == 3 ? plan.micro_batches() : 1);
  return step;
}

}  // namespace

HybridPlan ParsePlan(const std::string& text) {
  static const std::vector<std::string> kKeys = {"dp", "tp",   "pp",   "sp",    "cp",
                                                 "ep", "zero", "fsdp", "chunks"};
  HybridPlan plan;
  std::set<std::string> seen;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const bool known = std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
    if (!known || equals == std::string::npos) {
      throw Error("--parallel '{}': write it as in dp=4,pp=2,zero=1{}", Printable(part),
                  known ? "" : DidYouMean(key, kKeys));
    }
    const int value = WholeNumber<int>(std::string_view(part).substr(equals + 1)).value_or(-1);
    const bool flag = key == "sp";
    const int least = key == "zero" || flag ? 0 : 1;
    const int most = key == "zero" ? 3 : key == "fsdp" ? 2 : flag ? 1 : kMostPlanDevices;
    if (value < least || value > most) {
      throw Error("--parallel '{}': {} is {} to {}", Printable(part), key, least, most);
    }
    if (!seen.insert(key).second) throw Error("--parallel: {} is given twice", key);
    if (key == "tp") plan.tensor = value;
    if (key == "sp") plan.sequence = value == 1;
    if (key == "cp") plan.context = value;
    if (key == "ep") plan.experts = value;
    if (key == "dp") plan.data = value;
    if (key == "pp") plan.stages = value;
    if (key == "zero") plan.zero = value;
    if (key == "fsdp") plan.copies = value == 2;
    if (key == "chunks") plan.chunks = value;
  }
  if (seen.count("fsdp") > 0) {
    if (seen.count("zero") > 0 && plan.zero != 3) {
      throw Error("--parallel {}: fsdp is zero=3", Printable(text));
    }
    plan.zero = 3;
  }
  std::int64_t devices = 1;
  for (const int each : {plan.data, plan.tensor, plan.context, plan.stages}) {
    devices = std::min<std::int64_t>(devices * each, std::int64_t{kMostPlanDevices} + 1);
  }
  if (devices > kMostPlanDevices) {
    throw Error("--parallel {}: more than {} devices", Printable(text), kMostPlanDevices);
  }
  if (std::int64_t{plan.stages} * plan.chunks > kMostChunks) {
    throw Error("--parallel {}: a pipeline has at most {} chunks", Printable(text), kMostChunks);
  }
  return plan;
}

std::string ToString(const HybridPlan& plan) {
  std::string text = fmt::format("dp={},", plan.data);
  if (plan.tensor > 1) text += fmt::format("tp={},", plan.tensor);
  if (plan.sequence) text += "sp=1,";
  if (plan.context > 1) text += fmt::format("cp={},", plan.context);
  if (plan.experts > 1) text += fmt::format("ep={},", plan.experts);
  text += fmt::format("pp={},{}", plan.stages,
                      plan.copies ? "fsdp=2" : fmt::format("zero={}", plan.zero));
  if (plan.chunks > 1) text += fmt::format(",chunks={}", plan.chunks);
  return text;
}

void CheckPlan(const HybridPlan& plan) {
  if (plan.sequence && plan.tensor == 1) throw Error("sp=1 needs tp=2 or more");
  if (plan.sharers() % plan.experts != 0) {
    HybridPlan would = plan;
    while (would.sharers() % plan.experts != 0) ++would.data;
    throw Error("ep={}: {} devices ({}dp{}) do not share out experts so; dp={} would do",
                plan.experts, plan.sharers(), plan.folds() ? "tp x " : "",
                plan.context > 1 ? " x cp" : "", would.data);
  }
  const std::int64_t each = plan.micro_batch * plan.data;
  if (plan.micro_batch < 1) throw Error("--micro-batch {}: 1 or more", plan.micro_batch);
  if (plan.global_batch < each || plan.global_batch % each != 0) {
    throw Error(
        "--global-batch {} does not divide among {} replicas with micro-batches of {}; {} would",
        plan.global_batch, plan.data, plan.micro_batch,
        std::max<std::int64_t>(1, plan.global_batch / each) * each);
  }
  if (plan.zero > 1 && plan.stages > 1) {
    throw Error("zero={} with pp={}: gradients last over the micro-batches; zero=1 would do",
                plan.zero, plan.stages);
  }
  if (plan.chunks > 1 && plan.stages == 1) throw Error("chunks={} needs pp=2 or more", plan.chunks);
  if (plan.chunks > 1 && plan.micro_batches() % plan.stages != 0) {
    throw Error("an interleaved schedule of {} stages needs a multiple of {} micro-batches, not {}",
                plan.stages, plan.stages, plan.micro_batches());
  }
}

HybridStep RunHybrid(const StepProfile& profile, const System& system, const HybridPlan& plan) {
  CheckPlan(plan);
  HybridPlan fixed = plan;
  if (plan.chunks > 1) fixed.schedule = PipelineSchedule::kInterleaved;
  // All micro-batches but the first add their gradients up; with ZeRO 2 and 3 those of a part,
  // which is little.
  const auto batches = static_cast<double>(plan.micro_batches());
  const bool sums = plan.micro_batches() > 1 && plan.zero < 2;
  const double slowest = SlowestOf(plan.devices(), plan.spread);
  const StepProfile slowed = slowest == 1 ? StepProfile() : profile.Slowed(slowest);
  const StepProfile& passed = slowest == 1 ? profile : slowed;
  const StepProfile summed =
      sums ? passed.WithSums((batches - 1) / batches, plan.gradients.fused_sums) : StepProfile();
  const StepProfile& waiting = sums ? summed : passed;
  const StepProfile overlapped =
      plan.overlap.divided()
          ? WithOverlap(waiting, plan.overlap, {plan.tensor, plan.context, plan.micro_batches()})
          : StepProfile();
  const StepProfile& run = plan.overlap.divided() ? overlapped : waiting;
  HybridStep step =
      plan.stages == 1 ? RunReplicas(run, system, fixed) : RunPipeline(run, system, fixed);
  step.exchanges = profile.Exchanges();
  step.exchanged = profile.Exchanged();
  // Stages take turns in what they do of the model: a device has its share of the exchange.
  const double passes = static_cast<double>(plan.micro_batches()) / plan.stages;
  step.split = run.ExchangeTime() * passes;
  step.hidden = (waiting.ExchangeTime() - run.ExchangeTime()) * passes;
  step.sent += Bytes(step.exchanged.count() * plan.micro_batches() / plan.stages);
  return step;
}

}  // namespace dlcost
