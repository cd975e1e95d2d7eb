#include "estimator/parallel/hybrid.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "estimator/collective/collective.h"
#include "estimator/core/error.h"
#include "estimator/core/integer.h"
#include "estimator/core/spelling.h"
#include "estimator/parallel/slowest.h"

namespace dlcost {
namespace {

constexpr int kMostDevices = 1 << 20;
constexpr int kMostChunks = 512;  // of a pipeline: what is placed one by one stays small
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

// Exchange of a stage's gradients among replicas, and what its update gathers.
Seconds Exchange(const PipelineStage& stage, const System& system, const HybridPlan& plan) {
  if (plan.data == 1) return Seconds();
  const DeviceGroup replicas{plan.data, plan.tensor};
  const auto time = [&](CollectiveOp op, Bytes bytes) {
    return BestCollective(system, {op, bytes, replicas}).time();
  };
  if (plan.zero == 0) return time(CollectiveOp::kAllReduce, stage.gradients);
  return time(CollectiveOp::kReduceScatter, stage.gradients) +
         time(CollectiveOp::kAllGather, stage.weights);
}

// What a device sends for it, as rings count.
Bytes ReplicaBytes(const PipelineStage& stage, const HybridPlan& plan) {
  if (plan.data == 1) return Bytes();
  const DeviceGroup replicas{plan.data, plan.tensor};
  if (plan.zero == 0) return RingBytes({CollectiveOp::kAllReduce, stage.gradients, replicas});
  return RingBytes({CollectiveOp::kReduceScatter, stage.gradients, replicas}) +
         RingBytes({CollectiveOp::kAllGather, stage.weights, replicas});
}

HybridStep RunPipeline(const StepProfile& profile, const System& system, const HybridPlan& plan) {
  HybridStep step;
  step.plan = plan;
  const int chunks = plan.stages * plan.chunks;
  step.stages = BalancedStages(profile, chunks);
  std::vector<PipelineChunk> work;
  for (const PipelineStage& stage : step.stages) {
    Seconds send;
    if (stage.passed > Bytes()) {
      const CollectiveCall call{CollectiveOp::kSend, stage.passed, {2, plan.data * plan.tensor}};
      send = BestCollective(system, call).time();
    }
    work.push_back({stage.forward, stage.backward, send, stage.for_weights});
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
  }
  Seconds slowest, tail;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const PipelineStage& device = devices[d];
    slowest = std::max(slowest, device.forward + device.backward);
    const double part = plan.zero > 0 ? plan.data : 1;
    const Seconds exchange = Exchange(device, system, plan);
    tail = std::max(tail, exchange + device.update / part);
    step.exposed = std::max(step.exposed, exchange);
    step.sent = std::max(step.sent, ReplicaBytes(device, plan));
    const double share = device.weights.AsDouble() / std::max(1.0, profile.weights.AsDouble());
    const double saved = device.saved.AsDouble() * InFlight(plan, static_cast<int>(d));
    // What micro-batches keep while they wait, and what one of them needs beside that while it
    // runs.
    const double running =
        std::max(0.0, (profile.activations.AsDouble() - profile.saved.AsDouble()));
    step.saved = std::max(step.saved, Bytes(RoundToInteger(saved)));
    const double states = profile.states.AsDouble() * share / part;
    const Bytes gradients = GradientsOf(profile, plan);
    const double lasting = device.weights.AsDouble() + gradients.AsDouble() * share + states;
    step.lasting = std::max(step.lasting, Bytes(RoundToInteger(lasting)));
    step.memory = std::max(step.memory, Bytes(RoundToInteger(saved + running + lasting)));
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
  const DataParallelPlan replicas{.devices = plan.data, .stride = plan.tensor, .zero = plan.zero};
  const ParallelStep last = RunDataParallel(profile, system, replicas);
  const Seconds pass = profile.Time() - profile.Time(Phase::kOptimizer);
  // With ZeRO 3 every micro-batch gathers its parameters.
  const Seconds early = plan.zero == 3 ? pass + last.exposed : pass;
  const auto before = static_cast<double>(plan.micro_batches() - 1);
  step.time = last.time + early * before;
  step.exposed = last.exposed * (plan.zero == 3 ? before + 1 : 1);
  const Count parts = plan.zero >= 2 ? plan.data : 1;
  step.memory =
      last.memory + Bytes((GradientsOf(profile, plan) - profile.gradients).count() / parts);
  step.saved = profile.saved;
  step.lasting = step.memory - profile.activations;
  step.sent = last.sent * (plan.zero == 3 ? plan.micro_batches() : 1);
  return step;
}

}  // namespace

HybridPlan ParsePlan(const std::string& text) {
  static const std::vector<std::string> kKeys = {"dp", "tp", "pp", "sp", "zero", "chunks"};
  HybridPlan plan;
  std::set<std::string> seen;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end() || equals == std::string::npos) {
      throw Error("--parallel '{}': write it as in dp=4,pp=2,zero=1{}", Printable(part),
                  DidYouMean(key, kKeys));
    }
    int value = -1;
    const char* last = part.data() + part.size();
    const auto [stop, error] = std::from_chars(part.data() + equals + 1, last, value);
    const bool flag = key == "sp";
    const int least = key == "zero" || flag ? 0 : 1;
    const int most = key == "zero" ? 3 : flag ? 1 : kMostDevices;
    if (error != std::errc() || stop != last || value < least || value > most) {
      throw Error("--parallel '{}': {} is {} to {}", Printable(part), key, least, most);
    }
    if (!seen.insert(key).second) throw Error("--parallel: {} is given twice", key);
    if (key == "tp") plan.tensor = value;
    if (key == "sp") plan.sequence = value == 1;
    if (key == "dp") plan.data = value;
    if (key == "pp") plan.stages = value;
    if (key == "zero") plan.zero = value;
    if (key == "chunks") plan.chunks = value;
  }
  const std::int64_t replicas = std::int64_t{plan.data} * plan.tensor;
  if (replicas > kMostDevices || replicas * plan.stages > kMostDevices) {
    throw Error("--parallel {}: more than {} devices", Printable(text), kMostDevices);
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
  text += fmt::format("pp={},zero={}", plan.stages, plan.zero);
  if (plan.chunks > 1) text += fmt::format(",chunks={}", plan.chunks);
  return text;
}

