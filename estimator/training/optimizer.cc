#include "estimator/training/optimizer.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "estimator/core/error.h"
#include "estimator/training/muon.h"
#include "estimator/training/step.h"

namespace dlcost {
namespace {

enum class StateShape {
  kSame,     // as the parameter
  kRows,     // one per row of a matrix; none for a vector
  kColumns,  // one per column; as the parameter for a vector
};

struct State {
  std::string_view name;  // "" for none
  StateShape shape = StateShape::kSame;
};

struct OptimizerForm {
  std::string_view name;
  std::string_view op, domain;
  std::array<State, 2> states;
};

constexpr OptimizerForm kForms[] = {
    {"sgd", "Sgd", "dlcost.training", {}},
    {"momentum", "Momentum", "ai.onnx.preview.training", {{{"momentum"}}}},
    {"adam", "Adam", "ai.onnx.preview.training", {{{"exp_avg"}, {"exp_avg_sq"}}}},
    {"adamw", "AdamW", "dlcost.training", {{{"exp_avg"}, {"exp_avg_sq"}}}},
    {"lion", "Lion", "dlcost.training", {{{"exp_avg"}}}},
    {"lamb", "Lamb", "dlcost.training", {{{"exp_avg"}, {"exp_avg_sq"}}}},
    {"adafactor",
     "Adafactor",
     "dlcost.training",
     {{{"exp_avg_sq_row", StateShape::kRows}, {"exp_avg_sq_col", StateShape::kColumns}}}},
};

// nullopt for a state that a parameter of this shape does not have.
std::optional<Shape> ShapeOfState(const State& state, const Shape& parameter) {
  if (state.shape == StateShape::kSame) return parameter;
  const bool matrix = parameter.rank() >= 2;
  if (!matrix && state.shape == StateShape::kRows) return std::nullopt;
  if (!matrix) return parameter;
  std::vector<std::int64_t> dims = parameter.dims();
  dims.erase(dims.end() - (state.shape == StateShape::kRows ? 1 : 2));
  return Shape(dims);
}

const OptimizerForm& FormOf(const std::string& optimizer) {
  for (const OptimizerForm& form : kForms) {
    if (form.name == optimizer) return form;
  }
  throw Error("--train '{}' is no optimizer", Printable(optimizer));
}

// Only what the specification has no default for, or what changes the arithmetic.
std::vector<Attribute> AttributesOf(const OptimizerForm& form) {
  if (form.op == "Momentum") {
    return {RealAttribute("alpha", 0.9), RealAttribute("beta", 1),
            TextAttribute("mode", "standard"), RealAttribute("norm_coefficient", 0)};
  }
  if (form.op == "Adam") {
    return {RealAttribute("alpha", 0.9), RealAttribute("beta", 0.999),
            RealAttribute("epsilon", 1e-8), RealAttribute("norm_coefficient", 0),
            RealAttribute("norm_coefficient_post", 0)};
  }
  return {};
}

}  // namespace

const std::vector<std::string>& Optimizers() {
  static const std::vector<std::string> kNames = {"none", "sgd",  "momentum",  "adam", "adamw",
                                                  "lion", "lamb", "adafactor", "muon"};
  return kNames;
}

namespace {

// Outputs are told by what they are the gradient or the successor of.
void NameOutputs(NodeWriter& writer, const std::vector<TensorId>& of, std::string_view what,
                 std::vector<TensorId>& outputs) {
  std::map<TensorId, int> uses;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (uses[outputs[i]]++ > 0) outputs[i] = writer.Node1("Identity", {outputs[i]});
    writer.Rename(outputs[i],
                  writer.graph().tensors[static_cast<std::size_t>(of[i])].name + std::string(what));
  }
}

}  // namespace

