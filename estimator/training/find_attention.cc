#include "estimator/training/find_attention.h"

#include <algorithm>
#include <cmath>

#include "estimator/infer/causal_mask.h"
#include "estimator/training/recompute.h"
#include "estimator/training/uses.h"
#include "models/operators/attention_core.h"
#include "models/operators/transpose.h"

namespace dlcost {
namespace {

constexpr int kMostScoreSteps = 16;  // between a product and the softmax
constexpr int kMostLooks = 64;  // for the side of a sum that leads to scores, over all its sides

using Axes = std::vector<std::int64_t>;

class AttentionFinder : Uses {
 public:
  AttentionFinder(Graph& graph, const std::vector<TensorId>& parameters,
                  const AttentionFusion& options)
      : Uses(graph), options_(options), trained_(graph.tensors.size(), false) {
    for (const TensorId id : parameters) trained_[Index(id)] = true;
    for (const Node& node : graph.nodes) {
      bool trains = false;
      ForEachRead(node, [&](TensorId id) { trains |= trained_[Index(id)]; });
      for (const TensorId id : node.outputs) {
        if (id != kNoTensor) trained_[Index(id)] = trains && IsFloat(tensor(id).type.dtype);
      }
    }
  }

  // The attention whose softmax, or whose one node, is node n.
  std::optional<FoundAttention> At(std::size_t n) {
    std::optional<FoundAttention> match;
    if (Is(n, "Softmax")) {
      if (options_.joins) match = Spelled(n);
    } else if (Is(n, "Attention")) {
      match = Single(n);
    } else if (node(n).op == "MultiHeadAttention" && node(n).domain == "com.microsoft") {
      match = MultiHead(n);
    }
    if (!match || (match->spelled && IsRecomputedInPart(match->nodes))) return std::nullopt;
    if (auto packed = BeforeUnpacking(*this, match->q, match->k, match->v)) {
      match->q = std::move(packed->all);
      match->k = match->v = {};
      match->kv_heads = packed->kv_heads;
      match->laid_out.insert(match->laid_out.end(), packed->unpacking.begin(),
                             packed->unpacking.end());
    }
    return match;
  }

 private:
  bool Fuses(TensorId id, bool called) const {
    const DType type = tensor(id).type.dtype;
    const bool narrows = options_.half != DType::kUndefined && type == DType::kFloat32;
    return options_.fuses(narrows ? options_.half : type, called);
  }
  bool IsRecomputedInPart(const std::vector<std::size_t>& inner) const {
    const auto matching = std::count_if(inner.begin(), inner.end(), [&](std::size_t n) {
      return IsSelected(options_.recompute, node(n));
    });
    return matching > 0 && static_cast<std::size_t>(matching) < inner.size();
  }

  // --- attention as exporters write it ---

  std::optional<FoundAttention> Spelled(std::size_t softmax) {
    const Shape* scores = ShapeOf(node(softmax).outputs[0]);
    if (scores == nullptr || (scores->rank() != 3 && scores->rank() != 4)) return std::nullopt;
    const std::int64_t axis = ContextOf(softmax).Int("axis", node(softmax).opset < 13 ? 1 : -1);
    if (axis != -1 && axis != scores->Rank() - 1) return std::nullopt;
    FoundAttention match;
    match.nodes.push_back(softmax);
    const std::size_t first = FindScores(In(softmax, 0), match);
    const std::size_t last = FindValues(softmax, match);
    if (first == kNone || last == kNone) return std::nullopt;
    const bool heads = scores->rank() == 4;
    match.q = BeforeLayout(*this, {In(first, 0), heads ? Axes{0, 1, 2, 3} : Axes{0, 2, 3}},
                           match.laid_out);
    match.k = BeforeLayout(*this, {In(first, 1), heads ? Axes{0, 1, 3, 2} : Axes{0, 3, 2}},
                           match.laid_out);
    match.v = BeforeLayout(*this, {In(last, 1), heads ? Axes{0, 1, 2, 3} : Axes{0, 2, 3}},
                           match.laid_out);
    if (match.v.scale != 1) return std::nullopt;
    const bool biased = std::any_of(match.masks.begin(), match.masks.end(), [&](TensorId mask) {
      const Shape* shape = ShapeOf(mask);
      return shape != nullptr && DiffersByHead(*shape);
    });
    const std::optional<double> q_factor = FactorOf(In(first, 0)),
                                k_factor = FactorOf(In(first, 1));
    const bool called = q_factor == k_factor && IsFusedCall(q_factor, biased, scores->rank());
    if (!Fuses(In(first, 0), called)) return std::nullopt;
    match.scale *= match.q.scale * match.k.scale;
    match.nodes.push_back(first);
    match.nodes.push_back(last);
    match.y = node(last).outputs[0];
    match.y_axes = heads ? Axes{0, 1, 2, 3} : Axes{0, 2, 3};
    TakeTransposition(match);
    if (!Fit(match)) return std::nullopt;
    return match;
  }

