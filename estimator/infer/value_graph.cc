#include "estimator/infer/value_graph.h"

#include <memory>
#include <numeric>

namespace dlcost {

ValueGraph::ValueGraph(const InferredModel& model) : model_(model) {
  AddGraph(model.model->graph);
  for (const CountedNode& counted : model.nodes) AddGraph(*counted.graph);
  for (const CountedNode& counted : model.nodes) {
    MarkCaptures(counted, base_.at(counted.graph));
  }
  LookThrough(std::vector<bool>(model.nodes.size(), false));
}

void ValueGraph::LookThrough(const std::vector<bool>& views) {
  AddOperands(FindRoots(views));
  FindReaders();
}

void ValueGraph::AddGraph(const Graph& graph) {
  const auto base = static_cast<ValueId>(tensors_.size());
  if (!base_.emplace(&graph, base).second) return;
  for (const Tensor& tensor : graph.tensors) tensors_.push_back(&tensor);
  escapes_.resize(tensors_.size(), false);
  is_input_.resize(tensors_.size(), false);
  for (const TensorId id : graph.outputs) {
    if (id != kNoTensor) escapes_[Index(base + id)] = true;
  }
  for (const TensorId id : graph.inputs) {
    if (id != kNoTensor) is_input_[Index(base + id)] = true;
  }
}

std::vector<ValueId> ValueGraph::FindRoots(const std::vector<bool>& views) {
  producer_.assign(tensors_.size(), kNoNode);
  std::vector<ValueId> root(tensors_.size());
  std::iota(root.begin(), root.end(), 0);
  runs_.resize(model_.nodes.size());
  for (std::size_t n = 0; n < model_.nodes.size(); ++n) {
    const CountedNode& counted = model_.nodes[n];
    const ValueId base = base_.at(counted.graph);
    const bool looks = views[n] || counted.status == NodeStatus::kView;
    runs_[n] = !looks && counted.status != NodeStatus::kMetadata;
    const std::vector<TensorId>& inputs = counted.node->inputs;
    const bool view = looks && !inputs.empty() && inputs[0] != kNoTensor;
    for (const TensorId id : counted.node->outputs) {
      if (id == kNoTensor) continue;
      const std::size_t value = Index(base + id);
      producer_[value] = static_cast<NodeIndex>(n);
      if (!view) continue;
      root[value] = root[Index(base + inputs[0])];
      if (escapes_[value]) escapes_[Index(root[value])] = true;
    }
  }
  return root;
}

void ValueGraph::MarkCaptures(const CountedNode& counted, ValueId base) {
  for (const Attribute& attribute : counted.node->attributes) {
    const auto mark = [&](const std::shared_ptr<Graph>& inner) {
      if (inner == nullptr) return;
      for (const Capture& capture : inner->captures) escapes_[Index(base + capture.outer)] = true;
    };
    if (const auto* one = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) mark(*one);
    if (const auto* all = std::get_if<std::vector<std::shared_ptr<Graph>>>(&attribute.value)) {
      for (const auto& inner : *all) mark(inner);
    }
  }
}

void ValueGraph::AddOperands(const std::vector<ValueId>& root) {
  operands_.clear();
  first_operand_.clear();
  first_operand_.reserve(2 * model_.nodes.size() + 1);
  first_operand_.push_back(0);
  for (const CountedNode& counted : model_.nodes) {
    const ValueId base = base_.at(counted.graph);
    for (const std::vector<TensorId>* ids : {&counted.node->inputs, &counted.node->outputs}) {
      for (const TensorId id : *ids) {
        operands_.push_back(id == kNoTensor ? kNoValue : root[Index(base + id)]);
      }
      first_operand_.push_back(operands_.size());
    }
  }
}

void ValueGraph::FindReaders() {
  first_reader_.assign(tensors_.size() + 1, 0);
  const auto for_each_read = [&](auto visit) {
    for (std::size_t n = 0; n < runs_.size(); ++n) {
      if (!Runs(n)) continue;
      for (const ValueId value : Inputs(n)) {
        if (value != kNoValue) visit(Index(value), static_cast<NodeIndex>(n));
      }
    }
  };
  for_each_read([&](std::size_t value, NodeIndex) { ++first_reader_[value + 1]; });
  for (std::size_t v = 0; v < tensors_.size(); ++v) first_reader_[v + 1] += first_reader_[v];
  readers_.resize(first_reader_.back());
  std::vector<std::size_t> next(first_reader_.begin(), first_reader_.end() - 1);
  for_each_read([&](std::size_t value, NodeIndex n) { readers_[next[value]++] = n; });
}

std::span<const ValueGraph::NodeIndex> ValueGraph::Readers(ValueId value) const {
  const std::size_t first = first_reader_[Index(value)];
  return {readers_.data() + first, first_reader_[Index(value) + 1] - first};
}

}  // namespace dlcost
