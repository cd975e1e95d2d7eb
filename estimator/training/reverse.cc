#include "estimator/training/reverse.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/training/reverse_bodies.h"
#include "models/decompositions/decomposition.h"
#include "models/gradients/gradient.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

// How a node with graphs inside is differentiated; null: like any other.
auto RuleOfBodies(const Node& node) -> decltype(&ReverseSteps) {
  if (!node.domain.empty()) return nullptr;
  if (node.op == "Loop" || node.op == "Scan") return ReverseSteps;
  return node.op == "If" ? ReverseBranches : nullptr;
}

class Reverser {
 public:
  Reverser(NodeWriter& writer, const std::vector<TensorId>& parameters, const Seeds& seeds)
      : w_(writer), active_(writer.graph().tensors.size(), false) {
    for (const TensorId id : parameters) active_[Index(id)] = true;
    for (std::size_t i = 0; i < seeds.values.size(); ++i) {
      Accumulate(seeds.values[i], seeds.gradients[i]);
    }
  }

  Reversed Run() {
    std::vector<Node>& nodes = w_.graph().nodes;
    SpreadActivity(w_.graph(), active_);
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) Differentiate(*node);
    return std::move(result_);
  }

 private:
  bool IsActive(TensorId id) const {
    return id != kNoTensor && Index(id) < active_.size() && active_[Index(id)];
  }
  TensorId GradientOf(TensorId id) const {
    return id != kNoTensor && Index(id) < result_.gradients.size() ? result_.gradients[Index(id)]
                                                                   : kNoTensor;
  }

  void Accumulate(TensorId id, TensorId gradient) {
    if (gradient == kNoTensor) return;
    if (result_.gradients.size() <= Index(id)) result_.gradients.resize(Index(id) + 1, kNoTensor);
    TensorId& sum = result_.gradients[Index(id)];
    sum = sum == kNoTensor ? gradient : w_.Add(sum, gradient);
  }

  void Differentiate(Node& node) {
    std::vector<TensorId> outputs;
    bool any = false;
    for (const TensorId id : node.outputs) {
      outputs.push_back(IsActive(id) ? GradientOf(id) : kNoTensor);
      any |= outputs.back() != kNoTensor;
    }
    if (!any) return;
    w_.Place(node.name + "/grad", node.scope, Phase::kBackwardData);
    const std::size_t before = w_.written().size();
    try {
      Apply(node, outputs);
    } catch (const Unresolved& unresolved) {
      w_.DropFrom(before);
      StandIn(node, outputs, unresolved.what());
    } catch (const Error& error) {
      // A rule that takes today's meaning of an operator that an old file means otherwise.
      w_.DropFrom(before);
      StandIn(node, outputs, "its derivative does not fit: " + std::string(error.what()));
    }
  }

  void Apply(Node& node, const std::vector<TensorId>& outputs) {
    if (const auto reverse = RuleOfBodies(node)) {
      const auto is_active = [&](TensorId id) { return IsActive(id); };
      for (const auto& [value, gradient] : reverse(w_, node, is_active, outputs, result_.unknown)) {
        Accumulate(value, gradient);
      }
      return;
    }
    const GradientDef* def = FindGradient(node.domain, node.op);
    if (def == nullptr) {
      const bool other_forms = FindDecomposition(node.domain, node.op) != nullptr;
      throw Unresolved("the derivative of " + std::string(other_forms ? "this form of " : "") +
                       Printable(node.op) + " is not written");
    }
    const bool further = std::any_of(outputs.begin() + 1, outputs.end(),
                                     [](TensorId id) { return id != kNoTensor; });
    if (!def->any_output && (further || outputs[0] == kNoTensor)) {
      throw Unresolved("the derivative of a further output of " + Printable(node.op) +
                       " is not written");
    }
    std::vector<bool> wanted;
    for (const TensorId id : node.inputs) wanted.push_back(IsActive(id));
    if (!wanted.empty() && !wanted[0] && std::count(wanted.begin(), wanted.end(), true) > 0) {
      result_.without_data_gradient.push_back(node.name);
    }
    const OpDef* op = FindOperator(node.domain, node.op);
    GradientContext context(w_, node, op == nullptr ? 1 : SinceVersion(*op, node.opset), wanted,
                            outputs);
    def->write(context);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (wanted[i]) Accumulate(node.inputs[i], context.GradientOf(i));
    }
  }

  // The gradients of all that the node reads and that want one, by a node of unknown work.
  void StandIn(const Node& node, const std::vector<TensorId>& outputs, const std::string& why) {
    std::vector<TensorId> wanted, others;
    ForEachRead(node, [&](TensorId id) {
      std::vector<TensorId>& into = IsActive(id) ? wanted : others;
      if (std::find(into.begin(), into.end(), id) == into.end()) into.push_back(id);
    });
    std::vector<TensorId> inputs = wanted;
    inputs.insert(inputs.end(), others.begin(), others.end());
    for (const TensorId id : outputs) {
      if (id != kNoTensor) inputs.push_back(id);
    }
    std::vector<std::string> names;
    for (const TensorId id : wanted) names.push_back(w_.graph().tensors[Index(id)].name);
    // Some output has a gradient, so some output is there.
    const TensorId y = *std::find_if(node.outputs.begin(), node.outputs.end(),
                                     [](TensorId id) { return id != kNoTensor; });
    const std::vector<TensorId> gradients = w_.Nodes(
        "Gradient", "ai.onnx.preview.training", std::move(inputs),
        {{"xs", std::move(names)}, {"y", w_.graph().tensors[Index(y)].name}}, wanted.size());
    result_.unknown.emplace(w_.written().back().name, why);
    for (std::size_t i = 0; i < wanted.size(); ++i) Accumulate(wanted[i], gradients[i]);
  }

  NodeWriter& w_;
  std::vector<bool> active_;  // per tensor of the forward pass
  Reversed result_;
};