  // The transposition behind the result, which the kernel writes in its stead, where nobody else
  // reads it; reshapes to the same shape lie between them in some files.
  void TakeTransposition(FoundAttention& match) const {
    const Shape* shape = ShapeOf(match.y);
    if (shape == nullptr) return;
    std::vector<std::size_t> taken = {OnlyReader(match.y)};
    while (Is(taken.back(), "Reshape") && ShapeOf(node(taken.back()).outputs[0]) != nullptr &&
           *ShapeOf(node(taken.back()).outputs[0]) == *shape) {
      taken.push_back(OnlyReader(node(taken.back()).outputs[0]));
    }
    if (!Is(taken.back(), "Transpose")) return;
    Axes axes;
    for (const std::int64_t a : PermutationOf(ContextOf(taken.back())))
      axes.push_back(match.y_axes[static_cast<std::size_t>(a)]);
    match.y_axes = std::move(axes);
    match.y = node(taken.back()).outputs[0];
    match.nodes.insert(match.nodes.end(), taken.begin(), taken.end());
  }

  // The number that an operand of a product is multiplied by right before it, 1 too.
  std::optional<double> FactorOf(TensorId operand) const {
    std::size_t n = Maker(operand);
    if (Is(n, "Cast")) n = Maker(In(n, 0));
    double factor = 1;
    if (!Is(n, "Mul") || !BesideFactor(*this, n, factor)) return std::nullopt;
    return factor;
  }

  // From what the softmax reads back to the product that makes the scores: masks, then the cap,
  // then the scale. kNone where something else is on the way.
  std::size_t FindScores(TensorId value, FoundAttention& match) {
    bool scaled = false;
    for (int step = 0; step < kMostScoreSteps; ++step) {
      const std::size_t n = Maker(value);
      if (n == kNone || OnlyReader(value) == kNone) return kNone;
      if (Is(n, "MatMul")) {
        return IsProductOfActivations(n) ? n : kNone;
      }
      if (Is(n, "Cast")) {
        if (!IsFloat(tensor(In(n, 0)).type.dtype)) return kNone;
        value = In(n, 0);
      } else if (Is(n, "Mul") || Is(n, "Div")) {
        const std::optional<TensorId> scores = BesideFactor(*this, n, match.scale);
        if (!scores) return kNone;
        scaled = true;
        value = *scores;
      } else if (!scaled && (Is(n, "Add") || Is(n, "Where"))) {
        const std::optional<TensorId> scores = Is(n, "Add") ? Added(n, match) : Chosen(n, match);
        if (!scores) return kNone;
        value = *scores;
      } else {
        return kNone;
      }
      match.nodes.push_back(n);
    }
    return kNone;
  }

  bool IsProductOfActivations(std::size_t n) const {
    for (const std::size_t i : {0U, 1U}) {
      const TensorId id = In(n, i);
      if (id == kNoTensor || tensor(id).constant || tensor(id).foldable || ShapeOf(id) == nullptr) {
        return false;
      }
    }
    return ShapeOf(In(n, 0))->rank() == ShapeOf(In(n, 1))->rank();
  }

  // Whether a value comes from a product. `looks`: how many nodes may still be looked at, of sums
  // of sums both sides.
  bool LeadsToScores(TensorId value, int& looks) const {
    while (looks-- > 0) {
      const std::size_t n = Maker(value);
      if (n == kNone || tensor(value).foldable) return false;
      if (Is(n, "MatMul")) return true;
      const bool number = (Is(n, "Mul") || Is(n, "Div")) && Number(In(n, 0)).has_value();
      if (Is(n, "Where")) {
        value = Number(In(n, 1)) ? In(n, 2) : In(n, 1);
      } else if (Is(n, "Add") && !LeadsToScores(In(n, 0), looks)) {
        value = In(n, 1);
      } else if (Is(n, "Cast") || Is(n, "Mul") || Is(n, "Div") || Is(n, "Add")) {
        value = In(n, number ? 1 : 0);
      } else {
        return false;
      }
    }
    return false;
  }

  std::optional<TensorId> Added(std::size_t n, FoundAttention& match) {
    for (const std::size_t side : {0U, 1U}) {
      int looks = kMostLooks;
      if (!LeadsToScores(In(n, side), looks)) continue;
      if (!AddMask(In(n, 1 - side), "add", match)) return std::nullopt;
      return In(n, side);
    }
    return std::nullopt;
  }

