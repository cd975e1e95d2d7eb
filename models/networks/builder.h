#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "estimator/core/dtype.h"
#include "models/networks/network.h"

namespace dlcost::networks {

// The name of a tensor. An empty name is an optional input that is left out.
using Value = std::string;

// A number, or the name of a dimension that the user binds.
using Dim = std::variant<std::int64_t, std::string>;

using AttributeValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>>;
using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

// Writes an ONNX graph, node by node, in topological order. Names follow PyTorch's exporter: nodes
// "/layer1/0/conv1/Conv", weights "layer1.0.conv1.weight", so that a report can group by module.
class Builder {
 public:
  // `dtype` is the element type of Weight() and Scalar().
  Builder(const std::string& name, int opset, DType dtype);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  // Nodes and weights made while the scope lives belong to the module.
  class Scope {
   public:
    explicit Scope(Builder& builder) : builder_(builder) {}
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Builder& builder_;
  };
  [[nodiscard]] Scope In(const std::string& module);

  Value Input(const std::string& name, DType dtype, const std::vector<Dim>& dims);
  // Makes `value`, which a node made, an output of the graph under `name`.
  void Output(const Value& value, const std::string& name, DType dtype,
              const std::vector<Dim>& dims);

  // A weight of the current module: a ConstantOfShape node, which has shape and type but no data.
  Value Weight(const std::string& name, const std::vector<std::int64_t>& shape);
  Value Weight(const std::string& name, const std::vector<std::int64_t>& shape, DType dtype);
  // A one-dimensional int64 constant: shapes, axes, indices.
  Value Ints(const std::vector<std::int64_t>& values);
  // A zero-dimensional int64 constant.
  Value Int(std::int64_t value);
  // A zero-dimensional constant of the network's type.
  Value Scalar(float value);

  Value Node(const std::string& op, const std::vector<Value>& inputs,
             const Attributes& attributes = {});
  std::vector<Value> Nodes(const std::string& op, const std::vector<Value>& inputs,
                           const Attributes& attributes, int outputs);
  // A node of ONNX Runtime's operators, "com.microsoft".
  Value ContribNode(const std::string& op, const std::vector<Value>& inputs,
                    const Attributes& attributes);
  // Filled with `value`, of a shape that the graph computes.
  Value Fill(const Value& shape, float value);

  // What a reader of the network's costs has to know.
  void Note(const std::string& text);

  DType dtype() const;
  // The ONNX number of a type, for the attribute `to` of Cast.
  static std::int64_t OnnxType(DType dtype) { return static_cast<std::int64_t>(dtype); }

  // The last call to a builder.
  Network Finish();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace dlcost::networks