namespace {

using ByType = std::map<DType, std::vector<std::size_t>>;

ByType GroupByType(const NodeWriter& writer, const std::vector<TensorId>& tensors) {
  ByType by_type;
  for (std::size_t i = 0; i < tensors.size(); ++i) by_type[writer.TypeOf(tensors[i])].push_back(i);
  return by_type;
}

// One node over all tensors of a type, each replaced by what it becomes. `head` are its first
// inputs, `further` the outputs behind the tensors.
void ReplaceAll(NodeWriter& writer, std::string_view op, const std::vector<TensorId>& head,
                const std::vector<Attribute>& attributes, std::size_t further,
                std::vector<TensorId>& tensors) {
  for (const auto& [type, members] : GroupByType(writer, tensors)) {
    std::vector<TensorId> inputs = head;
    for (const std::size_t i : members) inputs.push_back(tensors[i]);
    const std::vector<TensorId> outputs = writer.Nodes(op, "dlcost.training", std::move(inputs),
                                                       attributes, members.size() + further);
    for (std::size_t k = 0; k < members.size(); ++k) tensors[members[k]] = outputs[k];
    for (std::size_t k = members.size(); k < outputs.size(); ++k) {
      writer.graph().outputs.push_back(outputs[k]);
    }
  }
}

Attribute ToType(DType type) { return IntAttribute("to", static_cast<std::int64_t>(type)); }

// Float32 copies of narrower parameters, as inputs that the update changes.
std::vector<TensorId> Masters(NodeWriter& writer, const std::vector<TensorId>& parameters,
                              StepFacts& facts) {
  std::vector<TensorId> masters;
  for (const TensorId id : parameters) {
    if (writer.TypeOf(id) == DType::kFloat32) {
      masters.push_back(id);
      continue;
    }
    const Shape shape = writer.ShapeOf(id);
    const std::string name = writer.graph().tensors[static_cast<std::size_t>(id)].name;
    masters.push_back(writer.Input(name + ".master", DType::kFloat32, shape));
    facts.master_bytes += SizeOf(DType::kFloat32, shape.Elements());
  }
  return masters;
}

// Gradients as the update takes them.
void PrepareGradients(NodeWriter& writer, const Update& update, std::vector<TensorId>& gradients) {
  if (update.loss_scale != kNoTensor) {
    std::vector<Attribute> attributes;
    if (update.masters) attributes.push_back(ToType(DType::kFloat32));
    ReplaceAll(writer, "Unscale", {update.loss_scale}, attributes, 1, gradients);
  } else if (update.masters) {
    ReplaceAll(writer, "CopyTensors", {}, {ToType(DType::kFloat32)}, 0, gradients);
  }
  if (update.clips) {
    const TensorId norm = writer.Input("max_norm", DType::kFloat32, {});
    ReplaceAll(writer, "ClipByNorm", {norm}, {}, 0, gradients);
  }
}

// The updated parameters, tensor by tensor.
std::vector<TensorId> WriteUpdates(NodeWriter& writer, const OptimizerForm& form,
                                   const std::vector<TensorId>& parameters,
                                   const std::vector<TensorId>& gradients, StepFacts& facts) {
  Graph& graph = writer.graph();
  const TensorId rate = writer.Input("learning_rate", DType::kFloat32, {});
  const TensorId count = writer.Input("step", DType::kInt64, {});
  std::vector<TensorId> all_updated(parameters.size(), kNoTensor);
  for (const auto& [type, members] : GroupByType(writer, parameters)) {
    std::vector<TensorId> inputs = {rate, count};
    for (const std::size_t i : members) inputs.push_back(parameters[i]);
    for (const std::size_t i : members) inputs.push_back(gradients[i]);
    std::vector<bool> present(members.size(), true);
    for (const State& state : form.states) {
      if (state.name.empty()) continue;
      for (const std::size_t i : members) {
        const std::optional<Shape> shape = ShapeOfState(state, writer.ShapeOf(parameters[i]));
        present.push_back(shape.has_value());
        inputs.push_back(kNoTensor);
        if (!shape) continue;
        const std::string name = graph.tensors[static_cast<std::size_t>(parameters[i])].name + "." +
                                 std::string(state.name);
        inputs.back() = writer.Input(name, type, *shape);
        facts.state_bytes += SizeOf(type, shape->Elements());
      }
    }
    std::vector<TensorId> updated =
        writer.NodeWith(form.op, form.domain, std::move(inputs), AttributesOf(form), present);
    std::erase(updated, kNoTensor);
    std::vector<TensorId> of;
    for (const std::size_t i : members) of.push_back(parameters[i]);
    NameOutputs(writer, of, ".updated", updated);
    graph.outputs.insert(graph.outputs.end(), updated.begin(), updated.end());
    for (std::size_t k = 0; k < members.size(); ++k) all_updated[members[k]] = updated[k];
  }
  return all_updated;
}

// By the optimizer's own node, or by those of two where it is for some of the parameters. `changed`
// are the parameters, or their copies in float32.
std::vector<TensorId> WriteAllUpdates(NodeWriter& writer, const std::string& optimizer,
                                      const std::vector<TensorId>& parameters,
                                      const std::vector<TensorId>& changed,
                                      const std::vector<TensorId>& gradients, StepFacts& facts) {
  if (optimizer != "muon") {
    return WriteUpdates(writer, FormOf(optimizer), changed, gradients, facts);
  }
  const std::vector<bool> matrices = MuonUpdates(writer.graph(), parameters);
  std::vector<TensorId> updated(changed.size(), kNoTensor);
  for (const bool matrix : {true, false}) {
    std::vector<std::size_t> members;
    std::vector<TensorId> own, by;
    for (std::size_t i = 0; i < changed.size(); ++i) {
      if (matrices[i] != matrix) continue;
      members.push_back(i);
      own.push_back(changed[i]);
      by.push_back(gradients[i]);
    }
    if (members.empty()) continue;
    std::vector<TensorId> results;
    if (matrix) {
      results = WriteMuon(writer, own, by, facts);
      NameOutputs(writer, own, ".updated", results);
      writer.graph().outputs.insert(writer.graph().outputs.end(), results.begin(), results.end());
    } else {
      results = WriteUpdates(writer, FormOf("adamw"), own, by, facts);
    }
    for (std::size_t k = 0; k < members.size(); ++k) updated[members[k]] = results[k];
  }
  return updated;
}

}  // namespace

