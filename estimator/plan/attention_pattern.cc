#include "estimator/plan/attention_pattern.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "estimator/infer/causal_mask.h"

namespace dlcost {

namespace {

// Between the first product and the softmax: scale, mask, cap, guards against overflow.
constexpr std::array<std::string_view, 12> kScoreOperators = {
    "Add", "Sub", "Mul",  "Div",  "Where",          "Cast",
    "Max", "Min", "Tanh", "Clip", "QuantizeLinear", "DequantizeLinear"};
// Between the softmax and the second product: guards against rows without keys.
constexpr std::array<std::string_view, 6> kProbabilityOperators = {
    "Cast", "Where", "IsNaN", "Dropout", "QuantizeLinear", "DequantizeLinear"};
// Between what projections write and what the products read: strided reads for a kernel.
constexpr std::array<std::string_view, 11> kOperandOperators = {
    "Transpose", "Split", "Slice", "Gather",         "Expand",          "Concat",
    "Cast",      "Mul",   "Div",   "QuantizeLinear", "DequantizeLinear"};
constexpr int kMostScoreNodes = 16;

template <std::size_t N>
bool IsOneOf(const std::array<std::string_view, N>& names, const CountedNode& counted) {
  return counted.node->domain.empty() &&
         std::find(names.begin(), names.end(), counted.node->op) != names.end();
}

const GemmNest* ProductOf(const CountedNode& counted) {
  if (counted.status != NodeStatus::kCounted) return nullptr;
  return std::get_if<GemmNest>(&counted.cost.nest);
}

Count Elements(const Tensor& tensor) {
  return tensor.type.shape ? tensor.type.shape->Elements() : Count(0);
}

// The node of that name that makes a value.
std::optional<std::size_t> MakerOf(const ValueGraph& values, ValueId value, std::string_view op) {
  const auto producer = value == kNoValue ? ValueGraph::kNoNode : values.Producer(value);
  if (producer == ValueGraph::kNoNode) return std::nullopt;
  const auto n = static_cast<std::size_t>(producer);
  const Node& node = *values.node(n).node;
  return node.op == op && node.domain.empty() ? std::optional(n) : std::nullopt;
}

// The stored number that an operand is multiplied by, before autocast narrows it too; kNoValue
// where it is not.
ValueId FactorOf(const ValueGraph& values, ValueId operand) {
  if (const auto cast = MakerOf(values, operand, "Cast")) operand = values.Input(*cast, 0);
  const auto scaled = MakerOf(values, operand, "Mul");
  if (!scaled) return kNoValue;
  for (const ValueId factor : values.Inputs(*scaled)) {
    if (factor == kNoValue || !values.IsConstant(factor)) continue;
    if (Elements(values.tensor(factor)) == Count(1)) return factor;
  }
  return kNoValue;
}

}  // namespace

std::optional<double> CommonFactor(const ValueGraph& values, std::size_t product) {
  const ValueId q = FactorOf(values, values.Input(product, 0));
  const ValueId k = FactorOf(values, values.Input(product, 1));
  if (q == kNoValue || k == kNoValue) return std::nullopt;
  const ValuePtr &a = values.tensor(q).value, &b = values.tensor(k).value;
  if (a == nullptr || b == nullptr || a->is_integer() || b->is_integer()) return std::nan("");
  if (a->reals() != b->reals()) return std::nullopt;
  return a->reals().size() == 1 ? a->reals().front() : std::nan("");
}

bool CallsAttention(const ValueGraph& values) {
  for (std::size_t n = 0; n < values.model().nodes.size(); ++n) {
    if (ProductOf(values.node(n)) != nullptr && CommonFactor(values, n)) return true;
  }
  return false;
}

struct AttentionFinder::Search {
  std::vector<std::size_t> nodes;
  std::size_t probabilities = 0;       // the node that ends the softmax
  std::size_t scores = 0, values = 0;  // the two products
  std::size_t last = 0;                // the node that writes the result
  std::vector<ValueId> masks;
  std::vector<std::size_t> cache_updates;
  std::vector<std::size_t> exported;  // keys and values that the model also returns
  Count heads_per_kv = 1;

