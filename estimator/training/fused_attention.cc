#include "estimator/training/fused_attention.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

#include "estimator/infer/causal_mask.h"
#include "estimator/training/recompute.h"
#include "models/operators/fused_attention.h"
#include "models/operators/op_context.h"
#include "models/operators/transpose.h"

namespace dlcost {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr int kMostSteps = 16;  // between a product and the softmax, and above an operand
constexpr int kMostLooks = 64;  // for the side of a sum that leads to scores, over all its sides
// What is written into a mask stands for minus infinity from here on down.
constexpr double kHidden = -1000;

using Axes = std::vector<std::int64_t>;

// A tensor as the kernel reads it: its axes in the order of memory (AttentionAxes).
struct Operand {
  TensorId id = kNoTensor;
  Axes axes;
  double scale = 1;
};

struct Match {
  Operand q, k, v;
  std::int64_t kv_heads = 0;  // of packed operands; 0: each is one of its own
  std::vector<TensorId> masks;
  std::vector<std::string> kinds;
  double scale = 1, softcap = 0, dropout = 0;
  bool causal = false, triangular = false, spelled = true;
  std::int64_t left = -1, right = -1;
  Axes y_axes;
  TensorId y = kNoTensor;
  std::optional<Shape> y_shape;       // where the kernel's is another view of it
  std::vector<std::size_t> nodes;     // that the kernel stands for
  std::vector<std::size_t> laid_out;  // that only laid out its operands, if nobody else needs them
};

class AttentionFuser {
 public:
  AttentionFuser(NodeWriter& writer, const std::vector<TensorId>& parameters,
                 const AttentionFusion& options)
      : w_(writer), options_(options) {
    const std::size_t tensors = graph().tensors.size();
    producer_.assign(tensors, kNone);
    readers_.assign(tensors, {});
    trained_.assign(tensors, false);
    for (const TensorId id : parameters) trained_[Index(id)] = true;
    for (std::size_t n = 0; n < nodes().size(); ++n) {
      bool trains = false;
      ForEachRead(node(n), [&](TensorId id) {
        readers_[Index(id)].push_back(n);
        trains |= trained_[Index(id)];
      });
      for (const TensorId id : node(n).outputs) {
        if (id == kNoTensor) continue;
        producer_[Index(id)] = n;
        trained_[Index(id)] = trains;
      }
    }
    for (const TensorId id : graph().outputs) readers_[Index(id)].push_back(kNone);
  }

  void Run() {
    for (std::size_t n = 0; n < nodes().size(); ++n) {
      std::optional<Match> match;
      if (Is(n, "Softmax")) {
        if (options_.joins) match = Spelled(n);
      } else if (Is(n, "Attention")) {
        match = Single(n);
      } else if (node(n).op == "MultiHeadAttention" && node(n).domain == "com.microsoft") {
        match = MultiHead(n);
      }
      if (!match || IsRecomputedInPart(match->nodes)) continue;
      Pack(*match);
      for (const std::size_t m : match->nodes) gone_.insert({m, true});
      matches_.emplace(*std::max_element(match->nodes.begin(), match->nodes.end()),
                       std::move(*match));
    }
    if (!matches_.empty()) Rewrite();
  }

 private:
  static std::size_t Index(TensorId id) { return static_cast<std::size_t>(id); }
  Graph& graph() { return w_.graph(); }
  const Graph& graph() const { return w_.graph(); }
  std::vector<Node>& nodes() { return w_.graph().nodes; }
  const Node& node(std::size_t n) const { return w_.graph().nodes[n]; }
  const Tensor& tensor(TensorId id) const { return graph().tensors[Index(id)]; }
  bool Is(std::size_t n, std::string_view op) const {
    return n != kNone && node(n).domain.empty() && node(n).op == op;
  }
  TensorId In(std::size_t n, std::size_t i) const {
    return i < node(n).inputs.size() ? node(n).inputs[i] : kNoTensor;
  }
  std::size_t Maker(TensorId id) const { return id == kNoTensor ? kNone : producer_[Index(id)]; }
  const Shape* ShapeOf(TensorId id) const {
    return id != kNoTensor && tensor(id).type.shape ? &*tensor(id).type.shape : nullptr;
  }
  OpContext ContextOf(std::size_t n) { return {graph(), node(n), 1}; }

