#include "estimator/plan/value_graph.h"

#include <memory>

namespace dlcost {

ValueGraph::ValueGraph(const InferredModel& model) : model_(model) {
  AddGraph(model.model->graph);
  for (const CountedNode& counted : model.nodes) AddGraph(*counted.graph);
  producer_.assign(tensors_.size(), kNoNode);
  root_.resize(tensors_.size());
  for (std::size_t v = 0; v < root_.size(); ++v) root_[v] = static_cast<ValueId>(v);
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const CountedNode& counted = model.nodes[n];
    MarkCaptures(counted);
    const bool view = counted.status == NodeStatus::kView && !counted.node->inputs.empty() &&
                      counted.node->inputs[0] != kNoTensor;
    for (const TensorId id : counted.node->outputs) {
      if (id == kNoTensor) continue;
      const ValueId value = Id(*counted.graph, id);
      producer_[Index(value)] = static_cast<NodeIndex>(n);
      if (!view) continue;
      root_[Index(value)] = Input(n, 0);
      if (escapes_[Index(value)]) escapes_[Index(root_[Index(value)])] = true;
    }
  }
  // Readers, grouped by value.
  first_reader_.assign(tensors_.size() + 1, 0);
  const auto for_each_read = [&](auto visit) {
    for (std::size_t n = 0; n < model.nodes.size(); ++n) {
      if (!Runs(n)) continue;
      for (std::size_t i = 0; i < NumInputs(n); ++i) {
        if (Input(n, i) != kNoValue) visit(Index(Input(n, i)), static_cast<NodeIndex>(n));
      }
    }
  };
  for_each_read([&](std::size_t value, NodeIndex) { ++first_reader_[value + 1]; });
  for (std::size_t v = 0; v < tensors_.size(); ++v) first_reader_[v + 1] += first_reader_[v];
  readers_.resize(first_reader_.back());
  std::vector<std::size_t> next(first_reader_.begin(), first_reader_.end() - 1);
  for_each_read([&](std::size_t value, NodeIndex n) { readers_[next[value]++] = n; });
}

void ValueGraph::AddGraph(const Graph& graph) {
  if (!base_.emplace(&graph, static_cast<ValueId>(tensors_.size())).second) return;
  for (const Tensor& tensor : graph.tensors) tensors_.push_back(&tensor);
  escapes_.resize(tensors_.size(), false);
  is_input_.resize(tensors_.size(), false);
  for (const TensorId id : graph.outputs) {
    if (id != kNoTensor) escapes_[Index(Id(graph, id))] = true;
  }
  for (const TensorId id : graph.inputs) {
    if (id != kNoTensor) is_input_[Index(Id(graph, id))] = true;
  }
}

void ValueGraph::MarkCaptures(const CountedNode& counted) {
  for (const Attribute& attribute : counted.node->attributes) {
    const auto mark = [&](const std::shared_ptr<Graph>& inner) {
      if (inner == nullptr) return;
      for (const Capture& capture : inner->captures) {
        escapes_[Index(Id(*counted.graph, capture.outer))] = true;
      }
    };
    if (const auto* one = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) mark(*one);
    if (const auto* all = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute.value)) {
      for (const auto& inner : *all) mark(inner);
    }
  }
}

ValueId ValueGraph::Id(const Graph& graph, TensorId id) const { return base_.at(&graph) + id; }

ValueId ValueGraph::Input(std::size_t n, std::size_t operand) const {
  const CountedNode& counted = node(n);
  if (operand >= counted.node->inputs.size()) return kNoValue;
  const TensorId id = counted.node->inputs[operand];
  return id == kNoTensor ? kNoValue : root_[Index(Id(*counted.graph, id))];
}

ValueId ValueGraph::Output(std::size_t n, std::size_t operand) const {
  const CountedNode& counted = node(n);
  if (operand >= counted.node->outputs.size()) return kNoValue;
  const TensorId id = counted.node->outputs[operand];
  return id == kNoTensor ? kNoValue : root_[Index(Id(*counted.graph, id))];
}

std::span<const ValueGraph::NodeIndex> ValueGraph::Readers(ValueId value) const {
  const std::size_t first = first_reader_[Index(value)];
  return {readers_.data() + first, first_reader_[Index(value) + 1] - first};
}

bool ValueGraph::Runs(std::size_t n) const {
  const NodeStatus status = node(n).status;
  return status != NodeStatus::kView && status != NodeStatus::kMetadata;
}

}  // namespace dlcost
