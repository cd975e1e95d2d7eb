#include "estimator/precision/quantize.h"

#include <algorithm>
#include <map>
#include <utility>

#include "estimator/infer/edit.h"
#include "estimator/precision/stored_matrices.h"

namespace dlcost {
namespace {

bool IsExperts(const Node& node) { return node.domain == "com.microsoft" && node.op == "MoE"; }

// Where a node has stored matrices.
std::vector<std::size_t> MatrixInputs(const Node& node) {
  if (IsMatrixProduct(node)) return {1};
  if (IsExperts(node)) return {2, 4, 6};
  return {};
}

// Whether k is the last axis of its stored matrices.
bool TransposesItself(const Node& node) { return IsExperts(node) || TransposesSecond(node); }

// Where it has keys and values of earlier tokens.
std::vector<std::size_t> CacheInputs(const Node& node) {
  if (node.domain.empty() && node.op == "Attention") return {4, 5};
  if (node.domain == "com.microsoft" && node.op == "GroupQueryAttention") return {3, 4};
  return {};
}

class Quantizer {
 public:
  Quantizer(NodeWriter& writer, const Quantization& quantization,
            const std::vector<TensorId>& stored)
      : w_(writer),
        quantization_(quantization),
        matrices_(w_.graph(), stored, w_.graph().nodes),
        leads_(w_.graph().tensors.size(), false),
        kept_(leads_.size(), false) {}

  void Run() {
    std::vector<Node> nodes = std::move(w_.graph().nodes);
    w_.graph().nodes.clear();
    std::for_each(nodes.rbegin(), nodes.rend(), [&](const Node& node) { Trace(node); });
    for (const Node& node : nodes) Keep(node);
    for (Node& node : nodes) {
      NarrowCaches(node);
      const bool narrows = Narrows(node);
      if (narrows && IsExperts(node)) {
        NarrowExperts(node);
      } else {
        if (narrows) NarrowProduct(node);
        w_.Take();
        w_.graph().nodes.push_back(std::move(node));
      }
    }
  }

 private:
  Tensor& At(TensorId id) { return w_.graph().tensors[static_cast<std::size_t>(id)]; }

  bool Leads(const Node& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) {
      return id != kNoTensor && leads_[static_cast<std::size_t>(id)];
    });
  }

