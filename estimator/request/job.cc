#include "estimator/request/job.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

constexpr int kMostDevices = 1 << 20;
constexpr std::int64_t kMostItems = std::int64_t{1} << 32;  // so that products stay far from 2^63

// A forward pass has nothing to share out, and passes through one stage after the other.
void CheckForwardPlan(const HybridPlan& plan) {
  if (plan.zero > 0 || plan.stages > 1 || plan.micro_batches() > 1) {
    throw Error("{} needs --train OPTIMIZER; a forward pass has dp, tp, sp, cp and ep",
                plan.zero > 0     ? fmt::format("zero={}", plan.zero)
                : plan.stages > 1 ? fmt::format("pp={}", plan.stages)
                                  : fmt::format("a batch in {} passes", plan.micro_batches()));
  }
}

// What a kernel takes that adds two tensors of so many floats.
Seconds TimeOfSum(std::int64_t elements, const Device& device) {
  Model model;
  for (const Role role : {Role::kInput, Role::kInput, Role::kOutput}) {
    Tensor& tensor = model.graph.tensors.emplace_back();
    tensor.name = fmt::format("t{}", model.graph.tensors.size());
    tensor.role = role;
    if (role == Role::kInput) {
      tensor.declared =
          DeclaredType{.dtype = DType::kFloat32, .dims = std::vector<Dim>{{.size = elements}}};
    }
  }
  model.graph.inputs = {0, 1};
  model.graph.outputs = {2};
  model.graph.nodes.push_back(
      {.name = "Add", .op = "Add", .opset = 14, .inputs = {0, 1}, .outputs = {2}});
  model.opset = {{"", 14}};
  const Report report = BuildReport(Infer(std::move(model), {}), device, {});
  return report.totals.expected.value_or(Seconds());
}

// From a tensor that is no work at all, and one too large for any cache.
StreamingTime StreamingOf(const Device& device) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 26;
  const Seconds start = TimeOfSum(1, device), large = TimeOfSum(kLarge, device);
  if (!(start < large)) return {};
  const Bytes bytes = SizeOf(DType::kFloat32, Count(kLarge));
  return {start, ByteRate(3 * bytes.AsDouble() / (large - start).value())};
}

// The job chooses the batch of a device: a size that is bound elsewhere would not hold.
void RequireOpenBatch(Model& model, const Bindings& bindings, std::string_view batch_option) {
  const std::optional<BatchDim> bound = BatchBoundApart(model, bindings);
  if (!bound) return;
  throw Error("dimension '{}' is the batch of a device, and bound to {}: say {} {} instead",
              Printable(bound->key), bound->size, batch_option, bound->size);
}

}  // namespace

GradientTypes GradientTypesOf(const GradientOptions& options) {
  const auto type = [](const char* option, const std::string& name) -> std::optional<DType> {
    if (name.empty()) return std::nullopt;
    const std::optional<DType> known = ParseDType(name);
    if (!known || !IsFloat(*known)) {
      throw Error("{} '{}': fp32, fp16 or bf16", option, Printable(name));
    }
    return known;
  };
  return {type("--gradients", options.type), type("--sums", options.sums)};
}

double SpreadOf(double percent) {
  if (!(percent >= 0) || percent > 20) throw Error("--spread {}: 0 to 20 percent", percent);
  return percent / 100;
}

Job::Job(const JobOptions& options, std::string_view batch_option, bool once)
    : options_(options), batch_option_(batch_option), once_(once) {
  if (options.found != nullptr) {
    system_ = *options.found;
  } else if (options.system.empty()) {
    throw Error("on what? --system NAME (`dlcost systems` lists them)");
  } else {
    system_ = OpenSystems().Find(options.system);
  }
  if (options.model.micro_batches != 1) {
    throw Error(
        "--accumulate is for one device; of many, dlcost parallel adds up the gradients of as many "
        "passes as --global-batch takes of --micro-batch");
  }
  DeviceOptions device = options.device;
  if (device.found == nullptr && device.gpu.empty()) device.gpu = system_.device;
  device_ = FindDevice(device);
  report_ = ReportOptionsOf(options.count, device, options.model);
  streaming_ = StreamingOf(*device_);
}

StepProfile Job::Profile(std::int64_t batch, const GradientTypes& types,
                         const Division& division) const {
  ModelOptions options = options_.model;
  options.batch = batch;
  options.plan = report_.plan;
  std::set<std::string> experts;
  if (division.Divides()) {
    options.split = [&](const InferredModel& model, const InferOptions& infer) {
      DividedModel divided = Divide(model, division, infer);
      experts = std::move(divided.experts);
      return std::move(divided.model);
    };
  }
  std::call_once(read_, [&] {
    model_ = ModelOf(options);
    RequireOpenBatch(*model_, BindingsOf(options), batch_option_);
  });
  const Bindings bindings = BindingsOf(options);
  const bool shared = division.Divides() && !once_;
  const InferredModel model =
      shared ? InferSplit(WholeOf(batch, options), options, bindings)
             : InferModel(once_ ? std::move(*model_) : Model(*model_), options, bindings);
  StepProfile profile = ProfileOf(model, *device_, report_, system_, batch, types, experts);
  profile.processors = device_->units.value_or(0);
  profile.streaming = streaming_;
  if (division.Divides()) profile.notes = model.notes;
  const DeviceConfiguration* annotations = division.tensor.annotations;
  if (annotations != nullptr && !annotations->stage_of.empty()) {
    profile.stages = AnnotatedStages(model, profile, *annotations);
  }
  return profile;
}

const InferredModel& Job::WholeOf(std::int64_t batch, const ModelOptions& options) const {
  Whole* whole = nullptr;
  {
    const std::lock_guard lock(guard_);
    whole = &wholes_[batch];
  }
  std::call_once(whole->once, [&] {
    const Bindings bindings = BindingsOf(options);
    whole->model = Infer(Model(*model_), InferOptionsOf(options, bindings));
  });
  return *whole->model;
}

void Job::CheckSize(const std::string& what, std::int64_t devices) const {
  const int most = std::min(system_.MostDevices(), kMostDevices);
  if (devices < 1 || devices > most) {
    throw Error("{} {}: {} joins 1 to {} devices", what, devices, system_.id, most);
  }
}

void CheckItems(const std::string& option, std::int64_t items) {
  if (items < 0 || items > kMostItems) throw Error("{} {}: 1 to {}", option, items, kMostItems);
}

HybridPlan PlanOf(const JobPlan& options, const Job& job, HybridPlan plan, bool trains) {
  job.CheckSize("--parallel " + options.plan + ":", plan.devices());
  plan.schedule = ParsePipelineSchedule(options.schedule);
  plan.micro_batch = options.micro_batch;
  if (plan.micro_batch < 1 || plan.micro_batch > kMostItems) {
    throw Error("--micro-batch {}: 1 to {}", plan.micro_batch, kMostItems);
  }
  CheckItems("--global-batch", options.global_batch);
  plan.global_batch =
      options.global_batch > 0 ? options.global_batch : plan.micro_batch * plan.data * plan.stages;
  plan.spread = SpreadOf(options.spread);
  CheckPlan(plan);
  if (!trains) CheckForwardPlan(plan);
  return plan;
}

JobFacts FactsOf(const Job& job, const HybridStep& step) {
  return {job.system().id,           ToString(step.plan), step.plan.devices(), step.time,
          step.exposed + step.split, step.sent,           step.memory};
}

}  // namespace dlcost
