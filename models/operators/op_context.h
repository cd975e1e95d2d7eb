#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/graph/graph.h"

namespace dlcost {

// Inference cannot continue here because something is only known at run time. Not an Error: the
// node becomes `unknown` with this reason, and the model goes on.
class Unresolved : public std::exception {
 public:
  explicit Unresolved(std::string why) : why_(std::move(why)) {}
  const char* what() const noexcept override { return why_.c_str(); }

 private:
  std::string why_;
};

// A node as its operator sees it: attributes with defaults, inputs with shapes and values, outputs
// to fill in. Accessors of inputs throw Unresolved where the file does not tell; accessors of
// attributes throw Error on a wrong type.
class OpContext {
 public:
  OpContext(Graph& graph, const Node& node, int since)
      : graph_(graph), node_(node), since_(since) {}

  const Node& node() const { return node_; }
  const std::string& op() const { return node_.op; }
  int opset() const { return node_.opset; }  // version of the node's domain in force
  int since() const { return since_; }       // version at which the definition in force appeared

  // Inputs.
  int NumInputs() const { return static_cast<int>(node_.inputs.size()); }
  bool HasInput(int i) const;        // present and not omitted by an empty name
  const Tensor& Input(int i) const;  // throws Error when the input is missing
  DType InputType(int i) const;      // throws Unresolved when unknown
  bool InputShapeKnown(int i) const;
  const Shape& InputShape(int i) const;  // throws Unresolved when unknown
  std::int64_t InputDim(int i, std::int64_t axis) const;
  // The first node behind this one in the file that reads output i as its first input, as far as it
  // is one of `op` of the same domain; null otherwise.
  const Node* ReaderOf(int i, std::string_view op) const;
  // The shape of input `input` of another node of this graph; null when it is not known.
  const Shape* InputShapeOf(const Node& node, std::size_t input) const;
  int InputRank(int i) const { return InputShape(i).Rank(); }
  const Value* InputValue(int i) const;  // null when missing or not known
  ValuePtr SharedInputValue(int i) const;
  // The content of an integer input; throws Unresolved naming the input when it is computed at run
  // time.
  std::vector<std::int64_t> InputInts(int i) const;
  std::vector<double> InputReals(int i) const;
  bool InputIsConstant(int i) const { return HasInput(i) && Input(i).constant; }

  // Attributes. The default is returned when the attribute is absent.
  bool HasAttribute(std::string_view name) const;
  std::int64_t Int(std::string_view name, std::int64_t fallback) const;
  double Float(std::string_view name, double fallback) const;
  std::string String(std::string_view name, std::string_view fallback) const;
  std::vector<std::int64_t> Ints(std::string_view name,
                                 std::vector<std::int64_t> fallback = {}) const;
  std::vector<double> Floats(std::string_view name) const;
  std::vector<std::string> Strings(std::string_view name) const;
  const StoredTensor* TensorAttribute(std::string_view name) const;  // null when absent
  // Throws Error when the attribute is absent.
  std::int64_t RequiredInt(std::string_view name) const;
  std::vector<std::int64_t> RequiredInts(std::string_view name) const;
  // Axes that were an attribute once and became input `input_index` later: whichever this node has,
  // or nullopt.
  std::optional<std::vector<std::int64_t>> IntsFromInputOrAttribute(int input_index,
                                                                    std::string_view name) const;

  // Outputs. Setting one that the node omits does nothing.
  int NumOutputs() const { return static_cast<int>(node_.outputs.size()); }
  bool HasOutput(int i) const;
  void SetOutput(int i, DType dtype, Shape shape);
  void SetOutputType(int i, DType dtype);            // when the shape is not known
  void SetOutputTensorType(int i, TensorType type);  // sequences, optionals, maps
  void SetOutputValue(int i, Value value);           // ignored when the size contradicts the shape
  void SetOutputValue(int i, ValuePtr value);
  void MarkUpperBound(int i);
  const Tensor& Output(int i) const;
  DType OutputType(int i) const;
  const Shape& OutputShape(int i) const;  // throws Unresolved when unknown

  // Bytes of the whole operand; 0 for an omitted one. Strings count 0 (their size is in the data).
  Bytes InputBytes(int i) const;
  Bytes OutputBytes(int i) const;

 private:
  Tensor* OutputTensor(int i);
  Graph& graph_;
  const Node& node_;
  int since_;
};

}  // namespace dlcost