  std::optional<TensorId> Chosen(std::size_t n, FoundAttention& match) {
    for (const std::size_t side : {1U, 2U}) {
      const std::optional<double> other = Number(In(n, 3 - side));
      if (!other || *other > kHidden) continue;
      if (!AddMask(In(n, 0), side == 1 ? "keep" : "drop", match)) return std::nullopt;
      return In(n, side);
    }
    return std::nullopt;
  }

  bool AddMask(TensorId mask, const char* kind, FoundAttention& match) {
    const Shape* shape = ShapeOf(mask);
    if (shape == nullptr || shape->rank() > 4 || trained_[Index(mask)]) return false;
    // Masks are found from the softmax back.
    match.masks.insert(match.masks.begin(), mask);
    match.kinds.insert(match.kinds.begin(), kind);
    match.triangular |= IsCausal(mask);
    return true;
  }

  bool IsCausal(TensorId mask) const {
    return IsCausalMask(mask, [this](TensorId id) {
      MaskSource<TensorId> source{&tensor(id)};
      const std::size_t n = Maker(id);
      if (n == kNone) return source;
      source.node = &node(n);
      for (const TensorId input : node(n).inputs) {
        if (input != kNoTensor) source.inputs.push_back(input);
      }
      return source;
    });
  }

  // From the softmax to the product with the values, through dropout, casts and guards against rows
  // without keys.
  std::size_t FindValues(std::size_t softmax, FoundAttention& match) {
    TensorId value = node(softmax).outputs[0];
    for (int step = 0; step < kMostScoreSteps; ++step) {
      std::size_t n = OnlyReader(value);
      if (n == kNone) {
        n = Guard(value, match);
        if (n == kNone) return kNone;
      } else if (Is(n, "MatMul")) {
        return In(n, 0) == value && IsProductOfActivations(n) ? n : kNone;
      } else if (Is(n, "Dropout") && In(n, 0) == value) {
        if (!Drop(n, match)) return kNone;
      } else if (!Is(n, "Cast") || !IsFloat(tensor(node(n).outputs[0]).type.dtype)) {
        return kNone;
      }
      match.nodes.push_back(n);
      value = node(n).outputs[0];
    }
    return kNone;
  }

  // Where(IsNaN(p), 0, p).
  std::size_t Guard(TensorId value, FoundAttention& match) const {
    const std::vector<std::size_t>& readers = Readers(value);
    if (readers.size() != 2) return kNone;
    for (const std::size_t side : {0U, 1U}) {
      const std::size_t nan = readers[side], where = readers[1 - side];
      if (!Is(nan, "IsNaN") || !Is(where, "Where") || In(where, 2) != value ||
          In(where, 0) != node(nan).outputs[0] || OnlyReader(node(nan).outputs[0]) != where) {
        continue;
      }
      match.nodes.push_back(nan);
      return where;
    }
    return kNone;
  }

  bool Drop(std::size_t n, FoundAttention& match) {
    const Node& dropout = node(n);
    if (match.dropout != 0) return false;
    if (dropout.outputs.size() > 1 && dropout.outputs[1] != kNoTensor &&
        !Readers(dropout.outputs[1]).empty()) {
      return false;
    }
    double ratio = ContextOf(n).Float("ratio", 0.5);
    if (In(n, 1) != kNoTensor) {
      const std::optional<double> given = Number(In(n, 1));
      if (!given) return false;
      ratio = *given;
    }
    match.dropout = ratio;
    return ratio >= 0 && ratio < 1;
  }

  // --- attention in one node ---

  std::optional<FoundAttention> Single(std::size_t n) {
    const Node& attention = node(n);
    for (const std::size_t i : {4U, 5U, 6U}) {
      if (In(n, i) != kNoTensor) return std::nullopt;
    }
    FoundAttention match;
    const OpContext context = ContextOf(n);
    const std::int64_t q_heads = context.Int("q_num_heads", 0);
    const std::int64_t kv_heads = context.Int("kv_num_heads", 0);
    if (!TakeOperands(n, q_heads, kv_heads, match) || !OnlyFirstOutput(attention)) {
      return std::nullopt;
    }
    match.scale = context.Float("scale", 0);
    match.softcap = context.Float("softcap", 0);
    match.causal = context.Int("is_causal", 0) != 0;
    match.left = context.Int("left_window_size", -1);
    match.right = context.Int("right_window_size", -1);
    match.context_devices = context.Int(kContextDevices, 1);
    const TensorId mask = In(n, 3);
    const bool keeps = mask != kNoTensor && tensor(mask).type.dtype == DType::kBool;
    if (mask != kNoTensor && !AddMask(mask, keeps ? "keep" : "add", match)) return std::nullopt;
    if (!Finish(n, match)) return std::nullopt;
    return match;
  }

