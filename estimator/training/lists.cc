#include "estimator/training/lists.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "estimator/core/error.h"
#include "models/operators/op_context.h"

namespace dlcost {
namespace {

bool MakesList(const Node& node) {
  if (!node.domain.empty()) return false;
  for (const char* op : {"SequenceEmpty", "SequenceConstruct", "SequenceInsert", "SequenceErase",
                         "SplitToSequence", "Optional"}) {
    if (node.op == op) return true;
  }
  return false;
}

bool TakesFromList(const Node& node) {
  return node.domain.empty() && (node.op == "SequenceAt" || node.op == "ConcatFromSequence" ||
                                 node.op == "OptionalGetElement");
}

class Lists {
 public:
  explicit Lists(NodeWriter& writer) : w_(writer) {}

  void Run() {
    Graph& graph = w_.graph();
    std::vector<Node> nodes = std::exchange(graph.nodes, {});
    for (Node& node : nodes) {
      w_.Place(node.name, node.scope, node.phase);
      node_ = &node;
      const bool made = MakesList(node) && Make();
      const bool taken = TakesFromList(node) && Take();
      w_.Take();
      if (made) makers_.push_back(graph.nodes.size());
      if (!taken) graph.nodes.push_back(std::move(node));
    }
    DropMakers();
  }

 private:
  using List = std::vector<TensorId>;

  OpContext Context() { return {w_.graph(), *node_, 1}; }
  TensorId X(std::size_t i) const {
    return i < node_->inputs.size() ? node_->inputs[i] : kNoTensor;
  }
  const TensorType& TypeOf(TensorId id) {
    return w_.graph().tensors[static_cast<std::size_t>(id)].type;
  }
  // The elements of a list, or null.
  const List* Find(TensorId id) const {
    const auto found = lists_.find(id);
    return found == lists_.end() ? nullptr : &found->second;
  }

  // A position that is known, from input `input`, in [0, positions); `fallback` without the input.
  std::optional<std::size_t> Position(std::size_t input, std::size_t length, std::size_t positions,
                                      std::size_t fallback) {
    if (X(input) == kNoTensor) return fallback;
    const OpContext context = Context();
    const Value* value = context.InputValue(static_cast<int>(input));
    if (value == nullptr || value->size() != 1) return std::nullopt;
    std::int64_t at = context.InputInts(static_cast<int>(input)).front();
    if (at < 0) at += static_cast<std::int64_t>(length);
    if (at < 0 || at >= static_cast<std::int64_t>(positions)) return std::nullopt;
    return static_cast<std::size_t>(at);
  }

  // Whether the node's list is known now.
  bool Make() {
    std::optional<List> made;
    if (node_->op == "SequenceEmpty") {
      made = List();
    } else if (node_->op == "SequenceConstruct") {
      made = node_->inputs;
    } else if (node_->op == "SplitToSequence") {
      made = Split();
    } else if (X(0) != kNoTensor) {
      made = Changed();
    }
    if (!made || node_->outputs.empty() || node_->outputs[0] == kNoTensor) return false;
    if (std::find(made->begin(), made->end(), kNoTensor) != made->end()) return false;
    lists_[node_->outputs[0]] = std::move(*made);
    return true;
  }

  std::optional<List> Changed() {
    const List* from = Find(X(0));
    if (node_->op == "Optional") {
      const bool tensor = TypeOf(X(0)).kind == ValueKind::kTensor;
      if (from != nullptr) return *from;
      return tensor ? std::optional<List>(List{X(0)}) : std::nullopt;
    }
    if (from == nullptr) return std::nullopt;
    List list = *from;
    const std::size_t length = list.size();
    if (node_->op == "SequenceInsert") {
      const auto at = Position(2, length, length + 1, length);
      if (!at) return std::nullopt;
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(*at), X(1));
    } else {
      if (list.empty()) return std::nullopt;
      const auto at = Position(1, length, length, length - 1);
      if (!at) return std::nullopt;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(*at));
    }
    return list;
  }