  void Add(std::size_t n) {
    if (!ContainsNode(nodes, n)) nodes.push_back(n);
  }
};

// Follows the probabilities to the one product that reads them.
bool AttentionFinder::FindProbabilitiesReader(Search& search) const {
  std::vector<std::size_t> guards = {search.probabilities};
  for (int step = 0; step < kMostScoreNodes; ++step) {
    std::vector<std::size_t> outside;
    for (const std::size_t n : guards) {
      const ValueId value = values_.Output(n, 0);
      if (value == kNoValue || values_.Escapes(value)) return false;
      for (const auto reader : values_.Readers(value)) {
        const auto r = static_cast<std::size_t>(reader);
        if (!ContainsNode(guards, r) && !ContainsNode(outside, r)) outside.push_back(r);
      }
    }
    if (outside.size() == 1 && ProductOf(values_.node(outside[0])) != nullptr) {
      search.values = search.last = outside[0];
      for (const std::size_t n : guards) search.Add(n);
      const ValueId left = values_.Input(search.values, 0);
      const auto maker = values_.Producer(left);
      search.Add(search.values);
      return maker != ValueGraph::kNoNode && ContainsNode(guards, static_cast<std::size_t>(maker));
    }
    for (const std::size_t n : outside) {
      if (!IsOneOf(kProbabilityOperators, values_.node(n))) return false;
      guards.push_back(n);
    }
    if (outside.empty()) return false;
  }
  return false;
}

// Follows the input of the softmax back to the product that makes the scores. Other operands of the
// nodes on the way are masks and biases.
bool AttentionFinder::FindScores(ValueId value, int depth, Search& search) const {
  if (value == kNoValue || depth > kMostScoreNodes) return false;
  const auto producer = values_.Producer(value);
  if (producer == ValueGraph::kNoNode) return false;
  const auto n = static_cast<std::size_t>(producer);
  if (!values_.Runs(n)) return false;
  const CountedNode& counted = values_.node(n);
  if (ProductOf(counted) != nullptr) {
    search.scores = n;
    search.Add(n);
    return true;
  }
  if (!IsOneOf(kScoreOperators, counted)) return false;
  for (std::size_t i = 0; i < values_.NumInputs(n); ++i) {
    const ValueId input = values_.Input(n, i);
    if (input == kNoValue || values_.IsConstant(input)) continue;
    if (!FindScores(input, depth + 1, search)) continue;
    search.Add(n);
    for (std::size_t other = 0; other < values_.NumInputs(n); ++other) {
      if (other != i && values_.Input(n, other) != kNoValue) {
        search.masks.push_back(values_.Input(n, other));
      }
    }
    return true;
  }
  return false;
}

// Takes the node that makes an operand into the kernel when nobody else needs what it makes.
bool AttentionFinder::AbsorbOperand(ValueId value, Search& search) const {
  const auto producer = value == kNoValue ? ValueGraph::kNoNode : values_.Producer(value);
  if (producer == ValueGraph::kNoNode) return false;
  const auto n = static_cast<std::size_t>(producer);
  const CountedNode& counted = values_.node(n);
  if (ContainsNode(search.nodes, n) || counted.status != NodeStatus::kCounted ||
      !IsOneOf(kOperandOperators, counted)) {
    return false;
  }
  const std::string& op = counted.node->op;
  if (op == "Mul" || op == "Div") {  // a scale, not a rotation or a gate
    const ValueId factor = values_.Input(n, 1);
    if (factor == kNoValue || !values_.IsConstant(factor) ||
        Elements(values_.tensor(factor)) != Count(1)) {
      return false;
    }
  }
  bool update = false;
  for (std::size_t o = 0; o < values_.NumOutputs(n); ++o) {
    const ValueId output = values_.Output(n, o);
    if (output == kNoValue) continue;
    if (values_.Escapes(output)) {
      if (op != "Concat" && op != "Transpose") return false;
      update = true;
    }
    for (const auto reader : values_.Readers(output)) {
      if (!ContainsNode(search.nodes, static_cast<std::size_t>(reader))) return false;
    }
  }
  if (op == "Concat") {
    // Past and present: one part comes from outside the model.
    const bool cached = std::any_of(
        counted.node->inputs.begin(), counted.node->inputs.end(), [&](const TensorId& id) {
          const ValueId part =
              values_.Input(n, static_cast<std::size_t>(&id - counted.node->inputs.data()));
          return part != kNoValue && values_.IsGraphInput(part);
        });
    if (!cached) return false;
    if (update) search.cache_updates.push_back(n);
  }
  if (update) search.exported.push_back(n);
  if (op == "Expand") {
    const Count before = Elements(values_.tensor(values_.Input(n, 0)));
    const Count after = Elements(values_.tensor(values_.Output(n, 0)));
    if (before > Count(0)) search.heads_per_kv = std::max(search.heads_per_kv, after / before);
  }
  search.Add(n);
  return true;
}

void AttentionFinder::AbsorbOperands(std::vector<ValueId> open, Search& search) const {
  // A Split can only be taken after all that read its parts, so try until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < open.size() && open.size() < 64; ++i) {
      const ValueId value = open[i];
      if (!AbsorbOperand(value, search)) continue;
      changed = true;
      const auto n = static_cast<std::size_t>(values_.Producer(value));
      for (std::size_t input = 0; input < values_.NumInputs(n); ++input) {
        const ValueId next = values_.Input(n, input);
        if (next != kNoValue && !values_.IsConstant(next)) open.push_back(next);
      }
    }
  }
}

