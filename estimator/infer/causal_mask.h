#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "estimator/graph/graph.h"

namespace dlcost {

// A value on the way to a mask: its tensor, and the node that makes it with what that reads; null
// for a value that no node makes.
template <typename Id>
struct MaskSource {
  const Tensor* tensor;
  const Node* node = nullptr;
  std::vector<Id> inputs = {};  // without those left out
};

// Numbers in a mask stand for minus infinity from here on down.
inline constexpr double kHidden = -1000;

// Whether what is added to scores differs from head to head.
inline bool DiffersByHead(const Shape& added) { return added.rank() >= 3 && added.At(-3) > 1; }

// Whether operands of a product that are each multiplied by `factor` are a call of
// scaled_dot_product_attention, whose scale exporters write so, on both sides (PyTorch,
// torch/onnx/symbolic_opset14.py; onnxscript, torch_lib/ops/nn.py). With a bias for each head a
// factor of 1 is T5's, whose own code multiplies and adds (bench/published/h200); BEiT's scaled
// call with one is fused (bench/published/h100).
inline bool IsScaleOfCall(double factor, bool biased) { return !biased || factor != 1; }

// Axes of the operands of a call that PyTorch has fused kernels for; with others it multiplies,
// normalizes and multiplies (aten/src/ATen/native/transformers/sdp_utils_cpp.h:
// check_tensor_shapes).
inline constexpr std::size_t kFusedCallAxes = 4;

// Whether scores of so many axes are made by a call that has a fused kernel. `factor` is what both
// operands are multiplied by; none where they are multiplied by nothing or by different numbers.
inline bool IsFusedCall(const std::optional<double>& factor, bool biased, std::size_t axes) {
  return factor && IsScaleOfCall(*factor, biased) && axes == kFusedCallAxes;
}

// Whether a mask hides what follows each position: it is made of a triangle, of positions compared
// with positions, or of a stored square of truth values (as GPT-2's exports slice it). `look` gives
// the source of a value.
template <typename Id, typename Look>
bool IsCausalMask(Id mask, Look look) {
  constexpr std::size_t kMostNodes = 64;
  constexpr std::array<std::string_view, 4> kComparisons = {"Less", "LessOrEqual", "Greater",
                                                            "GreaterOrEqual"};
  const auto elements = [](const Tensor& tensor) {
    return tensor.type.shape ? tensor.type.shape->Elements() : Count(0);
  };
  std::vector<Id> open = {mask};
  std::unordered_set<Id> seen = {mask};
  for (std::size_t i = 0; i < open.size() && open.size() < kMostNodes; ++i) {
    const MaskSource<Id> source = look(open[i]);
    const Tensor& tensor = *source.tensor;
    if (source.node == nullptr || source.inputs.empty()) {
      const bool logical = tensor.type.dtype == DType::kBool || tensor.type.dtype == DType::kUint8;
      if (!logical || !tensor.type.shape || !tensor.constant) continue;
      const Shape& shape = *tensor.type.shape;
      const std::size_t rank = shape.rank();
      if (rank >= 2 && shape[rank - 1] > 1 && shape[rank - 1] == shape[rank - 2] &&
          shape.Elements() == Count(shape[rank - 1]) * shape[rank - 1]) {
        return true;
      }
      continue;
    }
    if (source.node->op == "Trilu") return true;
    const bool compares =
        source.node->domain.empty() &&
        std::find(kComparisons.begin(), kComparisons.end(), source.node->op) != kComparisons.end();
    // Positions against positions; a comparison with one number is something else.
    if (compares && std::all_of(source.inputs.begin(), source.inputs.end(), [&](const Id& input) {
          return elements(*look(input).tensor) > Count(1);
        })) {
      return true;
    }
    for (const Id& input : source.inputs) {
      if (seen.insert(input).second) open.push_back(input);
    }
  }
  return false;
}

}  // namespace dlcost
