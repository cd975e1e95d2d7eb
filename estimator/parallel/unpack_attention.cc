#include "estimator/parallel/unpack_attention.h"

#include <algorithm>

#include "models/gradients/writer.h"
#include "models/operators/op_context.h"

namespace dlcost {
namespace {

constexpr int kSplitOpset = 13;  // of Split with sizes as an input

class Unpacker {
 public:
  explicit Unpacker(RankGraph& rank) : rank_(rank), writer_(rank.model.graph, OpsetOf(rank)) {}

  void Run() {
    Graph& graph = rank_.model.graph;
    std::vector<Node> before = std::move(graph.nodes);
    graph.nodes.clear();
    std::vector<Macs> macs;
    for (std::size_t n = 0; n < before.size(); ++n) {
      Node& node = before[n];
      writer_.Place(node.name, node.scope, node.phase);
      if (node.domain == "com.microsoft" && node.op == "GroupQueryAttention") TakeRowsApart(node);
      if (node.domain == "com.microsoft" && node.op == "MultiHeadAttention") TakeHeadsApart(node);
      writer_.Take();
      macs.resize(graph.nodes.size(), Macs(0));
      graph.nodes.push_back(std::move(node));
      macs.push_back(rank_.macs[n]);
    }
    rank_.macs = std::move(macs);
  }

 private:
  static int OpsetOf(const RankGraph& rank) {
    const auto opset = rank.model.opset.find("");
    return std::max(kSplitOpset, opset == rank.model.opset.end() ? 0 : opset->second);
  }

  static bool Has(const Node& node, std::size_t input) {
    return input < node.inputs.size() && node.inputs[input] != kNoTensor;
  }
  // Nothing where it is not known.
  Shape ShapeOf(const Node& node, std::size_t input) const {
    if (!Has(node, input)) return {};
    const auto& shape =
        rank_.model.graph.tensors[static_cast<std::size_t>(node.inputs[input])].type.shape;
    return shape ? *shape : Shape();
  }

  void TakeRowsApart(Node& node) {
    const Shape packed = ShapeOf(node, 0);
    if (packed.rank() != 3 || Has(node, 1) || Has(node, 2)) return;
    const OpContext context(rank_.model.graph, node, 1);
    const std::int64_t heads = context.Int("num_heads", 0), shared = context.Int("kv_num_heads", 0);
    if (heads < 1 || shared < 1 || packed[2] % (heads + 2 * shared) != 0) return;
    const std::int64_t width = packed[2] / (heads + 2 * shared);
    node.inputs.resize(std::max<std::size_t>(node.inputs.size(), 3), kNoTensor);
    const std::vector<TensorId> parts = writer_.Nodes(
        "Split", "",
        {node.inputs[0], writer_.Ints({heads * width, shared * width, shared * width})},
        {IntAttribute("axis", -1)}, 3);
    std::copy(parts.begin(), parts.end(), node.inputs.begin());
  }

  // [batch, length, heads, ways, width] into as many [batch, length, heads * width].
  void TakeHeadsApart(Node& node) {
    const std::size_t first = ShapeOf(node, 0).rank() == 5 ? 0 : 1;
    const Shape packed = ShapeOf(node, first);
    const auto ways = static_cast<std::int64_t>(3 - first);
    if (packed.rank() != 5 || packed[3] != ways || Has(node, 2) || (first == 0 && Has(node, 1))) {
      return;
    }
    node.inputs.resize(std::max<std::size_t>(node.inputs.size(), 3), kNoTensor);
    const std::vector<TensorId> parts = writer_.Nodes(
        "Split", "", {node.inputs[first], writer_.Ints(std::vector<std::int64_t>(3 - first, 1))},
        {IntAttribute("axis", 3)}, 3 - first);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      node.inputs[first + i] =
          writer_.Reshape(parts[i], {packed[0], packed[1], packed[2] * packed[4]});
    }
  }

  RankGraph& rank_;
  NodeWriter writer_;
};

}  // namespace

void UnpackAttention(RankGraph& rank) { Unpacker(rank).Run(); }

}  // namespace dlcost
