#include <unordered_map>
#include <unordered_set>

#include "estimator/infer/memory.h"

namespace dlcost {
namespace {

class WeightCounter {
 public:
  WeightCounter(InferredModel& model, std::optional<DType> floats_as)
      : model_(model), floats_as_(floats_as) {
    for (const CountedNode& counted : model.nodes) {
      for (const TensorId id : counted.node->outputs) {
        // Only what is known before the run leads back to weights.
        if (id == kNoTensor || !Of(*counted.graph, id)->foldable) continue;
        producers_[Of(*counted.graph, id)] = &counted;
      }
    }
    for (const Subgraph& subgraph : model.subgraphs) {
      originals_[subgraph.graph.get()] = subgraph.original;
      for (const Capture& capture : subgraph.graph->captures) {
        captured_[Of(*subgraph.graph, capture.inner)] = {subgraph.outer, capture.outer};
      }
      if (subgraph.taken) NoteResults(subgraph);
    }
  }

  void Run() {
    for (CountedNode& counted : model_.nodes) {
      counted.parameters = Count();
      counted.weight_bytes = Bytes();
      if (counted.status == NodeStatus::kMetadata) continue;
      reader_ = &counted;
      if (counted.cost.held_parameters > Count(0) && held_.insert(counted.node->name).second) {
        AddToTotals(counted.cost.held_parameters, counted.cost.held_bytes);
      }
      const bool anchor = counted.def != nullptr && counted.def->role == FusionRole::kAnchor;
      for (const TensorId id : counted.node->inputs) {
        if (id != kNoTensor) Visit(*counted.graph, id, anchor);
      }
    }
  }

 private:
  static const Tensor* Of(const Graph& graph, TensorId id) {
    return &graph.tensors[static_cast<std::size_t>(id)];
  }

  struct Place {
    const Graph* graph;
    TensorId id;
  };
  struct Item {
    Place place;
    bool computes;
  };

  // A graph inside may hand out a weight of its own: a branch that chooses between two of them.
  void NoteResults(const Subgraph& subgraph) {
    // A loop's body tells first whether to go on.
    const std::size_t skip = subgraph.owner->op == "Loop" ? 1 : 0;
    for (std::size_t i = 0; i < subgraph.owner->outputs.size(); ++i) {
      const TensorId outer = subgraph.owner->outputs[i];
      if (outer == kNoTensor || i + skip >= subgraph.graph->outputs.size()) continue;
      results_[Of(*subgraph.outer, outer)] = {subgraph.graph.get(),
                                              subgraph.graph->outputs[i + skip]};
    }
  }

  // A value that inner graphs capture is the outer graph's.
  Place Resolve(Place place) const {
    for (;;) {
      const auto found = captured_.find(Of(*place.graph, place.id));
      if (found == captured_.end()) return place;
      place = found->second;
    }
  }

  // Stands for a tensor in every copy of its graph.
  const Tensor* Identity(Place place) const {
    const auto found = originals_.find(place.graph);
    return Of(found == originals_.end() ? *place.graph : *found->second, place.id);
  }

  // Iterative: chains of folded nodes may be long.
  void Visit(const Graph& graph, TensorId first, bool computes) {
    stack_.push_back({{&graph, first}, computes});
    while (!stack_.empty()) {
      const Item item = stack_.back();
      stack_.pop_back();
      const Place place = Resolve(item.place);
      const Tensor* tensor = Of(*place.graph, place.id);
      if (const auto inside = results_.find(tensor); inside != results_.end()) {
        if (visited_.insert(Identity(place)).second) {
          stack_.push_back({inside->second, item.computes});
        }
        continue;
      }
      // A weight that is expanded to the batch is known before the run without being constant.
      if (!tensor->foldable || !visited_.insert(Identity(place)).second) continue;
      const auto found = producers_.find(tensor);
      const CountedNode* producer = found == producers_.end() ? nullptr : found->second;
      if (producer == nullptr || IsGenerator(*producer)) {
        // Folded, but not from constants alone: a mask or a range as long as the input.
        if (tensor->constant) Add(*tensor, producer, item.computes);
        continue;
      }
      const bool dequantizes = producer->node->op == "DequantizeLinear";
      for (const TensorId input : producer->node->inputs) {
        if (input != kNoTensor) {
          stack_.push_back({{producer->graph, input}, item.computes || dequantizes});
        }
      }
    }
  }

  // Its output is the stored tensor; its inputs are only shapes and scalars.
  static bool IsGenerator(const CountedNode& producer) {
    const std::string& op = producer.node->op;
    return producer.node->inputs.empty() || op == "ConstantOfShape" || op == "Range" ||
           op == "EyeLike";
  }

  void Add(const Tensor& tensor, const CountedNode* producer, bool computes) {
    if (!tensor.type.shape) return;
    if (producer == nullptr && !tensor.is_initializer) return;
    const Count elements = tensor.type.shape->Elements();
    const bool scalar =
        tensor.type.shape->rank() == 0 || (producer != nullptr && elements == Count(1));
    const bool number = IsFloat(tensor.type.dtype) || IsComplex(tensor.type.dtype) ||
                        (IsInteger(tensor.type.dtype) && computes);
    if (!number || scalar) return;
    Bytes bytes = SizeOf(tensor.type.dtype, elements);
    if (floats_as_ && IsFloat(tensor.type.dtype)) {
      bytes = SizeOf(*floats_as_, elements);
    } else if (tensor.is_initializer && tensor.stored > Bytes(0)) {
      bytes = tensor.stored;
    }
    AddToTotals(elements, bytes);
  }

  void AddToTotals(Count parameters, Bytes bytes) {
    model_.parameters += parameters;
    model_.weight_bytes += bytes;
    reader_->parameters += parameters;
    reader_->weight_bytes += bytes;
  }

  InferredModel& model_;
  CountedNode* reader_ = nullptr;  // whose inputs are visited
  std::optional<DType> floats_as_;
  std::unordered_map<const Tensor*, const CountedNode*> producers_;
  std::unordered_map<const Tensor*, Place> captured_;         // inner tensor -> outer place
  std::unordered_map<const Tensor*, Place> results_;          // outer tensor -> inner place
  std::unordered_map<const Graph*, const Graph*> originals_;  // copy -> graph of the file
  std::unordered_set<const Tensor*> visited_;                 // by identity
  std::vector<Item> stack_;                                   // of Visit
  std::unordered_set<std::string> held_;  // nodes whose attributes are counted, in whatever copy
};

}  // namespace

void CountWeights(InferredModel& model, std::optional<DType> floats_as) {
  WeightCounter(model, floats_as).Run();
}

}  // namespace dlcost
