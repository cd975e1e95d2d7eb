#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "estimator/infer/infer.h"

namespace dlcost {

using ValueId = std::int32_t;  // of a ValueGraph
inline constexpr ValueId kNoValue = -1;

// Who makes and who reads the values of an inferred model, over all of its graphs. Views are looked
// through: the output of a Reshape is its input, so every value below is the root of a chain of
// views. Built in linear time.
class ValueGraph {
 public:
  using NodeIndex = std::int32_t;  // into InferredModel::nodes
  static constexpr NodeIndex kNoNode = -1;

  explicit ValueGraph(const InferredModel& model);
  // Looks through more nodes, which move nothing either: true for each of them, by its index.
  void LookThrough(const std::vector<bool>& views);

  const InferredModel& model() const { return model_; }
  const CountedNode& node(std::size_t n) const { return model_.nodes[n]; }

  // The roots of a node's operands; kNoValue for omitted ones.
  std::span<const ValueId> Inputs(std::size_t n) const { return Operands(2 * n); }
  std::span<const ValueId> Outputs(std::size_t n) const { return Operands(2 * n + 1); }
  // One of them; kNoValue where there is none.
  ValueId Input(std::size_t n, std::size_t operand) const {
    return operand < Inputs(n).size() ? Inputs(n)[operand] : kNoValue;
  }
  ValueId Output(std::size_t n, std::size_t operand) const {
    return operand < Outputs(n).size() ? Outputs(n)[operand] : kNoValue;
  }
  // The operand and the result themselves, which may be views of their roots.
  ValueId Operand(std::size_t n, std::size_t i) const { return Itself(n, node(n).node->inputs, i); }
  ValueId Result(std::size_t n, std::size_t i) const { return Itself(n, node(n).node->outputs, i); }
  std::size_t NumInputs(std::size_t n) const { return Inputs(n).size(); }
  std::size_t NumOutputs(std::size_t n) const { return Outputs(n).size(); }

  const Tensor& tensor(ValueId value) const { return *tensors_[Index(value)]; }
  NodeIndex Producer(ValueId value) const { return producer_[Index(value)]; }
  // Nodes that read the value, views left out; a node that reads it twice appears twice.
  std::span<const NodeIndex> Readers(ValueId value) const;
  // Leaves its graph: an output, or captured by a graph inside.
  bool Escapes(ValueId value) const { return escapes_[Index(value)]; }
  bool IsGraphInput(ValueId value) const { return is_input_[Index(value)]; }
  // Known before the run.
  bool IsConstant(ValueId value) const { return tensor(value).constant || tensor(value).foldable; }

  // Runs something: neither a view nor known before the run.
  bool Runs(std::size_t n) const { return runs_[n]; }

 private:
  static std::size_t Index(ValueId value) { return static_cast<std::size_t>(value); }
  void AddGraph(const Graph& graph);
  void MarkCaptures(const CountedNode& counted, ValueId base);
  ValueId Itself(std::size_t n, const std::vector<TensorId>& ids, std::size_t i) const {
    return i < ids.size() && ids[i] != kNoTensor ? base_.at(node(n).graph) + ids[i] : kNoValue;
  }
  std::vector<ValueId> FindRoots(const std::vector<bool>& views);
  void AddOperands(const std::vector<ValueId>& root);
  void FindReaders();
  std::span<const ValueId> Operands(std::size_t list) const {
    return {operands_.data() + first_operand_[list], operands_.data() + first_operand_[list + 1]};
  }

  const InferredModel& model_;
  std::unordered_map<const Graph*, ValueId> base_;  // of the ids of a graph's tensors
  // What is asked most often side by side: roots of the inputs of node 0, of its outputs, of the
  // inputs of node 1, ...
  std::vector<ValueId> operands_;
  std::vector<std::size_t> first_operand_;  // per list, into operands_
  std::vector<bool> runs_;                  // per node
  std::vector<const Tensor*> tensors_;
  std::vector<NodeIndex> producer_;
  std::vector<bool> escapes_, is_input_;
  std::vector<std::size_t> first_reader_;  // per value, into readers_
  std::vector<NodeIndex> readers_;
};

inline bool ContainsNode(const std::vector<std::size_t>& nodes, std::size_t n) {
  return std::find(nodes.begin(), nodes.end(), n) != nodes.end();
}

}  // namespace dlcost
