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
        if (id != kNoTensor) producers_[Of(*counted.graph, id)] = &counted;
      }
    }
  }

  void Run() {
    for (const CountedNode& counted : model_.nodes) {
      if (counted.status == NodeStatus::kMetadata) continue;
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

  // Iterative: chains of folded nodes may be long.
  void Visit(const Graph& graph, TensorId first, bool computes) {
    struct Item {
      const Graph* graph;
      TensorId id;
      bool computes;
    };
    std::vector<Item> stack = {{&graph, first, computes}};
    while (!stack.empty()) {
      const Item item = stack.back();
      stack.pop_back();
      const Tensor* tensor = Of(*item.graph, item.id);
      // A weight that is expanded to the batch is known before the run without being constant.
      if (!tensor->foldable || !visited_.insert(tensor).second) continue;
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
          stack.push_back({producer->graph, input, item.computes || dequantizes});
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
    model_.parameters += elements;
    if (floats_as_ && IsFloat(tensor.type.dtype)) {
      model_.weight_bytes += SizeOf(*floats_as_, elements);
      return;
    }
    model_.weight_bytes += tensor.is_initializer && tensor.stored > Bytes(0)
                               ? tensor.stored
                               : SizeOf(tensor.type.dtype, elements);
  }

  InferredModel& model_;
  std::optional<DType> floats_as_;
  std::unordered_map<const Tensor*, const CountedNode*> producers_;
  std::unordered_set<const Tensor*> visited_;
};

}  // namespace

void CountWeights(InferredModel& model, std::optional<DType> floats_as) {
  WeightCounter(model, floats_as).Run();
}

}  // namespace dlcost