void AttentionFinder::AbsorbOutput(Search& search) const {
  const ValueId output = values_.Output(search.values, 0);
  if (output == kNoValue || values_.Escapes(output) || values_.Readers(output).size() != 1) return;
  const auto reader = static_cast<std::size_t>(values_.Readers(output)[0]);
  const CountedNode& counted = values_.node(reader);
  if (counted.node->op == "Transpose" && counted.status == NodeStatus::kCounted) {
    search.Add(reader);
    search.last = reader;
  }
}

// No score and no probability is needed outside.
bool AttentionFinder::IsClosed(const Search& search) const {
  for (const std::size_t n : search.nodes) {
    if (values_.node(n).graph != values_.node(search.last).graph) return false;
    if (n == search.last || ContainsNode(search.exported, n)) continue;
    const ValueId output = values_.Output(n, 0);
    if (output == kNoValue) continue;
    if (values_.Escapes(output)) return false;
    for (const auto reader : values_.Readers(output)) {
      if (!ContainsNode(search.nodes, static_cast<std::size_t>(reader))) return false;
    }
  }
  return true;
}

bool AttentionFinder::SearchCausal(ValueId mask) const {
  return dlcost::IsCausalMask(mask, [this](ValueId value) {
    MaskSource<ValueId> source{&values_.tensor(value)};
    const auto producer = values_.Producer(value);
    if (producer == ValueGraph::kNoNode) return source;
    const auto n = static_cast<std::size_t>(producer);
    source.node = values_.node(n).node;
    for (const ValueId input : values_.Inputs(n)) {
      if (input != kNoValue) source.inputs.push_back(input);
    }
    return source;
  });
}

bool AttentionFinder::IsCausalMask(ValueId mask) {
  const auto [at, fresh] = causal_.emplace(mask, false);
  if (fresh) at->second = SearchCausal(mask);
  return at->second;
}

