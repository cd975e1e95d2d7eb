#include "estimator/training/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "estimator/core/error.h"
#include "estimator/infer/edit.h"
#include "estimator/infer/parameters.h"
#include "estimator/precision/precision.h"
#include "estimator/training/activations.h"
#include "estimator/training/bodies.h"
#include "estimator/training/caches.h"
#include "estimator/training/decompose.h"
#include "estimator/training/fused_attention.h"
#include "estimator/training/group_norms.h"
#include "estimator/training/grouped_experts.h"
#include "estimator/training/lists.h"
#include "estimator/training/loss.h"
#include "estimator/training/optimizer.h"
#include "estimator/training/recompute.h"
#include "estimator/training/reverse.h"
#include "estimator/training/saved.h"
#include "estimator/training/sparse.h"
#include "estimator/training/tables.h"
#include "estimator/training/training_mode.h"

namespace dlcost {
namespace {

constexpr int kLeastOpset = 13;  // what gradients are written in

int OpsetOf(const Model& model) {
  const auto opset = model.opset.find("");
  return std::max(kLeastOpset, opset == model.opset.end() ? kLeastOpset : opset->second);
}

// The parameters that something flows back to, and the gradients of these.
struct Trained {
  std::vector<TensorId> parameters, gradients;
};

Trained TrainedOf(const std::vector<TensorId>& parameters, const Reversed& reversed) {
  Trained trained;
  for (const TensorId id : parameters) {
    const auto index = static_cast<std::size_t>(id);
    if (index >= reversed.gradients.size() || reversed.gradients[index] == kNoTensor) continue;
    trained.parameters.push_back(id);
    trained.gradients.push_back(reversed.gradients[index]);
  }
  return trained;
}

// Sums over micro-batches, in float32, in place of the gradients of one.
void AccumulateGradients(NodeWriter& writer, Trained& trained) {
  for (std::size_t i = 0; i < trained.parameters.size(); ++i) {
    const Tensor& parameter =
        writer.graph().tensors[static_cast<std::size_t>(trained.parameters[i])];
    const std::string name = parameter.name;
    writer.Place(name, "", Phase::kBackwardWeights);
    TensorId& gradient = trained.gradients[i];
    const DType type = writer.TypeOf(gradient);
    const bool narrow = type == DType::kFloat16 || type == DType::kBfloat16;
    const TensorId sum =
        writer.Input(name + ".grad_sum", narrow ? DType::kFloat32 : type, writer.ShapeOf(gradient));
    gradient = writer.Nodes("Accumulate", "dlcost.training", {sum, gradient}, {}, 1)[0];
  }
}

// Counts what runs once per micro-batch as often as that.
void RepeatPasses(InferredModel& step, std::int64_t micro_batches) {
  for (CountedNode& counted : step.nodes) {
    if (counted.node->phase == Phase::kOptimizer) continue;
    // The first gradient becomes the sum without an addition.
    const bool adds =
        counted.node->op == "Accumulate" && counted.node->phase == Phase::kBackwardWeights;
    const Count times = adds ? micro_batches - 1 : micro_batches;
    counted.repeat *= times;
    counted.cost.work.Scale(times);
    counted.cost.valid_macs = counted.cost.valid_macs * times;
    for (Access& access : counted.cost.accesses) access.bytes = access.bytes * times;
  }
}

void RequireSparse(const TrainOptions& options, const Precision& precision) {
  const char* with = options.micro_batches > 1 ? "--accumulate"
                     : options.clips           ? "--clip-norm"
                     : precision.whole         ? "weights in half (--precision)"
                     : precision.scales_loss   ? "a scaled loss (--precision)"
                                               : nullptr;
  if (with != nullptr) {
    throw Error("--sparse-embeddings: rows of a gradient do not go with {}", with);
  }
}

// The recomputation that also gathers again; modules that are computed again as a whole do so
// anyway.
std::string WithGathers(const Graph& graph, const std::string& recompute) {
  const bool gathers = std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op == "AllGather" && node.phase == Phase::kForward;
  });
  if (!gathers) return recompute;
  if (recompute == "none") return "selective:AllGather";
  return recompute.compare(0, 10, "selective:") == 0 ? recompute + ",AllGather" : recompute;
}

