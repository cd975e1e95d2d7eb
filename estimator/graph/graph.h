#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/core/dtype.h"
#include "estimator/core/shape.h"
#include "estimator/graph/attribute.h"
#include "estimator/graph/value.h"

namespace dlcost {

using TensorId = std::int32_t;             // index into Graph::tensors
inline constexpr TensorId kNoTensor = -1;  // an omitted optional input or output

enum class Role { kInput, kWeight, kActivation, kOutput };
enum class ValueKind { kTensor, kSparseTensor, kSequence, kOptional, kMap, kOpaque };

// A dimension as the file declares it: a size, or a symbol (possibly unnamed).
struct Dim {
  std::int64_t size = -1;  // -1: unknown
  std::string symbol;
};

// What is known of a value before its dimensions are bound.
struct DeclaredType {
  ValueKind kind = ValueKind::kTensor;
  DType dtype = DType::kUndefined;       // of the element, for sequences and optionals
  std::optional<std::vector<Dim>> dims;  // nullopt: not even the rank is declared
};

// Type and shape of a value; `elements` for sequences (one per element, when the length is known),
// optionals (none or one).
struct TensorType {
  ValueKind kind = ValueKind::kTensor;
  DType dtype = DType::kUndefined;
  std::optional<Shape> shape;  // for a sequence: the shape that all elements share, if they do
  std::optional<std::vector<TensorType>> elements;
  ValuePtr value;  // of an element, where it is known; a tensor of the graph has its own
};

struct Tensor {
  std::string name;
  Role role = Role::kActivation;
  TensorType type;
  ValuePtr value;
  std::optional<DeclaredType> declared;
  Bytes stored;                 // initializers: bytes in the file
  bool is_initializer = false;  // has a payload in the file (dropped)
  // Known before the run, from weights and constants alone: what a compiler folds once and for all.
  bool constant = false;
  // Known before the run once the dimensions are bound: constants and whatever follows from shapes.
  bool foldable = false;
  // Some dimension is an upper bound on a size that depends on data (NonZero, Unique,
  // NonMaxSuppression, ...).
  bool upper_bound = false;
};

// What a node does in a training step; a model as it was read is all forward.
// Only forward nodes can be known before the run: whatever else reads weights reads what a step
// changes.
enum class Phase {
  kForward,
  kCast,  // copies of weights in the type that products run in, made anew in every step
  kLoss,
  kRecompute,  // forward nodes once more, for what was not kept
  kBackwardData,
  kBackwardWeights,
  kOptimizer
};
inline constexpr int kPhaseCount = 7;
// "forward", "weight casts", "loss", "recompute", "backward for data", "backward for weights",
// "optimizer".
std::string_view Name(Phase phase);

struct Node {
  std::string
      name;  // unique within a model; made from operator and position where the file has none
  std::string op;
  std::string domain;  // "" is ai.onnx
  std::string scope;   // module path, "" when the exporter left none
  int opset = 1;       // version of `domain` that the model (or the local function) imports
  Phase phase = Phase::kForward;
  // A Cast that its reader makes while it reads: frameworks promote the operands of an elementwise
  // operator in its kernel (PyTorch, aten/src/ATen/native/cuda/Loops.cuh, dynamic casting).
  bool promotes = false;
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
  std::vector<Attribute> attributes;

  const AttributeValue* FindAttribute(std::string_view attribute) const;
};

// A value that a subgraph takes from the graph around it.
struct Capture {
  TensorId outer;
  TensorId inner;
};

struct Graph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;
  std::vector<TensorId> inputs;  // without initializers that the file also lists as inputs
  std::vector<TensorId> outputs;
  std::vector<Capture> captures;
};

struct Model {
  std::string path;
  std::string name;  // the graph's name
  std::string producer;
  std::int64_t ir_version = 0;
  std::map<std::string, int> opset;  // domain -> version; "" is ai.onnx
  std::map<std::string, std::string> metadata;
  Graph graph;
};

// Calls visit(TensorId) for everything that a node reads: its inputs, and what its graphs capture.
template <typename Visit>
void ForEachRead(const Node& node, Visit visit) {
  for (const TensorId id : node.inputs) {
    if (id != kNoTensor) visit(id);
  }
  for (const Attribute& attribute : node.attributes) {
    if (const auto* graph = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) {
      for (const Capture& capture : (*graph)->captures) visit(capture.outer);
    } else if (const auto* graphs =
                   std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute.value)) {
      for (const auto& each : *graphs) {
        for (const Capture& capture : each->captures) visit(capture.outer);
      }
    }
  }
}

// Indices of graph.nodes such that every node follows the producers of its inputs; nodes that are
// ready at the same time keep the order of the file. Throws Error naming a node on a cycle. Linear
// in nodes and edges.
std::vector<std::int32_t> TopologicalOrder(const Graph& graph);

}  // namespace dlcost