  // Which tensors lead to a product with stored matrices. What chooses experts does not.
  void Trace(const Node& node) {
    const bool product = !StoredOf(node).empty();
    if (!product && !Leads(node)) return;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      if (id != kNoTensor && (!IsExperts(node) || i == 0))
        leads_[static_cast<std::size_t>(id)] = true;
    }
  }

  // Its stored matrices, of parts what they are joined to.
  std::vector<TensorId> StoredOf(const Node& node) {
    std::vector<TensorId> matrices;
    for (const std::size_t i : MatrixInputs(node)) {
      if (i >= node.inputs.size()) continue;
      if (const TensorId id = matrices_.Of(node.inputs[i]); id != kNoTensor) matrices.push_back(id);
    }
    return matrices;
  }

  // Matrices that something else reads too stay as they are: embeddings that are logits as well.
  void Keep(const Node& node) {
    if (Rearranges(node) || matrices_.Joins(node)) return;
    const std::vector<TensorId> matrices = StoredOf(node);
    if (!matrices.empty() && (Leads(node) || IsExperts(node))) return;
    for (const TensorId id : matrices) kept_[static_cast<std::size_t>(id)] = true;
    ForEachRead(node, [&](TensorId id) { kept_[static_cast<std::size_t>(id)] = true; });
  }

  bool Narrows(const Node& node) {
    const std::vector<TensorId> matrices = StoredOf(node);
    if (matrices.empty() || node.inputs[0] == kNoTensor) return false;
    const TensorType& operand = At(node.inputs[0]).type;
    if (!operand.shape || !IsFloat(operand.dtype) || Bits(operand.dtype) < 16) return false;
    const bool asked =
        IsExperts(node) ? AreExperts(node, matrices) : Leads(node) && !quantization_.experts_only;
    return asked && std::none_of(matrices.begin(), matrices.end(),
                                 [&](TensorId id) { return kept_[static_cast<std::size_t>(id)]; });
  }

  // Whether all matrices of a layer of experts are stored as QMoE has them.
  bool AreExperts(const Node& node, const std::vector<TensorId>& matrices) {
    std::size_t layers = 0;
    for (const std::size_t i : MatrixInputs(node)) {
      layers += i < node.inputs.size() && node.inputs[i] != kNoTensor;
    }
    return node.outputs.size() == 1 && layers == matrices.size() &&
           std::all_of(matrices.begin(), matrices.end(), [&](TensorId id) {
             return At(id).type.shape->rank() == 3 &&
                    std::find(node.inputs.begin(), node.inputs.end(), id) != node.inputs.end();
           });
  }

  void NarrowProduct(Node& node) {
    w_.Place(node.name, node.scope, Phase::kForward);
    node.inputs[1] = Widened(node, node.inputs[1], w_.TypeOf(node.inputs[0]));
    if (quantization_.operand != DType::kUndefined) node.inputs[0] = Requantized(node.inputs[0]);
  }

  // The stored matrix, narrowed, as the product reads it: in the type of its operand.
  TensorId Widened(const Node& reader, TensorId input, DType type) {
    const auto known = widened_.find(input);
    if (known != widened_.end()) return known->second;
    const TensorId matrix = matrices_.Of(input);
    const std::vector<const Node*> path = matrices_.Path(input);
    const std::size_t k = matrices_.SummedAxis(input, TransposesItself(reader));
    TensorId scale = Narrowed(matrix, k, type);
    std::vector<Attribute> attributes;
    if (quantization_.block > 0) {
      attributes = {IntAttribute("axis", static_cast<std::int64_t>(k)),
                    IntAttribute("block_size", quantization_.block)};
    }
    // Scales that are themselves narrow have one factor for all.
    if (quantization_.scale != DType::kUndefined) scale = Wide(scale, type);
    TensorId wide = w_.Node1("DequantizeLinear", {matrix, scale}, std::move(attributes));
    for (auto node = path.rbegin(); node != path.rend(); ++node) {
      if ((*node)->op == "Transpose") wide = w_.Node1((*node)->op, {wide}, (*node)->attributes);
    }
    return widened_[input] = wide;
  }

  // Makes a stored matrix narrow, with what it is joined of; the scales of its blocks along axis k,
  // or of all of it.
  TensorId Narrowed(TensorId matrix, std::size_t k, DType type) {
    const auto known = scales_.find({matrix, k});
    if (known != scales_.end()) return known->second;
    std::vector<std::int64_t> dims;
    if (quantization_.block > 0) {
      dims = At(matrix).type.shape->dims();
      dims[k] = CeilDiv(Count(dims[k]), Count(quantization_.block)).value();
    }
    BecomeType(At(matrix), quantization_.weight);
    for (const TensorId part : matrices_.Parts(matrix)) BecomeType(At(part), quantization_.weight);
    const DType scale = quantization_.scale == DType::kUndefined ? type : quantization_.scale;
    return scales_[{matrix, k}] = w_.Stored(At(matrix).name + "/scale", scale, Shape(dims));
  }

  TensorId Wide(TensorId id, DType type) {
    return w_.Node1("DequantizeLinear", {id, w_.Scalar(1, type)}, {});
  }

  // As QMoE, whose products are those of the type of its input.
  void NarrowExperts(Node& node) {
    w_.Place(node.name, node.scope, Phase::kForward);
    const std::vector<TensorId> plain = std::exchange(node.inputs, {});
    const DType type = w_.TypeOf(plain[0]);
    node.op = "QMoE";
    node.inputs = {plain[0], plain[1]};
    for (std::size_t layer = 2; layer < plain.size(); layer += 2) {
      const bool present = plain[layer] != kNoTensor;
      node.inputs.push_back(plain[layer]);
      node.inputs.push_back(present ? Narrowed(plain[layer], 2, type) : kNoTensor);
      node.inputs.push_back(layer + 1 < plain.size() ? plain[layer + 1] : kNoTensor);
    }
    const bool requantizes = quantization_.operand != DType::kUndefined;
    const TensorId result = node.outputs[0];
    if (requantizes) {
      node.inputs[0] = Narrow(node.inputs[0]);
      node.outputs[0] = w_.OfType(node.name + "/narrow",
                                  {.dtype = quantization_.operand, .shape = At(result).type.shape});
    }
    w_.Take();
    w_.graph().nodes.push_back(node);
    if (!requantizes) return;
    Wide(node.outputs[0], type);
    w_.Take();
    w_.graph().nodes.back().outputs[0] = result;
  }

  TensorId Narrow(TensorId id) {
    const auto known = narrow_.find(id);
    if (known != narrow_.end()) return known->second;
    const TensorId scale = w_.Scalar(1, w_.TypeOf(id)), zero = w_.Scalar(0, quantization_.operand);
    return narrow_[id] = w_.Node1("QuantizeLinear", {id, scale, zero}, {});
  }

  // A value on its way into products, once for all that read it.
  TensorId Requantized(TensorId id) {
    const auto known = requantized_.find(id);
    if (known != requantized_.end()) return known->second;
    return requantized_[id] = Wide(Narrow(id), w_.TypeOf(id));
  }

  void NarrowCaches(const Node& node) {
    if (quantization_.cache == DType::kUndefined) return;
    for (const std::size_t i : CacheInputs(node)) {
      if (i >= node.inputs.size() || node.inputs[i] == kNoTensor) continue;
      Tensor& cache = At(node.inputs[i]);
      if (cache.role == Role::kInput) BecomeType(cache, quantization_.cache);
    }
  }

  NodeWriter& w_;
  const Quantization& quantization_;
  StoredMatrices matrices_;
  std::vector<bool> leads_, kept_;  // per tensor of the file
  std::map<TensorId, TensorId> widened_, narrow_, requantized_;
  std::map<std::pair<TensorId, std::size_t>, TensorId> scales_;
};

}  // namespace

void Quantize(NodeWriter& writer, const Quantization& quantization,
              const std::vector<TensorId>& stored) {
  Quantizer(writer, quantization, stored).Run();
}

}  // namespace dlcost