void AddSkippedProducts(const InferredModel& forward, const std::vector<std::string>& nodes,
                        StepFacts& facts) {
  const std::unordered_set<std::string> names(nodes.begin(), nodes.end());
  for (const CountedNode& counted : forward.nodes) {
    if (counted.graph != &forward.model->graph || names.count(counted.node->name) == 0) continue;
    const Macs macs = counted.cost.work.macs();
    const bool product = IsProduct(counted.cost.nest);
    if (product && macs > Macs(0)) facts.without_data_gradient.push_back({counted.name, macs});
  }
}

}  // namespace

const std::vector<std::string>& Losses() {
  static const std::vector<std::string> kNames = {"auto", "cross_entropy", "nll",
                                                  "mse",  "sum",           "none"};
  return kNames;
}

Step BuildStep(const InferredModel& forward, const TrainOptions& options) {
  const Precision& precision =
      FindPrecision(options.precision.empty() ? "fp32" : options.precision);
  if (precision.products || precision.ForServing()) {
    throw Error("--precision {} is for inference; a step trains in amp-fp16, amp-bf16 or fp8",
                precision.name);
  }
  Step step{.model = EditableCopy(forward)};
  Graph& graph = step.model.graph;
  // A derivative is about twice what it is of.
  graph.tensors.reserve(3 * graph.tensors.size());
  graph.nodes.reserve(3 * graph.nodes.size());
  step.replaced = PrepareBodies(graph, forward);
  JoinActivations(graph);
  JoinGroupNorms(graph);
  std::vector<TensorId> parameters = TakeParameters(graph, options.frozen);
  const std::vector<std::string> untrained = LeaveTables(graph, parameters);
  // What the file stores in them is not what a step finds there.
  for (const TensorId id : parameters) graph.tensors[static_cast<std::size_t>(id)].value = nullptr;
  NodeWriter writer(graph, OpsetOf(step.model));
  TakeLists(writer);
  Decompose(writer, parameters);
  step.notes = GroupExperts(writer).notes;
  step.notes.insert(step.notes.end(), untrained.begin(), untrained.end());
  LeaveCaches(writer);
  const std::vector<TensorId> outputs = graph.outputs;
  FuseAttention(writer, parameters,
                {.fuses = options.fuses_attention,
                 .joins = options.joins_attention,
                 .half = precision.half,
                 .recompute = options.recompute});
  ApplyPrecision(writer, precision, parameters);
  for (std::string& note : EnterTraining(writer)) step.notes.push_back(std::move(note));
  const Seeds seeds =
      WriteLoss(writer, options.loss, outputs, options.losses_apart, precision.scales_loss);
  writer.Take();  // a loss is differentiated like the model
  const Reversed reversed = Reverse(writer, parameters, seeds);
  writer.Take();
  Recompute(writer, options.regathers ? WithGathers(graph, options.recompute) : options.recompute);
  Trained trained = TrainedOf(parameters, reversed);
  if (trained.parameters.empty()) {
    throw Error(options.frozen.empty()
                    ? "--train: no parameter is behind the outputs of the model"
                    : "--freeze leaves no parameter behind the outputs of the model to train");
  }
  const std::vector<SparseGradient> sparse =
      options.sparse_embeddings ? TakeSparse(graph, trained.parameters, trained.gradients)
                                : std::vector<SparseGradient>();
  if (!sparse.empty()) RequireSparse(options, precision);
  if (options.sparse_embeddings && sparse.empty()) {
    step.notes.push_back(
        "--sparse-embeddings: no trained table has rows taken from it by one Gather alone");
  }
  if (options.micro_batches > 1) AccumulateGradients(writer, trained);
  for (const TensorId id : trained.gradients) {
    step.facts.gradient_bytes += SizeOf(writer.TypeOf(id), writer.ShapeOf(id).Elements());
  }
  const Update update = {.optimizer = options.optimizer,
                         .loss_scale = seeds.scale,
                         .masters = precision.whole,
                         .clips = options.clips};
  if (!trained.parameters.empty()) {
    WriteOptimizer(writer, update, trained.parameters, trained.gradients, step.facts);
  }
  WriteSparseUpdates(writer, options.optimizer, sparse, step.facts);
  for (const SparseGradient& each : sparse) {
    trained.parameters.push_back(each.parameter);
    step.facts.gradient_bytes +=
        SizeOf(writer.TypeOf(each.rows), writer.ShapeOf(each.rows).Elements());
  }
  writer.Take();
  step.facts.loss = seeds.loss;
  step.facts.optimizer = options.optimizer;
  step.facts.precision = options.precision;
  step.facts.recompute = options.recompute;
  step.facts.micro_batches = options.micro_batches;
  step.facts.clips = options.clips;
  for (const TensorId id : trained.parameters) {
    const Count elements = writer.ShapeOf(id).Elements();
    step.facts.trained += elements;
    step.facts.trained_bytes += SizeOf(writer.TypeOf(id), elements);
  }
  AddSkippedProducts(forward, reversed.without_data_gradient, step.facts);
  step.unknown = reversed.unknown;
  step.changed = trained.parameters;
  for (const Node& node : graph.nodes) {
    if (node.op != "BatchNormInternal" || node.outputs[1] == kNoTensor) continue;
    step.changed.insert(step.changed.end(), node.inputs.begin() + 3, node.inputs.end());
  }
  if (options.loss == "auto") {
    step.notes.push_back(
        fmt::format("loss {} was chosen by the shape of the outputs; see --loss", seeds.loss));
  }
  return step;
}

