#include "estimator/training/optimizer.h"

#include <algorithm>
#include <array>
#include <map>

#include "estimator/core/error.h"
#include "estimator/training/step.h"

namespace dlcost {
namespace {

struct OptimizerForm {
  std::string_view name;
  std::string_view op, domain;
  std::array<std::string_view, 2> states;  // names; "" for none
};

constexpr OptimizerForm kForms[] = {
    {"sgd", "Sgd", "dlcost.training", {}},
    {"momentum", "Momentum", "ai.onnx.preview.training", {"momentum"}},
    {"adam", "Adam", "ai.onnx.preview.training", {"exp_avg", "exp_avg_sq"}},
    {"adamw", "AdamW", "dlcost.training", {"exp_avg", "exp_avg_sq"}},
    {"lion", "Lion", "dlcost.training", {"exp_avg"}},
    {"lamb", "Lamb", "dlcost.training", {"exp_avg", "exp_avg_sq"}},
};

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
  static const std::vector<std::string> kNames = {"none",  "sgd",  "momentum", "adam",
                                                  "adamw", "lion", "lamb"};
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

Bytes WriteOptimizer(NodeWriter& writer, const std::string& optimizer,
                     const std::vector<TensorId>& parameters, std::vector<TensorId> gradients) {
  Graph& graph = writer.graph();
  writer.Place("step/" + optimizer, "optimizer", Phase::kOptimizer);
  if (optimizer == "none") {
    NameOutputs(writer, parameters, ".grad", gradients);
    graph.outputs.insert(graph.outputs.end(), gradients.begin(), gradients.end());
    return {};
  }
  const OptimizerForm& form = FormOf(optimizer);
  std::map<DType, std::vector<std::size_t>> by_type;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    by_type[writer.TypeOf(parameters[i])].push_back(i);
  }
  const TensorId rate = writer.Input("learning_rate", DType::kFloat32, {});
  const TensorId count = writer.Input("step", DType::kInt64, {});
  Bytes states;
  for (const auto& [type, members] : by_type) {
    std::vector<TensorId> inputs = {rate, count}, updated_parameters;
    for (const std::size_t i : members) updated_parameters.push_back(parameters[i]);
    inputs.insert(inputs.end(), updated_parameters.begin(), updated_parameters.end());
    for (const std::size_t i : members) inputs.push_back(gradients[i]);
    std::size_t outputs = members.size();
    for (const std::string_view state : form.states) {
      if (state.empty()) continue;
      outputs += members.size();
      for (const std::size_t i : members) {
        const Shape shape = writer.ShapeOf(parameters[i]);
        const std::string name =
            graph.tensors[static_cast<std::size_t>(parameters[i])].name + "." + std::string(state);
        inputs.push_back(writer.Input(name, type, shape));
        states += SizeOf(type, shape.Elements());
      }
    }
    std::vector<TensorId> updated =
        writer.Nodes(form.op, form.domain, std::move(inputs), AttributesOf(form), outputs);
    NameOutputs(writer, updated_parameters, ".updated", updated);
    graph.outputs.insert(graph.outputs.end(), updated.begin(), updated.end());
  }
  return states;
}

OptimizerOperands OperandsOf(const Node& node) {
  OptimizerOperands operands;
  for (const OptimizerForm& form : kForms) {
    if (node.phase != Phase::kOptimizer || form.op != node.op) continue;
    const auto states = static_cast<std::size_t>(
        std::count_if(form.states.begin(), form.states.end(),
                      [](std::string_view name) { return !name.empty(); }));
    const std::size_t tensors = (node.inputs.size() - 2) / (2 + states);
    const auto first = node.inputs.begin() + 2;
    const auto at = [&](std::size_t group) {
      return first + static_cast<std::ptrdiff_t>(group * tensors);
    };
    operands.parameters.assign(at(0), at(1));
    operands.gradients.assign(at(1), at(2));
    operands.states.assign(at(2), node.inputs.end());
  }
  return operands;
}

}  // namespace dlcost