  std::optional<FoundAttention> MultiHead(std::size_t n) {
    for (const std::size_t i : {3U, 4U, 6U, 7U}) {
      if (In(n, i) != kNoTensor) return std::nullopt;
    }
    FoundAttention match;
    const OpContext context = ContextOf(n);
    const std::int64_t heads = context.Int("num_heads", 0);
    if (!TakeOperands(n, heads, heads, match) || !OnlyFirstOutput(node(n))) return std::nullopt;
    match.scale = context.Float("scale", 0);
    match.causal = context.Int("unidirectional", 0) != 0;
    if (In(n, 5) != kNoTensor && !AddMask(In(n, 5), "add", match)) return std::nullopt;
    if (!Finish(n, match)) return std::nullopt;
    return match;
  }

  static bool OnlyFirstOutput(const Node& attention) {
    return std::all_of(attention.outputs.begin() + 1, attention.outputs.end(),
                       [](TensorId id) { return id == kNoTensor; });
  }

  // [batch, heads, length, width], or [batch, length, heads * width], as [batch, length, heads,
  // width].
  bool TakeOperands(std::size_t n, std::int64_t q_heads, std::int64_t kv_heads,
                    FoundAttention& match) {
    match.spelled = false;
    match.nodes.push_back(n);
    AttentionOperand* operands[] = {&match.q, &match.k, &match.v};
    for (std::size_t i = 0; i < 3; ++i) {
      const Shape* shape = ShapeOf(In(n, i));
      const std::int64_t heads = i == 0 ? q_heads : kv_heads;
      if (shape == nullptr) return false;
      if (shape->rank() == 4) {
        *operands[i] = BeforeLayout(*this, {In(n, i), {0, 1, 2, 3}}, match.laid_out);
      } else if (shape->rank() == 3 && heads > 0 && (*shape)[2] % heads == 0) {
        *operands[i] = {
            .id = In(n, i),
            .axes = {0, 2, 1, 3},
            .heads_apart = Shape({(*shape)[0], (*shape)[1], heads, (*shape)[2] / heads})};
      } else {
        return false;
      }
    }
    return match.v.scale == 1;
  }

  bool Finish(std::size_t n, FoundAttention& match) {
    const Shape* shape = ShapeOf(node(n).outputs[0]);
    if (shape == nullptr || !Fuses(In(n, 0), true)) return false;
    match.y = node(n).outputs[0];
    match.y_axes = {0, 1, 2, 3};
    if (shape->rank() == 3) {
      match.y_axes = {0, 2, 1, 3};
      match.y_shape = *shape;
    } else {
      TakeTransposition(match);
    }
    const auto q = ExtentsOf(*this, match.q), k = ExtentsOf(*this, match.k);
    if (!q || !k) return false;
    if (match.scale == 0) match.scale = 1 / std::sqrt(static_cast<double>((*q)[3]));
    match.scale *= match.q.scale * match.k.scale;
    // The kernel's triangle ends at the last query and key, ONNX's begins at the first ones.
    const bool positions = match.causal || match.left >= 0 || match.right >= 0;
    const bool placed = (*q)[2] == (*k)[2] || match.context_devices > 1;
    return (placed || !positions) && Fit(match);
  }

  bool Fit(const FoundAttention& match) const {
    const auto q = ExtentsOf(*this, match.q), k = ExtentsOf(*this, match.k),
               v = ExtentsOf(*this, match.v);
    return q && k && v && (*q)[0] == (*k)[0] && (*q)[0] == (*v)[0] && (*q)[3] == (*k)[3] &&
           (*k)[1] == (*v)[1] && (*k)[2] == (*v)[2] && (*k)[1] > 0 && (*q)[1] % (*k)[1] == 0;
  }

  const AttentionFusion& options_;
  // Per tensor: some parameter is behind it, other than by its sizes or a comparison.
  std::vector<bool> trained_;
};

}  // namespace

std::vector<FoundAttention> FindAttention(Graph& graph, const std::vector<TensorId>& parameters,
                                          const AttentionFusion& options) {
  std::vector<FoundAttention> found;
  AttentionFinder finder(graph, parameters, options);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (auto match = finder.At(n)) found.push_back(std::move(*match));
  }
  return found;
}

}  // namespace dlcost
