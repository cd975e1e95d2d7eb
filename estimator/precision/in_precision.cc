#include <fmt/format.h>

#include <optional>

#include "estimator/infer/edit.h"
#include "estimator/infer/parameters.h"
#include "estimator/precision/precision.h"

namespace dlcost {
namespace {

constexpr int kLeastOpset = 13;  // what casts are written in

// The type of 16 bits that a file stores, where it stores one and not the other.
std::optional<DType> StoredHalf(const Graph& graph) {
  std::optional<DType> half;
  for (const Tensor& tensor : graph.tensors) {
    const DType type = tensor.type.dtype;
    if (!tensor.constant || (type != DType::kFloat16 && type != DType::kBfloat16)) continue;
    if (half && *half != type) return std::nullopt;
    half = type;
  }
  return half;
}

// Products that stay in float32 whatever was asked: in bodies of control flow, behind operators
// that make float32 alone.
void NoteLeftWide(std::string_view precision, InferredModel& model) {
  Count all, wide;
  const CountedNode* first = nullptr;
  for (const CountedNode& node : model.nodes) {
    all += node.cost.work.macs().count();
    const Count left = node.cost.work.Of(OpClass::kMac, DType::kFloat32);
    if (left == Count(0)) continue;
    if (first == nullptr) first = &node;
    wide += left;
  }
  if (first == nullptr) return;
  model.notes.push_back(
      fmt::format("{:.3g} % of the multiply-accumulates stay in float32 under --precision {}: {} "
                  "({}) is the first",
                  100 * wide.AsDouble() / all.AsDouble(), precision, first->name, first->node->op));
}

}  // namespace

InferredModel InPrecision(const InferredModel& model, const Precision& asked,
                          const InferOptions& options) {
  Model edited = EditableCopy(model);
  Precision precision = asked;
  // Servers quantize a model in the type that it comes in.
  if (precision.quantization.weight != DType::kUndefined)
    precision.half = StoredHalf(edited.graph).value_or(precision.half);
  const auto opset = edited.opset.find("");
  NodeWriter writer(
      edited.graph,
      std::max(kLeastOpset, opset == edited.opset.end() ? kLeastOpset : opset->second));
  // Autocast copies weights anew in each pass: its cache ends with the region that it is for
  // (PyTorch, torch/amp/autocast_mode.py, __exit__).
  std::vector<TensorId> copied;
  const bool serves = precision.ForServing();
  if (serves) StoreGenerated(edited.graph);
  // All that is stored is to have another type, also what nodes hold.
  if (precision.whole || precision.products) StoreConstants(edited.graph);
  if (!precision.whole && !precision.products && precision.half != DType::kUndefined) {
    copied = TakeParameters(edited.graph, {});
  }
  ApplyPrecision(writer, precision, copied);
  if (precision.blocks != nullptr) {
    PackInBlocks(writer, *precision.blocks, TakeParameters(edited.graph, {}));
  } else if (serves) {
    Quantize(writer, precision.quantization, TakeParameters(edited.graph, {}));
  }
  InferredModel result = InferEdited(std::move(edited), model, options);
  NoteLeftWide(precision.name, result);
  return result;
}

}  // namespace dlcost