void CheckPlan(const HybridPlan& plan) {
  if (plan.sequence && plan.tensor == 1) throw Error("sp=1 needs tp=2 or more");
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
  const double slowest = SlowestOf(plan.devices(), plan.spread);
  const StepProfile slowed = slowest == 1 ? StepProfile() : profile.Slowed(slowest);
  const StepProfile& run = slowest == 1 ? profile : slowed;
  HybridStep step =
      plan.stages == 1 ? RunReplicas(run, system, fixed) : RunPipeline(run, system, fixed);
  step.exchanges = profile.Exchanges();
  step.exchanged = profile.Exchanged();
  // Stages take turns in what they do of the model: a device has its share of the exchange.
  step.split = profile.ExchangeTime() * static_cast<double>(plan.micro_batches()) /
               static_cast<double>(plan.stages);
  step.sent += Bytes(step.exchanged.count() * plan.micro_batches() / plan.stages);
  return step;
}

namespace {

// The plans with these micro-batches and split operators.
void AddPlans(const ProfileOfPlan& profile_of, const System& system, int devices, HybridPlan plan,
              std::vector<HybridStep>& steps) {
  const int rest = devices / plan.tensor;
  for (int stages = 1; stages <= std::min(rest, kMostChunks); ++stages) {
    if (rest % stages != 0) continue;
    plan.data = rest / stages;
    plan.stages = stages;
    if (plan.global_batch % (plan.micro_batch * plan.data) != 0) continue;
    const StepProfile* profile = profile_of(plan);
    if (profile == nullptr) return;
    const auto kernels =
        std::count_if(profile->kernels.begin(), profile->kernels.end(),
                      [](const StepKernel& kernel) { return kernel.phase == Phase::kForward; });
    if (stages > kernels) continue;
    for (plan.zero = 0; plan.zero <= (plan.data == 1 ? 0 : stages == 1 ? 3 : 1); ++plan.zero) {
      steps.push_back(RunHybrid(*profile, system, plan));
    }
    plan.zero = 0;
  }
}

}  // namespace

std::vector<HybridStep> AllPlans(const ProfileOfPlan& profile_of, const System& system, int devices,
                                 std::int64_t global_batch, double spread) {
  constexpr std::int64_t kMostMicroBatch = 64, kMostSplitMicroBatch = 8;
  std::vector<HybridStep> steps;
  for (std::int64_t micro = 1; micro <= kMostMicroBatch; micro *= 2) {
    HybridPlan plan;
    plan.micro_batch = micro;
    plan.global_batch = global_batch;
    plan.spread = spread;
    AddPlans(profile_of, system, devices, plan, steps);
    if (micro > kMostSplitMicroBatch) continue;
    for (plan.tensor = 2; plan.tensor <= std::min(devices, system.node_devices); plan.tensor *= 2) {
      if (devices % plan.tensor != 0) continue;
      for (const bool sequence : {true, false}) {
        plan.sequence = sequence;
        const std::size_t before = steps.size();
        AddPlans(profile_of, system, devices, plan, steps);
        if (steps.size() > before) break;
      }
    }
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const HybridStep& a, const HybridStep& b) { return a.time < b.time; });
  return steps;
}

}  // namespace dlcost
