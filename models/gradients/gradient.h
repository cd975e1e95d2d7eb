#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/gradients/writer.h"
#include "models/operators/op_context.h"

namespace dlcost {

// One node of the forward pass, as the rule of its derivative sees it: which inputs want a
// gradient, what the gradients of its outputs are, and where to write the nodes that make the one
// from the other. Shapes and types are copies: writing a node may move the graph's tensors.
class GradientContext {
 public:
  // `wanted` per input; `outputs` the gradient of each output, kNoTensor where there is none.
  GradientContext(NodeWriter& writer, Node& node, int since, std::vector<bool> wanted,
                  std::vector<TensorId> outputs);

  NodeWriter& w() { return writer_; }
  const Node& node() const { return node_; }
  // Attributes and values of the forward node.
  OpContext forward() const { return {writer_.graph(), node_, since_}; }
  int since() const { return since_; }

  std::size_t NumInputs() const { return node_.inputs.size(); }
  bool HasInput(std::size_t i) const { return i < NumInputs() && node_.inputs[i] != kNoTensor; }
  // kNoTensor for one that the node does not have.
  TensorId X(std::size_t i = 0) const { return i < NumInputs() ? node_.inputs[i] : kNoTensor; }
  TensorId Y(std::size_t i = 0) const {
    return i < node_.outputs.size() ? node_.outputs[i] : kNoTensor;
  }
  // Output i of the forward node, which it gets where it has none.
  TensorId Saved(std::size_t i) { return writer_.ExtraOutput(node_, i); }
  // Makes the forward node one that does the same and has the further outputs of training.
  void Rename(std::string_view op, std::string_view domain) {
    node_.op = op;
    node_.domain = domain;
    node_.opset = 1;
  }
  Shape XShape(std::size_t i = 0) const { return writer_.ShapeOf(X(i)); }
  Shape YShape(std::size_t i = 0) const { return writer_.ShapeOf(Y(i)); }
  DType Type() const { return writer_.TypeOf(X(0)); }

  bool Wants(std::size_t i) const { return i < wanted_.size() && wanted_[i]; }
  // kNoTensor for an output that nothing depends on.
  TensorId dY(std::size_t i = 0) const { return i < outputs_.size() ? outputs_[i] : kNoTensor; }

  // The gradient of input i. Whatever its shape has more than the input by broadcasting is summed.
  void Set(std::size_t i, TensorId gradient);
  TensorId GradientOf(std::size_t i) const { return gradients_[i]; }

 private:
  NodeWriter& writer_;
  Node& node_;
  int since_;
  std::vector<bool> wanted_;
  std::vector<TensorId> outputs_, gradients_;
};

// A rule throws Unresolved, with the reason, where it has no answer for what a node does.
struct GradientDef {
  std::string_view name;
  // Writes nodes and calls Set for every input that wants a gradient; null: the derivative is zero
  // wherever there is one (Floor, Sign), so nothing flows back.
  void (*write)(GradientContext&) = nullptr;
  std::string_view domain = "";
  // Whether the rule takes gradients of outputs other than the first, and may do without that of
  // the first.
  bool any_output = false;
  // Whether integers that the operator writes stand for numbers that have a gradient.
  bool through_integers = false;
  // Whether nothing flows but by the first input: the others say how, not what (CastLike's type).
  bool only_first = false;
};

// The rule of an operator, or null: an operator whose derivative nobody wrote.
const GradientDef* FindGradient(std::string_view domain, std::string_view name);
// Every rule, by family.
std::span<const std::span<const GradientDef>> GradientFamilies();

// One function per file of rules; gradient.cc lists them all.
std::span<const GradientDef> ConvolutionGradients();
std::span<const GradientDef> ProductGradients();
std::span<const GradientDef> ElementwiseGradients();
std::span<const GradientDef> ActivationGradients();
std::span<const GradientDef> NormalizationGradients();
std::span<const GradientDef> PoolingGradients();
std::span<const GradientDef> ReductionGradients();
std::span<const GradientDef> MovementGradients();
std::span<const GradientDef> LossGradients();
std::span<const GradientDef> RecurrentGradients();
std::span<const GradientDef> AttentionGradients();
std::span<const GradientDef> QuantizationGradients();
std::span<const GradientDef> CollectiveGradients();
std::span<const GradientDef> ExpertGradients();
std::span<const GradientDef> SignalGradients();
std::span<const GradientDef> MatrixGradients();
std::span<const GradientDef> GridGradients();
std::span<const GradientDef> LinearAttentionGradients();

}  // namespace dlcost
