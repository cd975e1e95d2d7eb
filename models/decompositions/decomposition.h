#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "models/gradients/writer.h"
#include "models/operators/op_context.h"

namespace dlcost {

// One node that consists of others, as a decomposition sees it: what it reads and says, and where
// to write the nodes that it consists of. Shapes and types are copies: writing a node may move the
// graph's tensors.
class FusedNode {
 public:
  FusedNode(NodeWriter& writer, const Node& node, int since)
      : writer_(writer), node_(node), since_(since), values_(node.outputs.size(), kNoTensor) {}

  NodeWriter& w() { return writer_; }
  const Node& node() const { return node_; }
  // Attributes and values.
  OpContext context() const { return {writer_.graph(), node_, since_}; }
  int since() const { return since_; }

  std::size_t NumInputs() const { return node_.inputs.size(); }
  bool Has(std::size_t i) const { return X(i) != kNoTensor; }
  // kNoTensor for an input that the node does not have.
  TensorId X(std::size_t i = 0) const { return i < NumInputs() ? node_.inputs[i] : kNoTensor; }
  Shape XShape(std::size_t i = 0) const { return writer_.ShapeOf(X(i)); }
  Shape YShape(std::size_t i = 0) const { return writer_.ShapeOf(node_.outputs.at(i)); }
  DType Type() const { return writer_.TypeOf(X(0)); }
  bool HasOutput(std::size_t i) const {
    return i < node_.outputs.size() && node_.outputs[i] != kNoTensor;
  }
  // The node's attributes but for those whose names begin with one of `without`.
  std::vector<Attribute> AttributesWithout(std::span<const std::string_view> without = {}) const;

  // What output i is. An output that nobody asked for is passed over.
  void Set(std::size_t i, TensorId value) {
    if (i < values_.size()) values_[i] = value;
  }
  TensorId ValueOf(std::size_t i) const { return values_[i]; }

 private:
  NodeWriter& writer_;
  const Node& node_;
  int since_;
  std::vector<TensorId> values_;
};

// An operator that training runs as those that it consists of: one that an inference engine fused,
// an old name of another, or one whose derivative nobody has as a kernel. Written before the step
// is derived, so that derivatives, precision, fusion and memory follow from the parts.
struct Decomposition {
  std::string_view name;
  // Throws Unresolved for a form that it does not know.
  void (*write)(FusedNode&) = nullptr;
  std::string_view domain = "";
};

// How an operator is taken apart, or null.
const Decomposition* FindDecomposition(std::string_view domain, std::string_view name);

// One function per file; decomposition.cc lists them all.
std::span<const Decomposition> AliasDecompositions();
std::span<const Decomposition> PointwiseDecompositions();
std::span<const Decomposition> ProductDecompositions();
std::span<const Decomposition> ConvolutionDecompositions();
std::span<const Decomposition> NormalizationDecompositions();
std::span<const Decomposition> SignalDecompositions();
std::span<const Decomposition> RecurrentDecompositions();
std::span<const Decomposition> AttentionDecompositions();

}  // namespace dlcost
