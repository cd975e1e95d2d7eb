#include "estimator/parallel/context_operands.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "estimator/core/error.h"
#include "estimator/training/find_attention.h"
#include "estimator/training/uses.h"

namespace dlcost {
namespace {

std::size_t RankOf(const Graph& graph, const Node& node, std::size_t input) {
  if (input >= node.inputs.size() || node.inputs[input] == kNoTensor) return 0;
  const auto& shape = graph.tensors[static_cast<std::size_t>(node.inputs[input])].type.shape;
  return shape ? shape->rank() : 0;
}

// Attention in one node, with keys and values of their own and no cache.
std::optional<AttentionOperands> InOneNode(const Graph& graph, std::size_t n) {
  const Node& node = graph.nodes[n];
  const bool standard = node.op == "Attention" && node.domain.empty();
  const bool contrib = node.domain == "com.microsoft" &&
                       (node.op == "MultiHeadAttention" || node.op == "GroupQueryAttention");
  if (!standard && !contrib) return std::nullopt;
  AttentionOperands found;
  for (const std::size_t input : {0U, 1U, 2U}) {
    const std::size_t rank = RankOf(graph, node, input);
    if (rank != 3 && rank != 4) return std::nullopt;
    const SequenceOperand operand = {n, input, rank - 2};
    input == 0 ? void(found.queries = operand) : found.gathered.push_back(operand);
  }
  // [batch, length, heads * width] of rank 3, [batch, heads, length, width] of rank 4.
  return found;
}

// Of the products that make scores and that read them.
std::optional<AttentionOperands> OfProducts(const Graph& graph, std::size_t scores,
                                            std::size_t values) {
  const std::size_t q = RankOf(graph, graph.nodes[scores], 0);
  const std::size_t k = RankOf(graph, graph.nodes[scores], 1);
  const std::size_t v = RankOf(graph, graph.nodes[values], 1);
  if (q < 2 || k < 2 || v < 2) return std::nullopt;
  return AttentionOperands{{scores, 0, q - 2}, {{scores, 1, k - 1}, {values, 1, v - 2}}};
}

// The two products of attention in several nodes.
std::optional<AttentionOperands> InSeveral(const Graph& graph, const FoundAttention& match) {
  std::vector<std::size_t> products;
  for (const std::size_t n : match.nodes) {
    if (graph.nodes[n].op == "MatMul") products.push_back(n);
  }
  if (products.size() != 2) return std::nullopt;
  return OfProducts(graph, products[0], products[1]);
}

// The two products around a softmax whose scores have more beside them than keys: sinks, which are
// put behind the scores and dropped behind the softmax (openai/gpt-oss).
class SinkFinder : Uses {
 public:
  explicit SinkFinder(Graph& graph) : Uses(graph), graph_(graph) {}

  std::optional<AttentionOperands> At(std::size_t softmax) const {
    int looks = kMostLooks;
    const std::size_t first = ScoresOf(In(softmax, 0), looks);
    if (first == kNone) return std::nullopt;
    TensorId value = node(softmax).outputs[0];
    for (int step = 0; step < kMostSteps; ++step) {
      const std::size_t n = OnlyReader(value);
      if (n == kNone) return std::nullopt;
      if (Is(n, "MatMul")) {
        if (In(n, 0) != value || !IsProductOfActivations(n)) return std::nullopt;
        return OfProducts(graph_, first, n);
      }
      if (!Is(n, "Slice") && !Is(n, "Cast") && !Is(n, "Dropout")) return std::nullopt;
      value = node(n).outputs[0];
    }
    return std::nullopt;
  }

 private:
  static constexpr int kMostLooks = 64, kMostSteps = 8;

  bool IsProductOfActivations(std::size_t n) const {
    return Is(n, "MatMul") && !tensor(In(n, 0)).constant && !tensor(In(n, 1)).constant;
  }

  // The product that makes a value, by way of what works on every score alone.
  std::size_t ScoresOf(TensorId value, int& looks) const {
    const std::size_t n = value == kNoTensor || looks-- <= 0 ? kNone : Maker(value);
    if (n == kNone) return kNone;
    if (Is(n, "MatMul")) return IsProductOfActivations(n) ? n : kNone;
    const bool passes = Is(n, "Concat") || Is(n, "Sub") || Is(n, "Add") || Is(n, "Mul") ||
                        Is(n, "Div") || Is(n, "Cast") || Is(n, "Where");
    for (std::size_t i = 0; passes && i < node(n).inputs.size(); ++i) {
      const std::size_t found = ScoresOf(In(n, i), looks);
      if (found != kNone) return found;
    }
    return kNone;
  }

  const Graph& graph_;
};

}  // namespace

std::vector<AttentionOperands> FindAttentionOperands(Graph& graph) {
  std::vector<AttentionOperands> all;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (auto found = InOneNode(graph, n)) all.push_back(std::move(*found));
  }
  const AttentionFusion any = {.fuses = [](DType, bool) { return true; }, .joins = true};
  std::set<std::size_t> known;
  for (const FoundAttention& match : FindAttention(graph, {}, any)) {
    known.insert(match.nodes.begin(), match.nodes.end());
    if (!match.spelled) continue;
    if (auto found = InSeveral(graph, match)) all.push_back(std::move(*found));
  }
  const SinkFinder sinks(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].op != "Softmax" || known.count(n) > 0) continue;
    if (auto found = sinks.At(n)) all.push_back(std::move(*found));
  }
  return all;
}

// Attention that is there and not split, by name.
std::string WhyNoAttention(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.domain != "com.microsoft") continue;
    const std::string name = Printable(node.name);
    if (node.op == "PackedAttention" || node.op == "PackedMultiHeadAttention") {
      return fmt::format("{} has several sequences in a row, without padding: they are not split",
                         name);
    }
    if (node.op == "Attention") {
      return fmt::format(
          "{} makes queries, keys and values itself (com.microsoft Attention): what is split is "
          "MultiHeadAttention, GroupQueryAttention and ai.onnx Attention",
          name);
    }
  }
  return "no attention over a sequence was found in this model";
}

}  // namespace dlcost
