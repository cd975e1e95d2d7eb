#include "estimator/training/sparse.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

const std::string& NameOf(const NodeWriter& writer, TensorId id) {
  return writer.graph().tensors[static_cast<std::size_t>(id)].name;
}

bool IsAlongRows(const Node& node) {
  const AttributeValue* axis = node.FindAttribute("axis");
  const auto* value = axis == nullptr ? nullptr : std::get_if<std::int64_t>(axis);
  return value == nullptr || *value == 0;
}

}  // namespace

std::vector<SparseGradient> TakeSparse(Graph& graph, std::vector<TensorId>& parameters,
                                       std::vector<TensorId>& gradients) {
  std::unordered_map<TensorId, const Node*> maker;
  std::unordered_set<TensorId> read(graph.outputs.begin(), graph.outputs.end());
  for (const Node& node : graph.nodes) {
    for (const TensorId id : node.outputs) {
      if (id != kNoTensor) maker[id] = &node;
    }
    ForEachRead(node, [&](TensorId id) { read.insert(id); });
  }
  std::vector<SparseGradient> sparse;
  std::unordered_set<TensorId> dense;
  std::vector<TensorId> other_parameters, other_gradients;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto found = maker.find(gradients[i]);
    const Node* node = found == maker.end() ? nullptr : found->second;
    const bool rows = node != nullptr && node->op == "GatherGrad" && IsAlongRows(*node) &&
                      read.count(gradients[i]) == 0;
    if (!rows) {
      other_parameters.push_back(parameters[i]);
      other_gradients.push_back(gradients[i]);
      continue;
    }
    sparse.push_back({parameters[i], node->inputs[1], node->inputs[2]});
    dense.insert(gradients[i]);
  }
  std::erase_if(graph.nodes, [&](const Node& node) {
    return !node.outputs.empty() && dense.count(node.outputs[0]) != 0;
  });
  parameters = std::move(other_parameters);
  gradients = std::move(other_gradients);
  return sparse;
}

void WriteSparseUpdates(NodeWriter& writer, const std::string& optimizer,
                        const std::vector<SparseGradient>& gradients, StepFacts& facts) {
  if (gradients.empty()) return;
  if (optimizer == "none") {
    for (const SparseGradient& each : gradients) writer.graph().outputs.push_back(each.rows);
    return;
  }
  const bool adam = optimizer == "adam" || optimizer == "adamw";
  if (!adam && optimizer != "sgd") {
    throw Error("--sparse-embeddings: {} has no update of rows alone; sgd, adam and adamw have",
                optimizer);
  }
  writer.Place("step/sparse", "optimizer", Phase::kOptimizer);
  const TensorId rate = writer.Input("learning_rate.sparse", DType::kFloat32, {});
  const TensorId count = writer.Input("step.sparse", DType::kInt64, {});
  for (const SparseGradient& each : gradients) {
    const Shape shape = writer.ShapeOf(each.parameter);
    const DType type = writer.TypeOf(each.parameter);
    const std::string name = NameOf(writer, each.parameter);
    std::vector<TensorId> inputs = {rate, count, each.parameter, each.indices, each.rows};
    if (adam) {
      for (const char* state : {".exp_avg", ".exp_avg_sq"}) {
        inputs.push_back(writer.Input(name + state, type, shape));
        facts.state_bytes += SizeOf(type, shape.Elements());
      }
    }
    const std::vector<TensorId> updated = writer.Nodes(
        adam ? "SparseAdam" : "SparseSgd", "dlcost.training", std::move(inputs), {}, adam ? 3 : 1);
    writer.Rename(updated[0], name + ".updated");
    writer.graph().outputs.insert(writer.graph().outputs.end(), updated.begin(), updated.end());
  }
}

}  // namespace dlcost
