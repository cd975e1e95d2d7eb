#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estimator/graph/graph.h"
#include "models/gradients/taken_names.h"

namespace dlcost {

inline constexpr std::string_view kMicrosoft = "com.microsoft";  // ONNX Runtime's domain

inline std::size_t Index(TensorId id) { return static_cast<std::size_t>(id); }

// Writes nodes into a graph whose tensors have types and shapes. Every node is inferred as it is
// written, so that the next one can ask for the shape of what it reads. Nodes wait here until Take:
// those that the graph has stay where they are. Tensors are named by their graph's ids, which last;
// references to tensors do not.
class NodeWriter {
 public:
  // `opset` is the version of the standard domain that nodes are written in; operators that came
  // later are written in their first version.
  NodeWriter(Graph& graph, int opset);

  Graph& graph() { return graph_; }
  const Graph& graph() const { return graph_; }
  int opset() const { return opset_; }
  // What the names of new nodes begin with, and the module and phase that they belong to.
  void Place(std::string prefix, std::string scope, Phase phase);

  // Throw Unresolved for kNoTensor, and for a shape that is not known.
  Shape ShapeOf(TensorId id) const;
  DType TypeOf(TensorId id) const;

  // A new input of the graph; a name that is taken gets a number.
  TensorId Input(const std::string& name, DType dtype, Shape shape);
  // A tensor of this type that a node of the graph is to make.
  TensorId OfType(const std::string& name, TensorType type);
  // A new stored tensor, known before the run.
  TensorId Stored(const std::string& name, DType dtype, Shape shape);
  // One node of control flow, which tells no types by itself: those of its outputs.
  std::vector<TensorId> Control(std::string_view op, std::vector<TensorId> inputs,
                                std::vector<Attribute> attributes,
                                const std::vector<TensorType>& outputs);
  // A further tensor like one that the graph has; the name for a node that is none yet.
  TensorId Copy(TensorId id);
  std::string UniqueNode(const std::string& name) { return node_names_.Unique(name); }
  // A name that is taken gets a number.
  void Rename(TensorId id, const std::string& name);
  // Constants, each distinct one once. Ints are one-dimensional.
  TensorId Ints(const std::vector<std::int64_t>& values);
  TensorId Scalar(double value, DType dtype);
  TensorId Int(std::int64_t value);
  TensorId True();
  // A tensor filled with zeros.
  TensorId Zeros(DType dtype, const Shape& shape);

  // One node with `outputs` outputs; an empty name of a domain is ai.onnx. The shape of output 0 is
  // `declared` where the operator cannot tell it.
  std::vector<TensorId> Nodes(std::string_view op, std::string_view domain,
                              std::vector<TensorId> inputs, std::vector<Attribute> attributes,
                              std::size_t outputs, const Shape* declared = nullptr);
  // One node of ONNX Runtime's domain that has its output `only` alone.
  TensorId ContribOutput(std::string_view op, std::vector<TensorId> inputs,
                         std::vector<Attribute> attributes, std::size_t only);
  // One node with the outputs that `present` says; kNoTensor for the others.
  std::vector<TensorId> NodeWith(std::string_view op, std::string_view domain,
                                 std::vector<TensorId> inputs, std::vector<Attribute> attributes,
                                 const std::vector<bool>& present);
  TensorId Node1(std::string_view op, std::vector<TensorId> inputs,
                 std::vector<Attribute> attributes = {});
  // The same of ONNX Runtime's domain.
  TensorId Contrib(std::string_view op, std::vector<TensorId> inputs,
                   std::vector<Attribute> attributes = {}, const Shape* declared = nullptr);

  // Arithmetic.
  TensorId Add(TensorId a, TensorId b) { return Node1("Add", {a, b}); }
  TensorId Sub(TensorId a, TensorId b) { return Node1("Sub", {a, b}); }
  TensorId Mul(TensorId a, TensorId b) { return Node1("Mul", {a, b}); }
  TensorId Div(TensorId a, TensorId b) { return Node1("Div", {a, b}); }
  TensorId Scale(TensorId a, double factor);  // a itself where factor is 1
  // x itself where it has the type.
  TensorId InType(TensorId x, DType type);
  // A view where nothing moves; the tensor itself where the shape is the same.
  TensorId Reshape(TensorId x, const Shape& shape);
  TensorId Transpose(TensorId x, const std::vector<std::int64_t>& permutation);
  TensorId Expand(TensorId x, const Shape& shape);
  // Sum over `axes`, which stay as ones.
  TensorId ReduceSum(TensorId x, const std::vector<std::int64_t>& axes);
  // Sums `x` over what broadcasting `shape` to the shape of `x` repeated, back to `shape`.
  TensorId SumTo(TensorId x, const Shape& shape);
  // Elements [start, start + length) of an axis.
  TensorId Slice(TensorId x, std::int64_t axis, std::int64_t start, std::int64_t length);
  // a' b' over the last two axes, transposed as told.
  TensorId Product(TensorId a, bool transpose_a, TensorId b, bool transpose_b);

  // A further output of a node that the graph has, with the type that its operator gives it.
  TensorId ExtraOutput(Node& node, std::size_t output);
  // Infers the types of the outputs of a node that the graph has.
  void Infer(const Node& node);

  // Lets the written node that makes `made` make `wanted`, a tensor of the graph that no node makes
  // now; by a copy where none of the written nodes makes it.
  void Become(TensorId made, TensorId wanted);

  const std::vector<Node>& written() const { return nodes_; }
  Node& LastWritten() { return nodes_.back(); }
  // Takes the nodes from the `first` written one on back.
  void DropFrom(std::size_t first) {
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(first), nodes_.end());
  }
  template <typename Visit>
  void ForEachWrittenBackwards(Visit visit) {
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) visit(*node);
  }
  // Moves the written nodes behind those of the graph.
  void Take();

 private:
  TensorId AddTensor(const std::string& name);
  Node NewNode(std::string_view op, std::string_view domain, std::vector<TensorId> inputs,
               std::vector<Attribute> attributes);
  TensorId Constant(const std::string& key, DType dtype, Shape shape, ValuePtr value);

  Graph& graph_;
  int opset_;
  std::string prefix_, scope_;
  Phase phase_ = Phase::kForward;
  std::vector<Node> nodes_;
  TakenNames tensor_names_, node_names_;
  std::map<std::string, TensorId> constants_;
};

// An attribute of an integer, a real, a text, or integers.
Attribute IntAttribute(std::string name, std::int64_t value);
Attribute RealAttribute(std::string name, double value);
Attribute TextAttribute(std::string name, std::string value);
Attribute IntsAttribute(std::string name, std::vector<std::int64_t> values);

}  // namespace dlcost