InferredModel InferStep(Step step, const InferredModel& forward, const InferOptions& options) {
  InferOptions settled = options;
  settled.trains = true;
  for (const std::string& node : step.replaced) settled.control.branches.erase(node);
  if (!step.replaced.empty()) settled.control.branches.erase("");
  InferredModel result = InferEdited(std::move(step.model), forward, settled);
  for (CountedNode& counted : result.nodes) {
    const auto why = step.unknown.find(counted.node->name);
    if (why == step.unknown.end()) continue;
    if (counted.status == NodeStatus::kCounted) counted.status = NodeStatus::kBounded;
    counted.why = why->second;
  }
  const std::int64_t micro_batches = step.facts.micro_batches.value();
  if (micro_batches > 1) RepeatPasses(result, micro_batches);
  result.step = std::make_shared<const StepFacts>(std::move(step.facts));
  CountStepMemory(result);
  result.notes.insert(result.notes.end(), step.notes.begin(), step.notes.end());
  return result;
}

void CountStepMemory(InferredModel& step) {
  StepFacts facts = *step.step;
  facts.saved_bytes = SavedBytes(step);
  const Graph& graph = step.model->graph;
  const auto size_of = [&](const std::vector<TensorId>& ids) {
    Bytes bytes;
    for (const TensorId id : ids) {
      const TensorType& type = graph.tensors[static_cast<std::size_t>(id)].type;
      if (type.shape) bytes += SizeOf(type.dtype, type.shape->Elements());
    }
    return bytes;
  };
  OptimizerOperands all;
  for (const Node& node : graph.nodes) {
    const OptimizerOperands operands = OperandsOf(node);
    const auto append = [](std::vector<TensorId>& to, const std::vector<TensorId>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(all.parameters, operands.parameters);
    append(all.gradients, operands.gradients);
    append(all.states, operands.states);
  }
  // Without an optimizer the sizes are those of the parameters as they are stored; with copies in
  // float32 those that the step was built with.
  if (!all.parameters.empty() && facts.master_bytes == Bytes(0)) {
    facts.trained_bytes = size_of(all.parameters);
    facts.gradient_bytes = size_of(all.gradients);
    facts.state_bytes = size_of(all.states);
  }
  step.step = std::make_shared<const StepFacts>(std::move(facts));
}

}  // namespace dlcost