void WriteOptimizer(NodeWriter& writer, const Update& update,
                    const std::vector<TensorId>& parameters, std::vector<TensorId> gradients,
                    StepFacts& facts) {
  Graph& graph = writer.graph();
  writer.Place("step/" + update.optimizer, "optimizer", Phase::kOptimizer);
  PrepareGradients(writer, update, gradients);
  if (update.optimizer == "none") {
    NameOutputs(writer, parameters, ".grad", gradients);
    graph.outputs.insert(graph.outputs.end(), gradients.begin(), gradients.end());
    return;
  }
  if (!update.masters) {
    WriteAllUpdates(writer, update.optimizer, parameters, parameters, gradients, facts);
    return;
  }
  const std::vector<TensorId> masters = Masters(writer, parameters, facts);
  const std::vector<TensorId> updated =
      WriteAllUpdates(writer, update.optimizer, parameters, masters, gradients, facts);
  // Back into the types that the step computes with.
  std::map<DType, std::vector<TensorId>> narrow;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (masters[i] != parameters[i]) narrow[writer.TypeOf(parameters[i])].push_back(updated[i]);
  }
  for (auto& [type, tensors] : narrow) {
    ReplaceAll(writer, "CopyTensors", {}, {ToType(type)}, 0, tensors);
    graph.outputs.insert(graph.outputs.end(), tensors.begin(), tensors.end());
  }
}

OptimizerOperands OperandsOf(const Node& node) {
  OptimizerOperands operands;
  if (node.phase == Phase::kOptimizer && node.op == "MuonMomentum") {
    const auto half = node.inputs.begin() + static_cast<std::ptrdiff_t>(node.inputs.size() / 2);
    operands.gradients.assign(node.inputs.begin(), half);
    operands.states.assign(half, node.inputs.end());
    return operands;
  }
  if (node.phase == Phase::kOptimizer && (node.op == "SparseSgd" || node.op == "SparseAdam")) {
    operands.parameters = {node.inputs[2]};
    operands.gradients = {node.inputs[4]};
    operands.states.assign(node.inputs.begin() + 5, node.inputs.end());
    return operands;
  }
  if (node.phase == Phase::kOptimizer && node.op == "MuonUpdate") {
    const auto first = node.inputs.begin() + 1;
    operands.parameters.assign(first,
                               first + static_cast<std::ptrdiff_t>((node.inputs.size() - 1) / 2));
    return operands;
  }
  for (const OptimizerForm& form : kForms) {
    if (node.phase != Phase::kOptimizer || form.op != node.op) continue;
    const auto states = static_cast<std::size_t>(
        std::count_if(form.states.begin(), form.states.end(),
                      [](const State& state) { return !state.name.empty(); }));
    const std::size_t tensors = (node.inputs.size() - 2) / (2 + states);
    const auto first = node.inputs.begin() + 2;
    const auto at = [&](std::size_t group) {
      return first + static_cast<std::ptrdiff_t>(group * tensors);
    };
    operands.parameters.assign(at(0), at(1));
    operands.gradients.assign(at(1), at(2));
    operands.states.assign(at(2), node.inputs.end());
    std::erase(operands.states, kNoTensor);
  }
  return operands;
}

std::unordered_map<TensorId, TensorId> GradientsBehindUpdate(const Graph& graph) {
  std::unordered_map<TensorId, TensorId> from;
  for (const Node& node : graph.nodes) {
    if (node.phase != Phase::kOptimizer) continue;
    const bool scalar = node.op == "Unscale" || node.op == "ClipByNorm";  // its first input
    if (!scalar && node.op != "CopyTensors") continue;
    const std::size_t first = scalar ? 1 : 0;
    for (std::size_t i = 0; i + first < node.inputs.size() && i < node.outputs.size(); ++i) {
      const auto before = from.find(node.inputs[i + first]);
      from[node.outputs[i]] = before == from.end() ? node.inputs[i + first] : before->second;
    }
  }
  return from;
}

}  // namespace dlcost
