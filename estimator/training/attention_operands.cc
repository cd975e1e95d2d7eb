#include "estimator/training/attention_operands.h"

#include "models/operators/fused_attention.h"
#include "models/operators/transpose.h"

namespace dlcost {
namespace {

constexpr int kMostLayoutSteps = 16;  // above an operand

using Axes = std::vector<std::int64_t>;

// Heads that groups of queries share, before each was repeated: [b, h, l, w] as [b, h, 1, l, w],
// expanded to [b, h, g, l, w], as [b, h g, l, w]. kNoTensor for anything else.
TensorId BeforeRepeating(const Uses& uses, const AttentionOperand& operand) {
  if (operand.axes != Axes{0, 1, 2, 3}) return kNoTensor;
  const std::size_t joined = uses.Maker(operand.id);
  if (!uses.Is(joined, "Reshape")) return kNoTensor;
  const std::size_t expand = uses.Maker(uses.In(joined, 0));
  if (!uses.Is(expand, "Expand")) return kNoTensor;
  const std::size_t parted = uses.Maker(uses.In(expand, 0));
  if (!uses.Is(parted, "Unsqueeze") && !uses.Is(parted, "Reshape")) return kNoTensor;
  const Shape *whole = uses.ShapeOf(operand.id), *all = uses.ShapeOf(uses.In(joined, 0)),
              *one = uses.ShapeOf(uses.In(expand, 0)), *own = uses.ShapeOf(uses.In(parted, 0));
  if (whole == nullptr || all == nullptr || one == nullptr || own == nullptr) return kNoTensor;
  if (own->rank() != 4 || one->rank() != 5 || all->rank() != 5) return kNoTensor;
  const auto [b, h, l, w] = std::array{(*own)[0], (*own)[1], (*own)[2], (*own)[3]};
  const std::int64_t g = (*all)[2];
  const bool fits = *one == Shape({b, h, 1, l, w}) && *all == Shape({b, h, g, l, w}) &&
                    (*whole)[0] == b && (*whole)[1] == (Count(h) * g).value() && (*whole)[2] == l &&
                    (*whole)[3] == w;
  return fits ? uses.In(parted, 0) : kNoTensor;
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
    } else if (const TensorId shared = BeforeRepeating(uses, operand); shared != kNoTensor) {
      operand.id = shared;
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