  // The one node that reads a value; kNone where there are others.
  std::size_t OnlyReader(TensorId id) const {
    return id != kNoTensor && readers_[Index(id)].size() == 1 ? readers_[Index(id)][0] : kNone;
  }
  // The number of a tensor with one element, where it is known.
  std::optional<double> Number(TensorId id) const {
    if (id == kNoTensor || tensor(id).value == nullptr || tensor(id).value->size() != 1) {
      return std::nullopt;
    }
    return tensor(id).value->Real(0);
  }
  bool Fuses(TensorId id) const {
    const DType type = tensor(id).type.dtype;
    const bool narrows = options_.half != DType::kUndefined && type == DType::kFloat32;
    return options_.fuses(narrows ? options_.half : type);
  }
  bool IsRecomputedInPart(const std::vector<std::size_t>& inner) const {
    const auto matching = std::count_if(inner.begin(), inner.end(), [&](std::size_t n) {
      return IsSelected(options_.recompute, node(n));
    });
    return matching > 0 && static_cast<std::size_t>(matching) < inner.size();
  }

  // --- attention as exporters write it ---

  std::optional<Match> Spelled(std::size_t softmax) {
    const Shape* scores = ShapeOf(node(softmax).outputs[0]);
    if (scores == nullptr || (scores->rank() != 3 && scores->rank() != 4)) return std::nullopt;
    const std::int64_t axis = ContextOf(softmax).Int("axis", node(softmax).opset < 13 ? 1 : -1);
    if (axis != -1 && axis != scores->Rank() - 1) return std::nullopt;
    Match match;
    match.nodes.push_back(softmax);
    const std::size_t first = FindScores(In(softmax, 0), match);
    const std::size_t last = FindValues(softmax, match);
    if (first == kNone || last == kNone || !Fuses(In(first, 0))) return std::nullopt;
    const bool heads = scores->rank() == 4;
    match.q = Lay({In(first, 0), heads ? Axes{0, 1, 2, 3} : Axes{0, 2, 3}}, match);
    match.k = Lay({In(first, 1), heads ? Axes{0, 1, 3, 2} : Axes{0, 3, 2}}, match);
    match.v = Lay({In(last, 1), heads ? Axes{0, 1, 2, 3} : Axes{0, 2, 3}}, match);
    if (match.v.scale != 1) return std::nullopt;
    match.scale *= match.q.scale * match.k.scale;
    match.nodes.push_back(first);
    match.nodes.push_back(last);
    match.y = node(last).outputs[0];
    match.y_axes = heads ? Axes{0, 1, 2, 3} : Axes{0, 2, 3};
    const std::size_t behind = OnlyReader(match.y);
    if (Is(behind, "Transpose") && ShapeOf(match.y) != nullptr) {
      Axes axes;
      for (const std::int64_t a : PermutationOf(ContextOf(behind)))
        axes.push_back(match.y_axes[static_cast<std::size_t>(a)]);
      match.y_axes = std::move(axes);
      match.y = node(behind).outputs[0];
      match.nodes.push_back(behind);
    }
    if (!Fit(match)) return std::nullopt;
    return match;
  }

