#include "estimator/training/caches.h"

#include <algorithm>

#include "models/operators/op_context.h"

namespace dlcost {
namespace {

constexpr int kAttentionOpset = 23;  // the first with Attention

bool IsGrouped(const Node& node) {
  return node.op == "GroupQueryAttention" && node.domain == "com.microsoft";
}

bool IsAttention(const Node& node) {
  return IsGrouped(node) || (node.op == "Attention" && node.domain.empty()) ||
         (node.op == "MultiHeadAttention" && node.domain == "com.microsoft");
}

void DropCaches(Graph& graph) {
  std::vector<bool> cache(graph.tensors.size(), false), read(graph.tensors.size(), false);
  for (const Node& node : graph.nodes) {
    ForEachRead(node, [&](TensorId id) { read[static_cast<std::size_t>(id)] = true; });
    if (!IsAttention(node)) continue;
    for (std::size_t i = 1; i < std::min<std::size_t>(3, node.outputs.size()); ++i) {
      if (node.outputs[i] != kNoTensor) cache[static_cast<std::size_t>(node.outputs[i])] = true;
    }
  }
  const auto dropped = [&](TensorId id) {
    return cache[static_cast<std::size_t>(id)] && !read[static_cast<std::size_t>(id)];
  };
  if (std::all_of(graph.outputs.begin(), graph.outputs.end(), dropped)) return;
  std::erase_if(graph.outputs, dropped);
  for (Node& node : graph.nodes) {
    if (!IsAttention(node)) continue;
    for (std::size_t i = 1; i < std::min<std::size_t>(3, node.outputs.size()); ++i) {
      if (node.outputs[i] != kNoTensor && dropped(node.outputs[i])) node.outputs[i] = kNoTensor;
    }
    while (!node.outputs.empty() && node.outputs.back() == kNoTensor) node.outputs.pop_back();
  }
}

// Writes what a grouped attention does before its products; turns the node into these.
class Grouped {
 public:
  Grouped(NodeWriter& writer, Node& node) : w_(writer), node_(node) {}

  // Whether there is nothing in it that ONNX's Attention has not.
  bool IsPlain() const {
    const OpContext context = Context();
    for (const std::size_t i : {9U, 11U, 12U, 13U}) {  // positions, sinks, scales of a cache
      if (Has(i)) return false;
    }
    if (!Has(0) || Shapeless(0) || Rank(0) != 3 || node_.inputs.size() > 14) return false;
    if (Has(1) != Has(2) || Has(3) != Has(4)) return false;
    if (context.Int("smooth_softmax", 0) != 0 || context.Int("qk_output", 0) != 0) return false;
    if (context.String("k_quant_type", "NONE") != "NONE") return false;
    if (context.Int("num_heads", 0) < 1 || context.Int("kv_num_heads", 0) < 1) return false;
    // A buffer that keys are written into is longer than what was written.
    return !Has(3) || (!Shapeless(3) && (!HasOutput(1) || w_.ShapeOf(node_.outputs[1])[2] ==
                                                              Past() + w_.ShapeOf(X(0))[1]));
  }

  void TakeApart() {
    const OpContext context = Context();
    const std::int64_t heads = context.Int("num_heads", 0);
    const std::int64_t kv_heads = context.Int("kv_num_heads", 0);
    w_.Place(node_.name, node_.scope, Phase::kForward);
    TensorId q = X(0), k = X(1), v = X(2);
    const std::int64_t packed = k == kNoTensor ? heads + 2 * kv_heads : heads;
    const std::int64_t size = w_.ShapeOf(q)[2] / packed;
    if (k == kNoTensor) {
      const std::vector<TensorId> parts =
          w_.Nodes("Split", "", {q, w_.Ints({heads * size, kv_heads * size, kv_heads * size})},
                   {IntAttribute("axis", 2)}, 3);
      q = parts[0], k = parts[1], v = parts[2];
    }
    if (context.Int("do_rotary", 0) != 0 && Has(7) && Has(8)) {
      q = Rotated(q, heads, size);
      k = Rotated(k, kv_heads, size);
    }
    w_.Take();
    std::vector<Attribute> attributes = {
        IntAttribute("q_num_heads", heads), IntAttribute("kv_num_heads", kv_heads),
        IntAttribute("is_causal", context.Int("causal", 1) != 0 ? 1 : 0)};
    for (const char* name : {"scale", "softcap"}) {
      const double value = context.Float(name, 0);
      if (value != 0) attributes.push_back(RealAttribute(name, value));
    }
    const std::int64_t window = context.Int("local_window_size", -1);
    if (window > 0) attributes.push_back(IntAttribute("left_window_size", window - 1));
    node_.op = "Attention";
    node_.domain = "";
    node_.opset = std::max(w_.opset(), kAttentionOpset);
    node_.attributes = std::move(attributes);
    const bool past = Has(3) && Past() > 0;
    const TensorId bias = X(10), keys = past ? X(3) : kNoTensor, values = past ? X(4) : kNoTensor;
    node_.inputs = {q, k, v, bias, keys, values};
    while (node_.inputs.back() == kNoTensor) node_.inputs.pop_back();
  }

 private:
  OpContext Context() const { return {w_.graph(), node_, 1}; }
  TensorId X(std::size_t i) const { return i < node_.inputs.size() ? node_.inputs[i] : kNoTensor; }
  bool Has(std::size_t i) const { return X(i) != kNoTensor; }
  bool HasOutput(std::size_t i) const {
    return i < node_.outputs.size() && node_.outputs[i] != kNoTensor;
  }
  bool Shapeless(std::size_t i) const {
    return !w_.graph().tensors[static_cast<std::size_t>(X(i))].type.shape;
  }
  std::size_t Rank(std::size_t i) const { return w_.ShapeOf(X(i)).rank(); }
  std::int64_t Past() const { return Has(3) ? w_.ShapeOf(X(3))[2] : 0; }

  TensorId Rotated(TensorId x, std::int64_t heads, std::int64_t size) {
    const std::int64_t rotated = 2 * w_.ShapeOf(X(7)).At(-1);
    std::vector<Attribute> attributes = {
        IntAttribute("interleaved", Context().Int("rotary_interleaved", 0)),
        IntAttribute("num_heads", heads)};
    if (rotated != size) attributes.push_back(IntAttribute("rotary_embedding_dim", rotated));
    return w_.Contrib("RotaryEmbedding", {x, w_.Ints({Past()}), X(7), X(8)}, attributes);
  }

  NodeWriter& w_;
  Node& node_;
};

}  // namespace

void LeaveCaches(NodeWriter& writer) {
  Graph& graph = writer.graph();
  DropCaches(graph);
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), IsGrouped)) return;
  std::vector<Node> nodes = std::move(graph.nodes);
  graph.nodes.clear();
  for (Node& node : nodes) {
    if (IsGrouped(node)) {
      Grouped grouped(writer, node);
      if (grouped.IsPlain()) grouped.TakeApart();
    }
    graph.nodes.push_back(std::move(node));
  }
}

}  // namespace dlcost