  // The parts, whose sizes inference knows.
  std::optional<List> Split() {
    const TensorType type = TypeOf(node_->outputs.at(0));
    if (!type.elements || type.elements->empty() || !TypeOf(X(0)).shape) return std::nullopt;
    const Shape whole = w_.ShapeOf(X(0));
    const std::size_t axis = NormalizeAxis(Context().Int("axis", 0), whole.rank());
    std::vector<std::int64_t> lengths;
    for (const TensorType& element : *type.elements) {
      if (!element.shape) return std::nullopt;
      const bool kept = element.shape->rank() == whole.rank();
      lengths.push_back(kept ? (*element.shape)[axis] : 1);
    }
    const std::vector<TensorType> elements = *type.elements;
    List parts = {X(0)};
    if (lengths.size() > 1) {
      parts = w_.Nodes("Split", "", {X(0), w_.Ints(lengths)},
                       {IntAttribute("axis", static_cast<std::int64_t>(axis))}, lengths.size());
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i] = w_.Reshape(parts[i], *elements[i].shape);
    }
    return parts;
  }

  // Whether the node's tensor is written otherwise now.
  bool Take() {
    if (X(0) == kNoTensor || node_->outputs.empty() || node_->outputs[0] == kNoTensor) return false;
    const List* list = Find(X(0));
    TensorId value = kNoTensor;
    if (node_->op == "OptionalGetElement" && TypeOf(X(0)).kind == ValueKind::kTensor) {
      value = X(0);
    } else if (list == nullptr) {
      return false;
    } else if (node_->op == "ConcatFromSequence") {
      value = Joined(*list);
    } else if (node_->op == "SequenceAt") {
      const auto at = Position(1, list->size(), list->size(), 0);
      if (at) value = (*list)[*at];
    } else if (TypeOf(node_->outputs[0]).kind == ValueKind::kSequence) {
      lists_[node_->outputs[0]] = *list;  // an optional list
    } else if (list->size() == 1) {
      value = list->front();
    }
    if (value == kNoTensor) return false;
    w_.Become(value, node_->outputs[0]);
    return true;
  }

  TensorId Joined(const List& list) {
    std::vector<TensorId> parts = list;
    if (parts.empty()) return kNoTensor;
    const bool stacks = Context().Int("new_axis", 0) != 0;
    const std::int64_t named = Context().RequiredInt("axis");
    for (TensorId& part : parts) {
      if (!TypeOf(part).shape) return kNoTensor;
      if (!stacks) continue;
      std::vector<std::int64_t> dims = w_.ShapeOf(part).dims();
      const std::size_t axis = NormalizeAxis(named, dims.size(), true);
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
      part = w_.Reshape(part, Shape(dims));
    }
    return w_.Node1("Concat", parts, {IntAttribute("axis", named)});
  }

  // Lists that nothing reads any more.
  void DropMakers() {
    Graph& graph = w_.graph();
    std::unordered_map<TensorId, std::size_t> reads;
    for (const TensorId id : graph.outputs) ++reads[id];
    for (const Node& node : graph.nodes) {
      ForEachRead(node, [&](TensorId id) { ++reads[id]; });
    }
    std::vector<bool> dropped(graph.nodes.size(), false);
    for (auto maker = makers_.rbegin(); maker != makers_.rend(); ++maker) {
      const Node& node = graph.nodes[*maker];
      const bool read = std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
        const auto found = reads.find(id);
        return found != reads.end() && found->second > 0;
      });
      if (read) continue;
      dropped[*maker] = true;
      ForEachRead(node, [&](TensorId id) { --reads[id]; });
    }
    std::size_t place = 0;
    std::erase_if(graph.nodes, [&](const Node&) { return dropped[place++]; });
  }

  NodeWriter& w_;
  Node* node_ = nullptr;
  std::unordered_map<TensorId, List> lists_;
  std::vector<std::size_t> makers_;  // nodes of the graph whose list is known
};

}  // namespace

void TakeLists(NodeWriter& writer) {
  const std::vector<Node>& nodes = writer.graph().nodes;
  if (std::none_of(nodes.begin(), nodes.end(), TakesFromList)) return;
  Lists(writer).Run();
}

}  // namespace dlcost