  // From what the softmax reads back to the product that makes the scores: masks, then the cap,
  // then the scale. kNone where something else is on the way.
  std::size_t FindScores(TensorId value, Match& match) {
    bool scaled = false;
    for (int step = 0; step < kMostSteps; ++step) {
      const std::size_t n = Maker(value);
      if (n == kNone || OnlyReader(value) == kNone) return kNone;
      if (Is(n, "MatMul")) {
        return IsProductOfActivations(n) ? n : kNone;
      }
      if (Is(n, "Cast")) {
        if (!IsFloat(tensor(In(n, 0)).type.dtype)) return kNone;
        value = In(n, 0);
      } else if (Is(n, "Mul") || Is(n, "Div")) {
        const std::optional<TensorId> scores = Scale(n, match.scale);
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

  // The operand beside a known factor, which `scale` takes up.
  std::optional<TensorId> Scale(std::size_t n, double& scale) const {
    const bool divides = node(n).op == "Div";
    for (const std::size_t side : {1U, 0U}) {
      const std::optional<double> factor = Number(In(n, side));
      if (!factor || *factor == 0 || (divides && side == 0)) continue;
      scale = divides ? scale / *factor : scale * *factor;
      return In(n, 1 - side);
    }
    return std::nullopt;
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

  std::optional<TensorId> Added(std::size_t n, Match& match) {
    for (const std::size_t side : {0U, 1U}) {
      int looks = kMostLooks;
      if (!LeadsToScores(In(n, side), looks)) continue;
      if (!AddMask(In(n, 1 - side), "add", match)) return std::nullopt;
      return In(n, side);
    }
    return std::nullopt;
  }

  std::optional<TensorId> Chosen(std::size_t n, Match& match) {
    for (const std::size_t side : {1U, 2U}) {
      const std::optional<double> other = Number(In(n, 3 - side));
      if (!other || *other > kHidden) continue;
      if (!AddMask(In(n, 0), side == 1 ? "keep" : "drop", match)) return std::nullopt;
      return In(n, side);
    }
    return std::nullopt;
  }

  bool AddMask(TensorId mask, const char* kind, Match& match) {
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
  std::size_t FindValues(std::size_t softmax, Match& match) {
    TensorId value = node(softmax).outputs[0];
    for (int step = 0; step < kMostSteps; ++step) {
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
  std::size_t Guard(TensorId value, Match& match) const {
    const std::vector<std::size_t>& readers = readers_[Index(value)];
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

  bool Drop(std::size_t n, Match& match) {
    const Node& dropout = node(n);
    if (match.dropout != 0) return false;
    if (dropout.outputs.size() > 1 && dropout.outputs[1] != kNoTensor &&
        !readers_[Index(dropout.outputs[1])].empty()) {
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

  // --- what lays operands out ---

  // Past the nodes that only lay an operand out, or scale it.
  Operand Lay(Operand operand, Match& match) {
    for (int step = 0; step < kMostSteps; ++step) {
      const std::size_t n = Maker(operand.id);
      if (n == kNone) break;
      if (Is(n, "Transpose") && ShapeOf(In(n, 0)) != nullptr) {
        const Axes order = PermutationOf(ContextOf(n));
        if (order.size() != operand.axes.size()) break;
        Axes axes(order.size());
        for (std::size_t a = 0; a < order.size(); ++a) {
          axes[static_cast<std::size_t>(order[a])] = operand.axes[a];
        }
        operand.axes = std::move(axes);
      } else if (Is(n, "Mul") || Is(n, "Div")) {
        const std::optional<TensorId> x = Scale(n, operand.scale);
        if (!x) break;
        match.laid_out.push_back(n);
        operand.id = *x;
        continue;
      } else if (const TensorId shared = BeforeRepeating(operand); shared != kNoTensor) {
        operand.id = shared;
        continue;
      } else {
        break;
      }
      match.laid_out.push_back(n);
      operand.id = In(n, 0);
    }
    return operand;
  }

  // Heads that groups of queries share, before each was repeated: [b, h, l, w] as [b, h, 1, l, w],
  // expanded to [b, h, g, l, w], as [b, h g, l, w]. kNoTensor for anything else.
  TensorId BeforeRepeating(const Operand& operand) const {
    if (operand.axes != Axes{0, 1, 2, 3}) return kNoTensor;
    const std::size_t joined = Maker(operand.id);
    if (!Is(joined, "Reshape")) return kNoTensor;
    const std::size_t expand = Maker(In(joined, 0));
    if (!Is(expand, "Expand")) return kNoTensor;
    const std::size_t parted = Maker(In(expand, 0));
    if (!Is(parted, "Unsqueeze") && !Is(parted, "Reshape")) return kNoTensor;
    const Shape *whole = ShapeOf(operand.id), *all = ShapeOf(In(joined, 0)),
                *one = ShapeOf(In(expand, 0)), *own = ShapeOf(In(parted, 0));
    if (whole == nullptr || all == nullptr || one == nullptr || own == nullptr) return kNoTensor;
    if (own->rank() != 4 || one->rank() != 5 || all->rank() != 5) return kNoTensor;
    const auto [b, h, l, w] = std::array{(*own)[0], (*own)[1], (*own)[2], (*own)[3]};
    const std::int64_t g = (*all)[2];
    const bool fits = *one == Shape({b, h, 1, l, w}) && *all == Shape({b, h, g, l, w}) &&
                      (*whole)[0] == b && (*whole)[1] == (Count(h) * g).value() &&
                      (*whole)[2] == l && (*whole)[3] == w;
    return fits ? In(parted, 0) : kNoTensor;
  }

  // Queries, keys and values that one product made: the kernel reads its result where it lies.
  void Pack(Match& match) {
    unpacking_.clear();
    const auto q = WholeOf(match.q, 0), k = WholeOf(match.k, 1), v = WholeOf(match.v, 2);
    if (!q || !k || !v || q->id != k->id || q->id != v->id) return;
    if (q->head != k->head || q->head != v->head || k->heads != v->heads) return;
    const std::int64_t heads = q->heads + 2 * k->heads;
    if (heads * q->head * q->positions != q->elements) return;
    match.q = {q->id, {0, 2, 1, 3}};
    packed_shape_[q->id] = {q->batch, q->positions / std::max<std::int64_t>(1, q->batch), heads,
                            q->head};
    match.kv_heads = k->heads;
    match.k = match.v = {};
    match.laid_out.insert(match.laid_out.end(), unpacking_.begin(), unpacking_.end());
  }

  struct Packed {
    TensorId id;                         // of all three
    std::int64_t batch, positions;       // positions over the batch
    std::int64_t heads, head, elements;  // heads of this part; elements of all
  };

  // The tensor that an operand is part `part` of, in order.
  std::optional<Packed> WholeOf(const Operand& operand, std::size_t part) {
    const std::size_t n = Maker(operand.id);
    const Shape* shape = ShapeOf(operand.id);
    if (n == kNone || shape == nullptr || shape->rank() != 4) return std::nullopt;
    const auto packed = [&](TensorId id, std::int64_t heads,
                            std::int64_t head) -> std::optional<Packed> {
      const Shape* all = ShapeOf(id);
      if (all == nullptr || all->rank() < 3) return std::nullopt;
      return Packed{.id = id,
                    .batch = (*all)[0],
                    .positions = (Count((*all)[0]) * (*all)[1]).value(),
                    .heads = heads,
                    .head = head,
                    .elements = all->Elements().value()};
    };
    if (operand.axes == Axes{0, 2, 1, 3} && Is(n, "Reshape")) {
      const std::size_t split = Maker(In(n, 0));
      if (!Is(split, "Split") || node(split).outputs.size() != 3) return std::nullopt;
      const Shape* all = ShapeOf(In(split, 0));
      const std::int64_t axis = ContextOf(split).Int("axis", 0);
      if (all == nullptr || all->rank() != 3 || (axis != 2 && axis != -1) ||
          node(split).outputs[part] != In(n, 0)) {
        return std::nullopt;
      }
      unpacking_.insert(unpacking_.end(), {split, n});
      return packed(In(split, 0), (*shape)[2], (*shape)[3]);
    }
    // [batch, length, 3, heads, width], moved to [3, batch, heads, length, width], one of three.
    if (operand.axes == Axes{0, 1, 2, 3} && Is(n, "Gather")) {
      const std::size_t moved = Maker(In(n, 0));
      const std::optional<double> index = Number(In(n, 1));
      if (!Is(moved, "Transpose") || !index || *index != static_cast<double>(part) ||
          ContextOf(n).Int("axis", 0) != 0 ||
          ContextOf(moved).Ints("perm") != Axes{2, 0, 3, 1, 4}) {
        return std::nullopt;
      }
      unpacking_.insert(unpacking_.end(), {moved, n});
      return packed(In(moved, 0), (*shape)[1], (*shape)[3]);
    }
    return std::nullopt;
  }

  // --- attention in one node ---

  std::optional<Match> Single(std::size_t n) {
    const Node& attention = node(n);
    for (const std::size_t i : {4U, 5U, 6U}) {
      if (In(n, i) != kNoTensor) return std::nullopt;
    }
    Match match;
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
    const TensorId mask = In(n, 3);
    const bool keeps = mask != kNoTensor && tensor(mask).type.dtype == DType::kBool;
    if (mask != kNoTensor && !AddMask(mask, keeps ? "keep" : "add", match)) return std::nullopt;
    if (!Finish(n, match)) return std::nullopt;
    return match;
  }

  std::optional<Match> MultiHead(std::size_t n) {
    for (const std::size_t i : {3U, 4U, 6U, 7U}) {
      if (In(n, i) != kNoTensor) return std::nullopt;
    }
    Match match;
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
  bool TakeOperands(std::size_t n, std::int64_t q_heads, std::int64_t kv_heads, Match& match) {
    match.spelled = false;
    match.nodes.push_back(n);
    Operand* operands[] = {&match.q, &match.k, &match.v};
    for (std::size_t i = 0; i < 3; ++i) {
      const Shape* shape = ShapeOf(In(n, i));
      const std::int64_t heads = i == 0 ? q_heads : kv_heads;
      if (shape == nullptr) return false;
      if (shape->rank() == 4) {
        *operands[i] = Lay({In(n, i), {0, 1, 2, 3}}, match);
      } else if (shape->rank() == 3 && heads > 0 && (*shape)[2] % heads == 0) {
        *operands[i] = {In(n, i), {0, 2, 1, 3}};
        packed_shape_[In(n, i)] = {(*shape)[0], (*shape)[1], heads, (*shape)[2] / heads};
      } else {
        return false;
      }
    }
    return match.v.scale == 1;
  }

  bool Finish(std::size_t n, Match& match) {
    const Shape* shape = ShapeOf(node(n).outputs[0]);
    if (shape == nullptr || !Fuses(In(n, 0))) return false;
    match.y = node(n).outputs[0];
    match.y_axes = {0, 1, 2, 3};
    if (shape->rank() == 3) {
      match.y_axes = {0, 2, 1, 3};
      match.y_shape = *shape;
    }
    const auto q = ExtentsOf(match.q), k = ExtentsOf(match.k);
    if (!q || !k) return false;
    if (match.scale == 0) match.scale = 1 / std::sqrt(static_cast<double>((*q)[3]));
    match.scale *= match.q.scale * match.k.scale;
    // The kernel's triangle ends at the last query and key, ONNX's begins at the first ones.
    const bool positions = match.causal || match.left >= 0 || match.right >= 0;
    return !(positions && (*q)[2] != (*k)[2]) && Fit(match);
  }

  std::optional<std::array<std::int64_t, 4>> ExtentsOf(const Operand& operand) const {
    const auto view = packed_shape_.find(operand.id);
    const Shape* shape = ShapeOf(operand.id);
    if (view != packed_shape_.end()) shape = &view->second;
    if (shape == nullptr || shape->rank() != operand.axes.size()) return std::nullopt;
    return AttentionExtents(*shape, operand.axes);
  }

  bool Fit(const Match& match) const {
    const auto q = ExtentsOf(match.q), k = ExtentsOf(match.k), v = ExtentsOf(match.v);
    return q && k && v && (*q)[0] == (*k)[0] && (*q)[0] == (*v)[0] && (*q)[3] == (*k)[3] &&
           (*k)[1] == (*v)[1] && (*k)[2] == (*v)[2] && (*k)[1] > 0 && (*q)[1] % (*k)[1] == 0;
  }

  // --- the new graph ---

  void Rewrite() {
    std::vector<Node> before = std::move(nodes());
    nodes().clear();
    std::vector<bool> maybe(before.size(), false);
    for (const auto& [n, match] : matches_) {
      for (const std::size_t m : match.laid_out) maybe[m] = true;
    }
    std::vector<bool> candidates;
    for (std::size_t n = 0; n < before.size(); ++n) {
      const auto found = matches_.find(n);
      if (found != matches_.end()) {
        Write(before[n], found->second);
      } else if (gone_.count(n) == 0) {
        nodes().push_back(std::move(before[n]));
      } else {
        continue;
      }
      candidates.resize(nodes().size(), false);
      if (found == matches_.end()) candidates.back() = maybe[n];
    }
    DropUnread(candidates);
  }

  TensorId AsHeads(TensorId id) {
    const auto view = packed_shape_.find(id);
    return view == packed_shape_.end() ? id : w_.Reshape(id, view->second);
  }

  void Write(const Node& last, const Match& match) {
    w_.Place(last.name, last.scope, Phase::kForward);
    const bool packed = match.kv_heads > 0;
    Node fused;
    fused.name = last.name;
    fused.op = kFusedAttention;
    fused.domain = "dlcost.training";
    fused.scope = last.scope;
    fused.inputs = {AsHeads(match.q.id), packed ? kNoTensor : AsHeads(match.k.id),
                    packed ? kNoTensor : AsHeads(match.v.id)};
    for (const TensorId mask : match.masks) {
      // Scores of rank 3 have no axis of heads.
      const Shape* shape = ShapeOf(mask);
      const bool lifts = match.q.axes.size() == 3 && shape->rank() == 3;
      fused.inputs.push_back(lifts ? w_.Reshape(mask, {(*shape)[0], 1, (*shape)[1], (*shape)[2]})
                                   : mask);
    }
    fused.attributes = {IntsAttribute("q_axes", match.q.axes), RealAttribute("scale", match.scale),
                        IntsAttribute("y_axes", match.y_axes)};
    const auto add = [&](bool present, Attribute attribute) {
      if (present) fused.attributes.push_back(std::move(attribute));
    };
    add(!packed, IntsAttribute("k_axes", match.k.axes));
    add(!packed, IntsAttribute("v_axes", match.v.axes));
    add(packed, IntAttribute("kv_heads", match.kv_heads));
    add(match.softcap != 0, RealAttribute("softcap", match.softcap));
    add(match.dropout != 0, RealAttribute("dropout", match.dropout));
    add(match.causal, IntAttribute("causal", 1));
    add(match.triangular, IntAttribute("triangular", 1));
    add(match.spelled, IntAttribute("keeps_scores", 1));
    add(match.left >= 0, IntAttribute("left_window_size", match.left));
    add(match.right >= 0, IntAttribute("right_window_size", match.right));
    add(!match.kinds.empty(), {"masks", match.kinds});
    if (!match.y_shape) {
      fused.outputs = {match.y};
      w_.Take();
      nodes().push_back(std::move(fused));
      return;
    }
    // The heads side by side, as the model has them.
    w_.Take();
    const TensorId heads = w_.ExtraOutput(fused, 0);
    nodes().push_back(std::move(fused));
    Node view;
    view.name = w_.UniqueNode(last.name + "/Reshape");
    view.op = "Reshape";
    view.scope = last.scope;
    view.opset = w_.opset();
    view.inputs = {heads, w_.Ints(match.y_shape->dims())};
    view.outputs = {match.y};
    nodes().push_back(std::move(view));
  }

  // Nodes that laid out operands for nobody else.
  void DropUnread(const std::vector<bool>& candidates) {
    std::vector<std::size_t> reads(graph().tensors.size(), 0);
    for (const Node& each : nodes()) {
      ForEachRead(each, [&](TensorId id) { ++reads[Index(id)]; });
    }
    for (const TensorId id : graph().outputs) ++reads[Index(id)];
    std::vector<bool> unread(nodes().size(), false);
    for (std::size_t n = nodes().size(); n-- > 0;) {
      const Node& each = nodes()[n];
      if (n >= candidates.size() || !candidates[n]) continue;
      unread[n] = std::all_of(each.outputs.begin(), each.outputs.end(), [&](TensorId id) {
        return id == kNoTensor || reads[Index(id)] == 0;
      });
      if (unread[n]) ForEachRead(each, [&](TensorId id) { --reads[Index(id)]; });
    }
    std::size_t n = 0;
    std::erase_if(nodes(), [&](const Node&) { return unread[n++]; });
  }

  NodeWriter& w_;
  const AttentionFusion& options_;
  std::vector<std::size_t> producer_;              // per tensor
  std::vector<std::vector<std::size_t>> readers_;  // per tensor; kNone for the graph's own
  std::vector<bool> trained_;                      // per tensor: some parameter is behind it
  std::map<std::size_t, Match> matches_;           // by the node in whose place the kernel is
  std::unordered_map<std::size_t, bool> gone_;
  std::unordered_map<TensorId, Shape> packed_shape_;  // heads apart
  std::vector<std::size_t> unpacking_;                // nodes between packed operands and the three
};

}  // namespace

void FuseAttention(NodeWriter& writer, const std::vector<TensorId>& parameters,
                   const AttentionFusion& options) {
  if (!options.fuses) return;
  writer.Take();
  AttentionFuser(writer, parameters, options).Run();
}

}  // namespace dlcost
