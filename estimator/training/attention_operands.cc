#include "estimator/training/attention_operands.h"

#include "models/operators/fused_attention.h"
#include "models/operators/transpose.h"

namespace dlcost {
namespace {

constexpr int kMostLayoutSteps = 16;  // above an operand

using Axes = std::vector<std::int64_t>;

// Heads that groups of queries share, before each was repeated: [b, h, l, w] as [b, h, 1, l, w],
// expanded to [b, h, g, l, w], which node `joined` reshapes to the elements of `whole`,
// [b, h g, l, w]. kNoTensor for anything else.
TensorId BeforeRepeating(const Uses& uses, std::size_t joined, const Shape& whole) {
  const std::size_t expand = uses.Maker(uses.In(joined, 0));
  if (!uses.Is(expand, "Expand")) return kNoTensor;
  const std::size_t parted = uses.Maker(uses.In(expand, 0));
  if (!uses.Is(parted, "Unsqueeze") && !uses.Is(parted, "Reshape")) return kNoTensor;
  const Shape *all = uses.ShapeOf(uses.In(joined, 0)), *one = uses.ShapeOf(uses.In(expand, 0)),
              *own = uses.ShapeOf(uses.In(parted, 0));
  if (all == nullptr || one == nullptr || own == nullptr) return kNoTensor;
  if (own->rank() != 4 || one->rank() != 5 || all->rank() != 5) return kNoTensor;
  const auto [b, h, l, w] = std::array{(*own)[0], (*own)[1], (*own)[2], (*own)[3]};
  const std::int64_t g = (*all)[2];
  const bool fits = *one == Shape({b, h, 1, l, w}) && *all == Shape({b, h, g, l, w}) &&
                    whole == Shape({b, (Count(h) * g).value(), l, w});
  return fits ? uses.In(parted, 0) : kNoTensor;
}

// The nodes that turn the last two axes of [b, h, l, w] where batch and heads are one axis, as
// torch.onnx's dynamo exporter writes keys: joined to [b h, l, w], turned, apart again.
struct Turn {
  std::size_t joined, turned, parted;
  Shape whole;  // before
};

std::optional<Turn> TurnOf(const Uses& uses, TensorId operand) {
  const std::size_t parted = uses.Maker(operand);
  if (!uses.Is(parted, "Reshape")) return std::nullopt;
  const std::size_t turned = uses.Maker(uses.In(parted, 0));
  if (!uses.Is(turned, "Transpose")) return std::nullopt;
  const std::size_t joined = uses.Maker(uses.In(turned, 0));
  if (!uses.Is(joined, "Reshape")) return std::nullopt;
  const Shape *last = uses.ShapeOf(operand), *rows = uses.ShapeOf(uses.In(turned, 0));
  if (last == nullptr || rows == nullptr || last->rank() != 4 || rows->rank() != 3 ||
      PermutationOf(uses.ContextOf(turned)) != Axes{0, 2, 1}) {
    return std::nullopt;
  }
  const Shape whole({(*last)[0], (*last)[1], (*last)[3], (*last)[2]});
  if (*rows != Shape({(Count(whole[0]) * whole[1]).value(), whole[2], whole[3]})) {
    return std::nullopt;
  }
  return Turn{joined, turned, parted, whole};
}

// An operand before a step that lays it out over several nodes; nullopt where there is none.
std::optional<AttentionOperand> BeforeSteps(const Uses& uses, const AttentionOperand& operand,
                                            std::vector<std::size_t>& laid_out) {
  AttentionOperand before = operand;
  std::vector<std::size_t> steps;
  std::size_t joined = uses.Maker(operand.id);
  const Shape* now = uses.ShapeOf(operand.id);
  if (now == nullptr || now->rank() != 4 || before.axes.size() != 4) return std::nullopt;
  Shape whole = *now;
  if (const std::optional<Turn> turn = TurnOf(uses, operand.id)) {
    std::swap(before.axes[2], before.axes[3]);
    joined = turn->joined;
    whole = turn->whole;
    steps = {turn->parted, turn->turned};
  }
  if (!uses.Is(joined, "Reshape")) return std::nullopt;
  before.id = before.axes == Axes{0, 1, 2, 3} ? BeforeRepeating(uses, joined, whole) : kNoTensor;
  if (before.id != kNoTensor) {
    const std::size_t expand = uses.Maker(uses.In(joined, 0));
    steps.insert(steps.end(), {joined, expand, uses.Maker(uses.In(expand, 0))});
  } else if (const Shape* own = uses.ShapeOf(uses.In(joined, 0)); own != nullptr && *own == whole) {
    before.id = uses.In(joined, 0);
    steps.push_back(joined);
  } else {
    return std::nullopt;
  }
  laid_out.insert(laid_out.end(), steps.begin(), steps.end());
  return before;
}

struct Part {
  TensorId all;
  std::int64_t heads, head;
  std::array<std::size_t, 2> unpacking;  // nodes between all and this part
};

// The tensor, [batch, length, ...], that an operand is part `part` of, in order.
std::optional<Part> PartOf(const Uses& uses, const AttentionOperand& operand, std::size_t part) {
  const std::size_t n = uses.Maker(operand.id);
  const Shape* shape = uses.ShapeOf(operand.id);
  if (n == Uses::kNone || shape == nullptr || shape->rank() != 4) return std::nullopt;
  if (operand.axes == Axes{0, 2, 1, 3} && uses.Is(n, "Reshape")) {
    const std::size_t split = uses.Maker(uses.In(n, 0));
    if (!uses.Is(split, "Split") || uses.node(split).outputs.size() != 3) return std::nullopt;
    const Shape* all = uses.ShapeOf(uses.In(split, 0));
    const std::int64_t axis = uses.ContextOf(split).Int("axis", 0);
    if (all == nullptr || all->rank() != 3 || (axis != 2 && axis != -1) ||
        uses.node(split).outputs[part] != uses.In(n, 0)) {
      return std::nullopt;
    }
    return Part{uses.In(split, 0), (*shape)[2], (*shape)[3], {split, n}};
  }
  // [batch, length, 3, heads, width], moved to [3, batch, heads, length, width], one of three.
  if (operand.axes == Axes{0, 1, 2, 3} && uses.Is(n, "Gather")) {
    const std::size_t moved = uses.Maker(uses.In(n, 0));
    const std::optional<double> index = uses.Number(uses.In(n, 1));
    if (!uses.Is(moved, "Transpose") || !index || *index != static_cast<double>(part) ||
        uses.ContextOf(n).Int("axis", 0) != 0 ||
        uses.ContextOf(moved).Ints("perm") != Axes{2, 0, 3, 1, 4}) {
      return std::nullopt;
    }
    const TensorId all = uses.In(moved, 0);
    if (uses.ShapeOf(all) == nullptr || uses.ShapeOf(all)->rank() != 5) return std::nullopt;
    return Part{all, (*shape)[1], (*shape)[3], {moved, n}};
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::array<std::int64_t, 4>> ExtentsOf(const Uses& uses,
                                                     const AttentionOperand& operand) {
  const Shape* shape = operand.heads_apart ? &*operand.heads_apart : uses.ShapeOf(operand.id);
  if (shape == nullptr || shape->rank() != operand.axes.size()) return std::nullopt;
  return AttentionExtents(*shape, operand.axes);
}

std::optional<TensorId> BesideFactor(const Uses& uses, std::size_t n, double& scale) {
  const bool divides = uses.node(n).op == "Div";
  for (const std::size_t side : {1U, 0U}) {
    const std::optional<double> factor = uses.Number(uses.In(n, side));
    if (!factor || *factor == 0 || (divides && side == 0)) continue;
    scale = divides ? scale / *factor : scale * *factor;
    return uses.In(n, 1 - side);
  }
  return std::nullopt;
}

AttentionOperand BeforeLayout(const Uses& uses, AttentionOperand operand,
                              std::vector<std::size_t>& laid_out) {
  for (int step = 0; step < kMostLayoutSteps; ++step) {
    const std::size_t n = uses.Maker(operand.id);
    if (n == Uses::kNone) break;
    if (uses.Is(n, "Transpose") && uses.ShapeOf(uses.In(n, 0)) != nullptr) {
      const Axes order = PermutationOf(uses.ContextOf(n));
      if (order.size() != operand.axes.size()) break;
      Axes axes(order.size());
      for (std::size_t a = 0; a < order.size(); ++a) {
        axes[static_cast<std::size_t>(order[a])] = operand.axes[a];
      }
      operand.axes = std::move(axes);
    } else if (uses.Is(n, "Mul") || uses.Is(n, "Div")) {
      const std::optional<TensorId> x = BesideFactor(uses, n, operand.scale);
      if (!x) break;
      laid_out.push_back(n);
      operand.id = *x;
      continue;
    } else if (const auto before = BeforeSteps(uses, operand, laid_out)) {
      operand = *before;
      continue;
    } else {
      break;
    }
    laid_out.push_back(n);
    operand.id = uses.In(n, 0);
  }
  return operand;
}

std::optional<PackedOperand> BeforeUnpacking(const Uses& uses, const AttentionOperand& q,
                                             const AttentionOperand& k, const AttentionOperand& v) {
  const auto queries = PartOf(uses, q, 0), keys = PartOf(uses, k, 1), values = PartOf(uses, v, 2);
  if (!queries || !keys || !values) return std::nullopt;
  if (queries->all != keys->all || queries->all != values->all) return std::nullopt;
  if (queries->head != keys->head || queries->head != values->head) return std::nullopt;
  if (keys->heads != values->heads) return std::nullopt;
  const Shape& shape = *uses.ShapeOf(queries->all);
  const std::int64_t heads = queries->heads + 2 * keys->heads;
  if (Count(shape[0]) * shape[1] * heads * queries->head != shape.Elements()) return std::nullopt;
  PackedOperand packed{.all = {.id = queries->all,
                               .axes = {0, 2, 1, 3},
                               .heads_apart = Shape({shape[0], shape[1], heads, queries->head})},
                       .kv_heads = keys->heads};
  for (const auto* part : {&queries, &keys, &values}) {
    packed.unpacking.insert(packed.unpacking.end(), (*part)->unpacking.begin(),
                            (*part)->unpacking.end());
  }
  return packed;
}

}  // namespace dlcost