void AttentionFinder::AddMasks(const Search& search, AttentionMatch& match) {
  for (const ValueId mask : search.masks) {
    if (Elements(values_.tensor(mask)) <= Count(1)) continue;  // a scale
    if (!IsCausalMask(mask)) continue;
    match.nest.causal = true;
    if (values_.IsConstant(mask)) match.computed_masks.push_back(mask);
  }
}

bool AttentionFinder::HasBias(const Search& search) const {
  return std::any_of(search.masks.begin(), search.masks.end(), [&](ValueId mask) {
    const std::optional<Shape>& shape = values_.tensor(mask).type.shape;
    return shape && DiffersByHead(*shape);
  });
}

std::optional<AttentionMatch> AttentionFinder::FindAround(std::size_t n) const {
  const CountedNode& counted = values_.node(n);
  const auto* nest = std::get_if<AttentionNest>(&counted.cost.nest);
  const bool is_operator = counted.status == NodeStatus::kCounted && nest != nullptr &&
                           counted.node->op == "Attention" && counted.node->domain.empty();
  if (!is_operator) return std::nullopt;
  Search search;
  search.Add(n);
  search.values = search.last = n;
  AbsorbOperands({values_.Input(n, 0), values_.Input(n, 1), values_.Input(n, 2)}, search);
  AbsorbOutput(search);
  if (search.nodes.size() == 1 || !IsClosed(search)) return std::nullopt;
  AttentionMatch match{.nest = *nest, .spelled = false};
  if (nest->kv_heads % search.heads_per_kv == Count(0))
    match.nest.kv_heads = nest->kv_heads / search.heads_per_kv;
  match.nodes = std::move(search.nodes);
  std::sort(match.nodes.begin(), match.nodes.end());
  match.cache_updates = std::move(search.cache_updates);
  return match;
}

std::optional<AttentionMatch> AttentionFinder::Find(const std::vector<std::size_t>& softmax) {
  Search search;
  search.probabilities = softmax.back();
  for (const std::size_t n : softmax) search.Add(n);
  if (!FindProbabilitiesReader(search)) return std::nullopt;
  // What the softmax reads from outside.
  ValueId input = kNoValue;
  for (const std::size_t n : softmax) {
    const ValueId value = values_.Input(n, 0);
    const auto maker = value == kNoValue ? ValueGraph::kNoNode : values_.Producer(value);
    if (maker != ValueGraph::kNoNode && ContainsNode(softmax, static_cast<std::size_t>(maker)))
      continue;
    input = value;
    break;
  }
  if (!FindScores(input, 0, search)) return std::nullopt;
  const GemmNest& scores = *ProductOf(values_.node(search.scores));
  const GemmNest& values = *ProductOf(values_.node(search.values));
  if (scores.n != values.k || scores.b_is_weight || values.b_is_weight) return std::nullopt;
  AbsorbOperands({values_.Input(search.scores, 0), values_.Input(search.scores, 1),
                  values_.Input(search.values, 1)},
                 search);
  AbsorbOutput(search);
  if (!IsClosed(search)) return std::nullopt;

  AttentionMatch match;
  const auto& shape = values_.tensor(values_.Output(search.scores, 0)).type.shape;
  Count heads = shape && shape->rank() >= 4 ? Count(shape->At(-3)) : scores.batch;
  if (heads < Count(1) || scores.batch % heads != Count(0))
    heads = std::max(Count(1), scores.batch);
  match.nest = {.batch = std::max(Count(1), scores.batch / heads),
                .q_heads = heads,
                .kv_heads = std::max(Count(1), heads / search.heads_per_kv),
                .q_len = scores.m,
                .kv_len = scores.n,
                .qk_dim = scores.k,
                .v_dim = values.n};
  AddMasks(search, match);
  match.called =
      shape && IsFusedCall(CommonFactor(values_, search.scores), HasBias(search), shape->rank());
  match.nodes = std::move(search.nodes);
  std::sort(match.nodes.begin(), match.nodes.end());
  match.cache_updates = std::move(search.cache_updates);
  return match;
}

}  // namespace dlcost
