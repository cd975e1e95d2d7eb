#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "estimator/infer/infer.h"

namespace dlcost {

using ValueId = std::int32_t;  // of a ValueGraph

// Who makes and who reads the values of an inferred model, over all of its graphs. Views are looked
// through: the output of a Reshape is its input, so every value below is the root of a chain of
// views. Built in linear time.
class ValueGraph {
 public:
  using NodeIndex = std::int32_t;  // into InferredModel::nodes
  static constexpr ValueId kNoValue = -1;
  static constexpr NodeIndex kNoNode = -1;

  explicit ValueGraph(const InferredModel& model);

  const InferredModel& model() const { return model_; }
  const CountedNode& node(std::size_t n) const { return model_.nodes[n]; }

  // The root of a node's operand; kNoValue for an omitted one.
  ValueId Input(std::size_t n, std::size_t operand) const;
  ValueId Output(std::size_t n, std::size_t operand) const;
  std::size_t NumInputs(std::size_t n) const { return node(n).node->inputs.size(); }
  std::size_t NumOutputs(std::size_t n) const { return node(n).node->outputs.size(); }

  const Tensor& tensor(ValueId value) const { return *tensors_[Index(value)]; }
  NodeIndex Producer(ValueId value) const { return producer_[Index(value)]; }
  // Nodes that read the value, views left out; a node that reads it twice appears twice.
  std::span<const NodeIndex> Readers(ValueId value) const;
  // Leaves its graph: an output, or captured by a graph inside.
  bool Escapes(ValueId value) const { return escapes_[Index(value)]; }
  bool IsGraphInput(ValueId value) const { return is_input_[Index(value)]; }
  // Known before the run.
  bool IsConstant(ValueId value) const { return tensor(value).constant || tensor(value).foldable; }

  std::size_t NumValues() const { return tensors_.size(); }
  // Runs something: neither a view nor known before the run.
  bool Runs(std::size_t n) const;

 private:
  static std::size_t Index(ValueId value) { return static_cast<std::size_t>(value); }
  ValueId Id(const Graph& graph, TensorId id) const;
  void AddGraph(const Graph& graph);
  void MarkCaptures(const CountedNode& counted);

  const InferredModel& model_;
  std::unordered_map<const Graph*, ValueId> base_;
  std::vector<const Tensor*> tensors_;
  std::vector<ValueId> root_;
  std::vector<NodeIndex> producer_;
  std::vector<bool> escapes_, is_input_;
  std::vector<std::size_t> first_reader_;  // per value, into readers_
  std::vector<NodeIndex> readers_;
};

}  // namespace dlcost
