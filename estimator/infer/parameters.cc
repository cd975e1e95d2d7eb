#include "estimator/infer/parameters.h"

#include <fnmatch.h>

#include <algorithm>

#include "estimator/core/error.h"
#include "estimator/core/spelling.h"
#include "models/operators/registry.h"

namespace dlcost {
namespace {

Tensor& At(Graph& graph, TensorId id) { return graph.tensors[static_cast<std::size_t>(id)]; }

bool IsTrainable(const Tensor& tensor) {
  return tensor.constant && IsFloat(tensor.type.dtype) && tensor.type.shape &&
         tensor.type.shape->rank() > 0;
}

// A node whose output is a stored tensor in other words.
bool IsGenerator(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.outputs.size() != 1 || node.outputs[0] == kNoTensor)
    return false;
  const Tensor& output = graph.tensors[static_cast<std::size_t>(node.outputs[0])];
  if (!IsTrainable(output) || output.type.shape->Elements() <= Count(1)) return false;
  return node.op == "Constant" || node.op == "ConstantOfShape";
}

// Where operators read what no gradient is taken of: the running mean and variance of
// normalizations, what stored numbers were quantized with; and settings, which are no parameters
// at all: region and scales of a resizing, thresholds.
constexpr struct OperandsApart {
  std::string_view op;
  std::size_t first, last;  // inputs
  bool settings = false;

  bool Has(const Node& node, std::size_t input) const {
    return node.op == op && input >= first && input <= last;
  }
} kUntrained[] = {{"BatchNormalization", 3, 4}, {"Resize", 1, 2, true},
                  {"Upsample", 1, 1, true},     {"NonMaxSuppression", 3, 4, true},
                  {"QuantizeLinear", 1, 2},     {"DequantizeLinear", 1, 2},
                  {"MatMulNBits", 2, 3},        {"MatMulBnb4", 2, 2}};

// Single numbers that arithmetic alone reads: factors and offsets of a formula.
std::vector<bool> FactorsOf(const Graph& graph) {
  std::vector<bool> factor(graph.tensors.size(), false);
  for (std::size_t t = 0; t < factor.size(); ++t) {
    const auto& shape = graph.tensors[t].type.shape;
    factor[t] = shape && shape->Elements() == Count(1);
  }
  for (const Node& node : graph.nodes) {
    const OpDef* def = FindOperator(node.domain, node.op);
    const bool arithmetic = def != nullptr && def->role == FusionRole::kElementwise &&
                            node.op != "PRelu" && node.op != "BatchNormalization";
    if (arithmetic) continue;
    ForEachRead(node, [&](TensorId id) { factor[static_cast<std::size_t>(id)] = false; });
  }
  return factor;
}

}  // namespace

void StoreGenerated(Graph& graph) {
  const bool stores = std::any_of(graph.tensors.begin(), graph.tensors.end(), [](const Tensor& t) {
    return t.is_initializer && IsTrainable(t);
  });
  if (!stores) StoreConstants(graph);
}

void StoreConstants(Graph& graph) {
  std::erase_if(graph.nodes, [&](const Node& node) {
    if (!IsGenerator(graph, node)) return false;
    Tensor& tensor = At(graph, node.outputs[0]);
    tensor.is_initializer = tensor.foldable = true;
    tensor.role = Role::kWeight;
    tensor.stored = SizeOf(tensor.type.dtype, tensor.type.shape->Elements());
    return true;
  });
}

bool IsSetting(const Node& node, std::size_t input) {
  return std::any_of(std::begin(kUntrained), std::end(kUntrained),
                     [&](const auto& of) { return of.settings && of.Has(node, input); });
}

std::vector<TensorId> Untrained(const Graph& graph) {
  std::vector<TensorId> ids;
  for (const Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto has = [&](const OperandsApart& of) { return of.Has(node, i); };
      if (std::any_of(std::begin(kUntrained), std::end(kUntrained), has)) {
        ids.push_back(node.inputs[i]);
      }
    }
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::vector<TensorId> TakeParameters(Graph& graph, const std::vector<std::string>& frozen) {
  StoreGenerated(graph);
  const std::vector<TensorId> untrained = Untrained(graph);
  const std::vector<bool> factors = FactorsOf(graph);
  std::vector<bool> used(frozen.size(), false);
  std::vector<TensorId> parameters;
  std::vector<std::string> names;
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const Tensor& tensor = graph.tensors[t];
    const auto id = static_cast<TensorId>(t);
    if (!tensor.is_initializer || !IsTrainable(tensor) || factors[t] ||
        std::binary_search(untrained.begin(), untrained.end(), id)) {
      continue;
    }
    names.push_back(tensor.name);
    bool is_frozen = false;
    for (std::size_t i = 0; i < frozen.size(); ++i) {
      if (fnmatch(frozen[i].c_str(), tensor.name.c_str(), 0) != 0) continue;
      is_frozen = used[i] = true;
    }
    if (!is_frozen) parameters.push_back(id);
  }
  for (std::size_t i = 0; i < frozen.size(); ++i) {
    if (used[i]) continue;
    throw Error("--freeze '{}' matches no parameter{}", Printable(frozen[i]),
                DidYouMean(frozen[i], names));
  }
  return parameters;
}

}  // namespace dlcost
