#include "estimator/parallel/step_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "estimator/core/error.h"
#include "estimator/parallel/step_memory.h"
#include "estimator/plan/kernel_memory.h"
#include "estimator/report/run_options.h"
#include "estimator/roofline/run_sequence.h"
#include "estimator/training/optimizer.h"
#include "estimator/training/recompute.h"
#include "estimator/training/saved.h"

namespace dlcost {
namespace {

Bytes SizeAs(const Tensor& tensor, std::optional<DType> type) {
  if (!tensor.type.shape) return Bytes();
  return SizeOf(type.value_or(tensor.type.dtype), tensor.type.shape->Elements());
}

// What a report of the step says of its kernels, without its rows.
struct Kernels {
  KernelOfNode of_node;
  std::vector<std::size_t> mains;  // the nodes that name them
  std::vector<Bytes> workspaces;   // of one run
  Bytes activations;               // of a forward pass: the most that is live
};

Kernels KernelsOf(const InferredModel& step, const Device& device, const ReportOptions& options,
                  StepProfile& profile) {
  Kernels kernels;
  kernels.of_node.of.assign(step.nodes.size(), kNoKernel);
  RunSequence runs(&device, RunOptionsOf(options, step), options.plan);
  KernelMemory memory(step);
  bool timed = false;
  ForEachKernel(step, options.plan, [&](const Kernel& kernel) {
    const RunSequence::Step next = runs.Add(kernel);
    memory.Add(kernel);
    timed |= next.time.has_value();
    for (const std::size_t n : kernel.nodes) kernels.of_node.of[n] = kernels.mains.size();
    kernels.mains.push_back(kernel.main);
    const Execution* execution = next.run.execution.get();
    kernels.workspaces.push_back(execution == nullptr || kernel.repeat < Count(1)
                                     ? Bytes()
                                     : Bytes(execution->workspace.count() / kernel.repeat));
    const CountedNode& main = step.nodes[kernel.main];
    profile.kernels.push_back({.name = main.name,
                               .phase = main.node->phase,
                               .time = Seconds(next.time ? next.time->expected : 0),
                               .product = kernel.work.macs() > Macs(0),
                               .module = ModuleOf(main.node->scope)});
  });
  runs.Require(step);
  if (!timed || runs.partial()) {
    throw Error("{}: no expected times for this model on this device", step.model->path);
  }
  if (step.step == nullptr) {
    const std::vector<Bytes> live = memory.Live().live;
    kernels.activations = *std::max_element(live.begin(), live.end());
  }
  for (std::size_t n = 0; n < step.nodes.size(); ++n) {
    const CountedNode& counted = step.nodes[n];
    profile.macs += counted.cost.work.macs();
    profile.unknown += !counted.why.empty() && (counted.status == NodeStatus::kUnknown ||
                                                counted.status == NodeStatus::kBounded);
    kernels.of_node.by_name.emplace(counted.name, kernels.of_node.of[n]);
  }
  return kernels;
}

// Bytes that cross from one forward kernel to a later one, behind each kernel between.
// `completed_by`: the kernel that completes each tensor.
void AddPassed(const InferredModel& step, const KernelOfNode& kernel_of,
               const std::vector<std::size_t>& completed_by, StepProfile& profile) {
  std::vector<std::size_t> last_reader(completed_by.size(), kNoKernel);
  for (std::size_t n = 0; n < step.nodes.size(); ++n) {
    const CountedNode& counted = step.nodes[n];
    const std::size_t kernel = kernel_of.of[n];
    if (kernel == kNoKernel || counted.graph != &step.model->graph ||
        counted.node->phase != Phase::kForward) {
      continue;
    }
    for (const TensorId input : counted.node->inputs) {
      if (input == kNoTensor) continue;
      std::size_t& last = last_reader[static_cast<std::size_t>(input)];
      last = last == kNoKernel ? kernel : std::max(last, kernel);
    }
  }
  for (std::size_t t = 0; t < last_reader.size(); ++t) {
    if (last_reader[t] == kNoKernel || completed_by[t] == kNoKernel) continue;
    const Tensor& value = step.model->graph.tensors[t];
    if (value.foldable || value.constant) continue;
    for (std::size_t k = completed_by[t]; k < last_reader[t]; ++k) {
      profile.kernels[k].passed += SizeAs(value, std::nullopt);
    }
  }
}

std::optional<CollectiveOp> ExchangeOf(const Node& node) {
  if (node.domain != "dlcost.parallel") return std::nullopt;
  if (node.op == "AllReduce") return CollectiveOp::kAllReduce;
  if (node.op == "AllGather") return CollectiveOp::kAllGather;
  if (node.op == "ReduceScatter") return CollectiveOp::kReduceScatter;
  if (node.op == "AllToAll") return CollectiveOp::kAllToAll;
  return std::nullopt;
}

std::int64_t IntOf(const Node& node, std::string_view name) {
  const AttributeValue* value = node.FindAttribute(name);
  const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return number == nullptr ? 0 : *number;
}

// The exchanges among the nodes, in the place of the kernels that they are.
void AddExchanges(const InferredModel& step, const Kernels& kernels, const System& system,
                  StepProfile& profile) {
  const auto time_of = [&](Exchange& exchange, Bytes bytes) {
    const CollectiveRun run =
        BestCollective(system, {exchange.op, bytes, {exchange.devices, exchange.stride}});
    exchange.channels = run.channels;
    return run.time();
  };
  Bytes parameters;
  std::optional<std::size_t> last;  // of the gradients of parameters
  for (std::size_t n = 0; n < step.nodes.size(); ++n) {
    const CountedNode& counted = step.nodes[n];
    const std::optional<CollectiveOp> op = ExchangeOf(*counted.node);
    const std::size_t kernel = kernels.of_node.of[n];
    if (!op || kernel == kNoKernel || kernels.mains[kernel] != n) continue;
    const auto tensor = [&](TensorId id) -> const Tensor& {
      return counted.graph->tensors[static_cast<std::size_t>(id)];
    };
    const TensorId whole =
        op == CollectiveOp::kAllGather ? counted.node->outputs[0] : counted.node->inputs[0];
    const std::int64_t devices = IntOf(*counted.node, "devices");
    if (devices < 2 || devices > 1 << 20) continue;
    const std::int64_t stride =
        std::clamp<std::int64_t>(IntOf(*counted.node, "stride"), 1, 1 << 20);
    const Exchange exchange = {.op = *op,
                               .bytes = SizeAs(tensor(whole), std::nullopt) * counted.repeat,
                               .devices = static_cast<int>(devices),
                               .stride = static_cast<int>(stride),
                               .parameter = IntOf(*counted.node, "parameter") != 0};
    StepKernel& row = profile.kernels[kernel];
    row.exchange = exchange;
    profile.exchanges = true;
    if (exchange.parameter && *op == CollectiveOp::kAllReduce) {
      parameters += exchange.bytes;
      row.time = Seconds();
      last = kernel;
    } else {
      row.time = time_of(*row.exchange, exchange.bytes);
    }
  }
  if (last) profile.kernels[*last].time = time_of(*profile.kernels[*last].exchange, parameters);
}

// Whether a tensor is one of the parameters named, or what a step keeps for it (parameter.exp_avg).
bool BelongsTo(const std::string& name, const std::set<std::string>& parameters) {
  if (parameters.empty()) return false;
  for (std::size_t end = name.size(); end != std::string::npos && end > 0;
       end = name.rfind('.', end - 1)) {
    if (parameters.count(name.substr(0, end)) > 0) return true;
  }
  return false;
}

// Weights and states of the parameters named, and the kernels that read those first.
void AddExpertBytes(const InferredModel& step, const KernelOfNode& kernel_of,
                    const std::set<std::string>& experts, StepProfile& profile) {
  const Graph& graph = step.model->graph;
  std::vector<bool> seen(graph.tensors.size(), false);
  for (const Tensor& tensor : graph.tensors) {
    const bool weight = tensor.is_initializer && experts.count(tensor.name) > 0;
    if (weight) profile.experts.weights += SizeAs(tensor, std::nullopt);
    const bool state = tensor.role == Role::kInput && BelongsTo(tensor.name, experts) &&
                       !tensor.name.ends_with(".grad_sum");
    if (state) profile.experts.states += SizeAs(tensor, std::nullopt);
  }
  for (std::size_t n = 0; n < step.nodes.size(); ++n) {
    const CountedNode& counted = step.nodes[n];
    if (kernel_of.of[n] == kNoKernel || counted.graph != &graph) continue;
    for (const TensorId id : counted.node->inputs) {
      if (id == kNoTensor || seen[static_cast<std::size_t>(id)]) continue;
      const Tensor& tensor = graph.tensors[static_cast<std::size_t>(id)];
      if (!tensor.is_initializer || experts.count(tensor.name) == 0) continue;
      seen[static_cast<std::size_t>(id)] = true;
      profile.kernels[kernel_of.of[n]].expert_weights += SizeAs(tensor, std::nullopt);
    }
  }
}

}  // namespace

Bytes StepProfile::Updating(std::int64_t micro_batches) const {
  if (micro_batches == 1 || gradient_sums == gradients) return updating;
  return updating > gradient_sums ? updating - gradient_sums : Bytes();
}

std::string StepProfile::Note() const {
  if (unknown == 0) return "";
  return fmt::format(
      "{} node{} of the step {} unknown (`dlcost MODEL --train ...` lists them): times are at "
      "least "
      "these",
      unknown, unknown == 1 ? "" : "s", unknown == 1 ? "is" : "are");
}

Seconds StepProfile::Time(Phase phase) const {
  Seconds sum;
  for (const StepKernel& kernel : kernels) {
    if (kernel.phase == phase) sum += kernel.time;
  }
  return sum;
}

Seconds StepProfile::Time() const {
  Seconds sum;
  for (const StepKernel& kernel : kernels) sum += kernel.time;
  return sum;
}

StepProfile StepProfile::WithSums(double share, bool fused) const {
  StepProfile summing = *this;
  for (StepKernel& kernel : summing.kernels) {
    const Bytes sums = kernel.summed + kernel.summed;  // read and written
    // A gradient is read, or is not written.
    kernel.time += (fused ? streaming.Of(sums - std::min(kernel.trained, sums), 0)
                          : streaming.Of(sums + kernel.trained, kernel.sums)) *
                   share;
  }
  return summing;
}

StepProfile StepProfile::Slowed(double factor) const {
  StepProfile slowed = *this;
  for (StepKernel& kernel : slowed.kernels) {
    if (!kernel.exchange) kernel.time = kernel.time * factor;
  }
  return slowed;
}

Seconds StepProfile::ExchangeTime() const {
  Seconds sum;
  for (const StepKernel& kernel : kernels) {
    if (kernel.exchange) sum += kernel.time;
  }
  return sum;
}

int StepProfile::Exchanges() const {
  return static_cast<int>(std::count_if(
      kernels.begin(), kernels.end(),
      [](const StepKernel& kernel) { return kernel.exchange && !kernel.exchange->parameter; }));
}

Bytes StepProfile::Exchanged() const {
  Bytes sum;
  for (const StepKernel& kernel : kernels) {
    if (!kernel.exchange) continue;
    const Exchange& exchange = *kernel.exchange;
    sum += RingBytes({exchange.op, exchange.bytes, {exchange.devices, exchange.stride}});
  }
  return sum;
}

StepProfile ProfileOf(const InferredModel& step, const Device& device, const ReportOptions& options,
                      const System& system, std::int64_t items, const GradientTypes& types,
                      const std::set<std::string>& experts) {
  if (items < 1) throw Error("a batch of {}: 1 or more", items);
  StepProfile profile;
  profile.items = items;
  profile.weights = step.weight_bytes;
  profile.trains = step.step != nullptr;
  if (profile.trains) {
    profile.gradients = step.step->gradient_bytes;
    profile.states = step.step->state_bytes + step.step->master_bytes;
    profile.saved = step.step->saved_bytes;
    profile.gradient_sums =
        types.summed ? SizeOf(*types.summed, step.step->trained)
                     : std::max(profile.gradients, SizeOf(DType::kFloat32, step.step->trained));
  }
  const Kernels kernels = KernelsOf(step, device, options, profile);
  const KernelOfNode& kernel_of = kernels.of_node;
  profile.activations = kernels.activations;
  RunningBytes running{.of = kernels.workspaces};
  if (profile.trains) {
    running = BesideLasting(step, kernel_of, kernels.workspaces);
    profile.activations = running.passes;
    profile.updating = running.update;
    profile.alone = profile.weights + running.peak;
  }
  for (std::size_t k = 0; k < profile.kernels.size(); ++k) profile.kernels[k].live = running.of[k];
  AddExchanges(step, kernels, system, profile);
  // Which kernel completes a tensor.
  std::vector<std::size_t> completed_by(step.model->graph.tensors.size(), kNoKernel);
  for (std::size_t n = 0; n < step.nodes.size(); ++n) {
    const CountedNode& counted = step.nodes[n];
    if (counted.graph != &step.model->graph) continue;
    if (counted.node->op == "DispatchTokens" && counted.node->phase == Phase::kForward) {
      // All layers have to divide.
      profile.routed_experts = std::gcd(profile.routed_experts, IntOf(*counted.node, "experts"));
    }
    const std::size_t kernel = kernel_of.of[n];
    if (kernel == kNoKernel) continue;
    StepKernel& row = profile.kernels[kernel];
    row.weights += counted.weight_bytes;
    if (counted.weight_bytes > Bytes() && !row.module.empty() &&
        ModuleOf(counted.node->scope).empty()) {
      row.outer_weights += counted.weight_bytes;
    }
    for (const TensorId output : counted.node->outputs) {
      if (output != kNoTensor) completed_by[static_cast<std::size_t>(output)] = kernel;
    }
  }
  const std::vector<Tensor>& tensors = step.model->graph.tensors;
  if (profile.trains && !profile.kernels.empty()) {
    const std::vector<std::size_t> kept_for = KeptFor(step, kernel_of);
    for (const TensorId id : SavedValues(step)) {
      const auto t = static_cast<std::size_t>(id);
      // Inputs of the step are there before its first kernel.
      const std::size_t maker = completed_by[t] == kNoKernel ? 0 : completed_by[t];
      StepKernel& kernel = profile.kernels[kept_for[t] == kNoKernel ? maker : kept_for[t]];
      kernel.saved += SizeAs(tensors[t], std::nullopt);
    }
  }
  const std::unordered_map<TensorId, TensorId> behind = GradientsBehindUpdate(step.model->graph);
  for (const CountedNode& counted : step.nodes) {
    const OptimizerOperands operands = OperandsOf(*counted.node);
    for (std::size_t i = 0; i < operands.gradients.size(); ++i) {
      const TensorId used = operands.gradients[i];
      const auto before = behind.find(used);
      const TensorId gradient = before == behind.end() ? used : before->second;
      const Tensor& tensor = tensors[static_cast<std::size_t>(gradient)];
      const Bytes sent = SizeAs(tensor, types.sent);
      profile.sent_gradients += sent;
      const bool narrow = Bits(tensor.type.dtype) < Bits(DType::kFloat32);
      const Bytes summed = SizeAs(tensor, types.summed ? types.summed
                                          : narrow     ? std::optional(DType::kFloat32)
                                                       : std::nullopt);
      // Muon's momentum is named after its parameter.
      const std::vector<TensorId>& of =
          operands.parameters.empty() ? operands.states : operands.parameters;
      const bool expert =
          i < of.size() && BelongsTo(tensors[static_cast<std::size_t>(of[i])].name, experts);
      if (expert) {
        profile.experts.sent_gradients += sent;
        profile.experts.gradients += SizeAs(tensor, std::nullopt);
        profile.experts.gradient_sums += summed;
      }
      const std::size_t kernel = completed_by[static_cast<std::size_t>(gradient)];
      if (kernel == kNoKernel) continue;
      StepKernel& row = profile.kernels[kernel];
      row.gradients += sent;
      if (expert) row.expert_gradients += sent;
      row.trained += SizeAs(tensor, std::nullopt);
      row.summed += summed;
      ++row.sums;
      if (expert) row.expert_trained += SizeAs(tensor, std::nullopt);
    }
  }
  if (!experts.empty()) AddExpertBytes(step, kernel_of, experts, profile);
  AddPassed(step, kernel_of, completed_by, profile);
  if (profile.trains && profile.sent_gradients == Bytes()) {
    throw Error("{}: the step has no gradients to send; --train needs an optimizer",
                step.model->path);
  }
  return profile;
}

}  // namespace dlcost
