#include "estimator/parallel/unshared_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "estimator/core/error.h"

namespace dlcost {
namespace {

constexpr const char* kWhatWould = "com.microsoft MoE and QMoE are shared out";

const Shape* ShapeOf(const Graph& graph, TensorId id) {
  if (id == kNoTensor) return nullptr;
  const auto& shape = graph.tensors[static_cast<std::size_t>(id)].type.shape;
  return shape ? &*shape : nullptr;
}

}  // namespace

std::string WhyNotShared(const InferredModel& model) {
  const Graph& graph = model.model->graph;
  // A router chooses among as many as there are experts.
  std::set<std::int64_t> choices;
  const Node* router = nullptr;
  std::int64_t takes = 0;  // nodes that find out which tokens an expert gets
  const Node* first = nullptr;
  for (const Node& node : graph.nodes) {
    if (node.domain == "com.microsoft" && (node.op == "MoE" || node.op == "QMoE")) {
      return fmt::format("{} is not shared out: its weights are not those of one expert each",
                         Printable(node.name));
    }
    if (node.op == "TopK" && !node.inputs.empty()) {
      const Shape* chances = ShapeOf(graph, node.inputs[0]);
      if (chances == nullptr || chances->rank() == 0 || chances->At(-1) < 2) continue;
      choices.insert(chances->At(-1));
      if (router == nullptr) router = &node;
    }
    if (node.op == "NonZero" && ++takes == 1) first = &node;
  }
  if (router == nullptr) return fmt::format("the model has no experts; {}", kWhatWould);
  for (const Node& node : graph.nodes) {
    if (node.op != "MatMul" && node.op != "Einsum") continue;
    for (const TensorId input : node.inputs) {
      const Shape* shape = ShapeOf(graph, input);
      if (shape == nullptr || shape->rank() != 3 || choices.count((*shape)[0]) == 0) continue;
      if (!graph.tensors[static_cast<std::size_t>(input)].constant) continue;
      return fmt::format(
          "{} puts every token through all of {} experts, in one product: no token goes to the "
          "device of its expert; tp=N splits such experts, and {}",
          Printable(node.name), (*shape)[0], kWhatWould);
    }
  }
  if (takes >= *choices.begin()) {
    return fmt::format(
        "{} and others like it choose the tokens of one expert of {} while the model runs: how "
        "many each gets is not in the file; {}",
        Printable(first->name), *choices.begin(), kWhatWould);
  }
  return fmt::format("the choice of {} leads to no experts that are known; {}",
                     Printable(router->name), kWhatWould);
}

}  // namespace dlcost