// A backward node whose result reaches parameters alone is one for weights.
void MarkWeightNodes(NodeWriter& writer, const std::vector<TensorId>& gradients) {
  std::vector<bool> data(writer.graph().tensors.size(), false);
  for (std::size_t t = 0; t < gradients.size(); ++t) {
    if (gradients[t] != kNoTensor && !writer.graph().tensors[t].constant) {
      data[static_cast<std::size_t>(gradients[t])] = true;
    }
  }
  writer.ForEachWrittenBackwards([&](Node& node) {
    if (node.phase != Phase::kBackwardData) return;
    const bool is_data = std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
      return id != kNoTensor && data[static_cast<std::size_t>(id)];
    });
    if (!is_data) {
      node.phase = Phase::kBackwardWeights;
      return;
    }
    for (const TensorId id : node.inputs) {
      if (id != kNoTensor) data[static_cast<std::size_t>(id)] = true;
    }
  });
}

}  // namespace

void SpreadActivity(const Graph& graph, std::vector<bool>& active) {
  const auto is_active = [&](TensorId id) { return active[static_cast<std::size_t>(id)]; };
  for (const Node& node : graph.nodes) {
    const GradientDef* def = FindGradient(node.domain, node.op);
    if (def != nullptr && def->write == nullptr) continue;
    bool any = false;
    const TensorId first = node.inputs.empty() ? kNoTensor : node.inputs[0];
    ForEachRead(node, [&](TensorId id) {
      any |= is_active(id) && (def == nullptr || !def->only_first || id == first);
    });
    if (!any) continue;
    for (const TensorId id : node.outputs) {
      if (id == kNoTensor) continue;
      const DType type = graph.tensors[static_cast<std::size_t>(id)].type.dtype;
      const bool passes = def != nullptr && def->through_integers;
      if (IsFloat(type) || type == DType::kUndefined || passes) {
        active[static_cast<std::size_t>(id)] = true;
      }
    }
  }
}

Reversed Reverse(NodeWriter& writer, const std::vector<TensorId>& parameters, const Seeds& seeds) {
  Reversed reversed = Reverser(writer, parameters, seeds).Run();
  MarkWeightNodes(writer, reversed.gradients);
  std::reverse(reversed.without_data_gradient.begin(), reversed.without_data_gradient.end());
  return reversed;
}

}  // namespace dlcost
