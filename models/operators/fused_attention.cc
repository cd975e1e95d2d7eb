#include "models/operators/fused_attention.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/attention_core.h"
#include "models/operators/common.h"

namespace dlcost {
namespace {

// Attention as one kernel that training keeps no scores of, and its way back as one (Dao,
// "FlashAttention-2", arXiv 2307.08691): dlcost's own, as ONNX's Attention has neither dropout nor
// what the way back needs.
//
// FusedAttention: q, k, v and any number of masks that broadcast to [batch, heads, queries, keys],
// to y and, in training, the logarithm of each row's sum [batch, heads, queries]. Without k and v,
// q holds the heads of all three, `kv_heads` of keys and of values last. Attributes: q_axes,
// k_axes, v_axes, y_axes say how operands lie in memory (AttentionAxes); scale; softcap; causal;
// masks (per mask: "add", "keep" where it is true, "drop" where it is true); triangular: the masks
// hide what lies above the diagonal; left_window_size, right_window_size; dropout: the share of
// probabilities that is dropped. Counting: attention_core.h; per score 1 comparison and 1
// multiplication for dropout, 1 operation per mask; per row 1 logarithm and 1 addition for its sum.
//
// FusedAttentionGrad: gradient of y; q, k, v; y; the sums; masks. Outputs: gradients of q, k and v.
// Counting, with D = sum(dY Y) per row: per score 2 (qk_dim + v_dim) MACs, 1 addition (dP - D), 1
// multiplication (by P), 1 by the scale; 1 comparison and 2 multiplications for dropout, softcap 2
// multiplications and 1 addition; per row v_dim multiplications and v_dim - 1 additions. Without
// keeps_scores also what makes the probabilities again: qk_dim MACs, the scale, the cap, masks, 1
// addition and 1 exponential per score.

struct Operands {
  int q, k, v, masks;  // indices of inputs
};
constexpr Operands kForward = {0, 1, 2, 3};
constexpr Operands kBackward = {1, 2, 3, 6};

AttentionCore FusedCoreOf(const OpContext& ctx, const Operands& at) {
  const auto extents = [&](int input, std::string_view axes) {
    return AttentionExtents(ctx.InputShape(input), AttentionAxes(ctx, axes));
  };
  const auto q = extents(at.q, "q_axes");
  AttentionCore core{.batch = q[0],
                     .q_heads = q[1],
                     .kv_heads = q[1],
                     .q_len = q[2],
                     .kv_len = q[2],
                     .qk_dim = q[3],
                     .v_dim = q[3],
                     .type = ctx.InputType(at.q)};
  if (ctx.HasInput(at.k) != ctx.HasInput(at.v)) throw Error("keys and values come together");
  if (ctx.HasInput(at.k)) {
    const auto k = extents(at.k, "k_axes"), v = extents(at.v, "v_axes");
    if (k[0] != q[0] || v[0] != q[0]) throw Error("{}, {} and {} samples", q[0], k[0], v[0]);
    if (k[3] != q[3]) throw Error("queries have {} numbers per head, keys {}", q[3], k[3]);
    if (k[2] != v[2]) throw Error("{} keys, {} values", k[2], v[2]);
    if (k[1] != v[1]) throw Error("{} heads of keys, {} of values", k[1], v[1]);
    core.kv_heads = k[1];
    core.kv_len = k[2];
    core.v_dim = v[3];
  } else {
    core.kv_heads = ctx.RequiredInt("kv_heads");
    if (core.kv_heads < 1 || core.kv_heads > q[1] / 2) {
      throw Error("{} heads do not hold keys and values of {} each", q[1], core.kv_heads);
    }
    core.q_heads = q[1] - 2 * core.kv_heads;
  }
  if (core.kv_heads < 1 || core.q_heads % core.kv_heads != 0) {
    throw Error("{} heads of queries do not share {} of keys", core.q_heads, core.kv_heads);
  }
  core.causal = ctx.Int("causal", 0) != 0 || ctx.Int("triangular", 0) != 0;
  core.softcap = ctx.Float("softcap", 0) != 0;
  core.added_masks = 0;
  for (int i = at.masks; i < ctx.NumInputs(); ++i) core.added_masks += ctx.HasInput(i) ? 1 : 0;
  core.left = ctx.Int("left_window_size", -1);
  core.right = ctx.Int("right_window_size", -1);
  PlaceInMiddle(core, ctx);
  return core;
}

// Masks that hide what lies above the diagonal and follow from positions alone are computed.
void LeaveOutMasks(OpCost& cost, const OpContext& ctx, const Operands& at) {
  if (ctx.Int("triangular", 0) == 0) return;
  std::erase_if(cost.accesses, [&](const Access& access) {
    if (access.is_output || access.operand < at.masks) return false;
    const Tensor& mask = ctx.Input(access.operand);
    return mask.constant || mask.foldable;
  });
}

DType SumType(DType type) { return type == DType::kFloat64 ? type : DType::kFloat32; }

void InferFusedAttention(OpContext& ctx) {
  const AttentionCore core = FusedCoreOf(ctx, kForward);
  const std::array<std::int64_t, 4> extents = {core.batch, core.q_heads, core.q_len, core.v_dim};
  std::vector<std::int64_t> y;
  for (const std::int64_t axis : AttentionAxes(ctx, "y_axes")) {
    y.push_back(extents[static_cast<std::size_t>(axis)]);
  }
  ctx.SetOutput(0, ctx.InputType(0), Shape(std::move(y)));
  ctx.SetOutput(1, SumType(ctx.InputType(0)), {core.batch, core.q_heads, core.q_len});
}

OpCost CostFusedAttention(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  LeaveOutMasks(cost, ctx, kForward);
  const AttentionCore core = FusedCoreOf(ctx, kForward);
  AddAttention(cost, core);
  if (ctx.Float("dropout", 0) != 0) {
    cost.work.Add(OpClass::kCompare, core.type, core.Scores());
    cost.work.Add(OpClass::kMul, core.type, core.Scores());
  }
  if (ctx.HasOutput(1)) {
    cost.work.Add(OpClass::kLog, SumType(core.type), core.Rows());
    cost.work.Add(OpClass::kAdd, SumType(core.type), core.Rows());
  }
  return cost;
}

void InferFusedAttentionGrad(OpContext& ctx) {
  const bool packed = !ctx.HasInput(kBackward.k);
  for (const int i : {0, 1, 2}) {
    // Heads of all three lie in q; their gradients each have their own.
    if (packed) {
      const AttentionCore core = FusedCoreOf(ctx, kBackward);
      Shape shape = ctx.InputShape(kBackward.q);
      const std::vector<std::int64_t> axes = AttentionAxes(ctx, "q_axes");
      for (std::size_t a = 0; a < axes.size(); ++a) {
        if (axes[a] == 1) shape[a] = i == 0 ? core.q_heads : core.kv_heads;
      }
      ctx.SetOutput(i, ctx.InputType(kBackward.q), std::move(shape));
    } else {
      ctx.SetOutput(i, ctx.InputType(1 + i), ctx.InputShape(1 + i));
    }
  }
}

OpCost CostFusedAttentionGrad(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  LeaveOutMasks(cost, ctx, kBackward);
  const AttentionCore core = FusedCoreOf(ctx, kBackward);
  const bool keeps = ctx.Int("keeps_scores", 0) != 0;
  AttentionNest nest = NestOf(core);
  nest.backward = true;
  nest.counts_scores = !keeps;
  const DType type = core.type;
  const Count scores = core.Scores(), rows = core.Rows();
  const bool drops = ctx.Float("dropout", 0) != 0;
  const auto add = [&](OpClass what, Count number, std::int64_t times) {
    cost.work.Add(what, type, number * times);
  };
  add(OpClass::kMac, MacsOf(nest), 1);
  add(OpClass::kAdd, scores, 1 + (core.softcap ? 1 : 0));
  add(OpClass::kMul, scores, 2 + (drops ? 2 : 0) + (core.softcap ? 2 : 0));
  if (drops) add(OpClass::kCompare, scores, 1);
  add(OpClass::kMul, rows, core.v_dim);
  add(OpClass::kAdd, rows, std::max<std::int64_t>(0, core.v_dim - 1));
  if (!keeps) {
    add(OpClass::kMul, scores, 1 + (core.softcap ? 1 : 0));
    if (core.softcap) {
      add(OpClass::kDiv, scores, 1);
      add(OpClass::kTrig, scores, 1);
    }
    add(OpClass::kAdd, scores, core.added_masks + 1);
    add(OpClass::kExp, scores, 1);
  }
  cost.nest = nest;
  const std::int64_t right =
      !core.causal ? core.right : (core.right < 0 ? 0 : std::min<std::int64_t>(core.right, 0));
  if (right >= 0 || core.left >= 0) {
    cost.valid_macs = Macs(ValidScores(core.q_len, core.kv_len, core.offset, core.left, right) *
                           core.batch * core.q_heads * MacsPerScore(nest));
    cost.note = "all scores are counted, masked ones included";
  }
  return cost;
}

// 2 * 3 heads, 4 queries, 5 keys: 120 scores in 24 rows, 8 + 8 MACs each; per score the scale and 4
// for the softmax less 2 per row; a mask; dropout.
constexpr OpCase kForwardCases[] = {
    {.what = "queries [batch, length, heads, width], keys transposed, a mask, dropout, sums kept",
     .attributes = "q_axes=[0,2,1,3] k_axes=[0,1,3,2] y_axes=[0,2,1,3] masks=['add'] dropout=0.1",
     .inputs = "f32[2,4,3,8] f32[2,3,8,5] f32[2,3,5,8] f32[4,5]",
     .outputs = "f32[2,4,3,8] f32[2,3,4]",
     .macs = 120 * 16,
     .flops = 2 * 120 * 16 + 120 + 120 + 4 * 120 - 2 * 24 + 2 * 120 + 24,
     .bytes_read = 4 * (192 + 240 + 240 + 20),
     .bytes_written = 4 * (192 + 24)},
    {.what = "packed, 4 heads of queries share 2 of keys and of values: 72 scores in 24 rows",
     .attributes = "q_axes=[0,2,1,3] y_axes=[0,2,1,3] kv_heads=2 causal=1",
     .inputs = "f16[2,3,8,4]",
     .outputs = "f16[2,3,4,4]",
     .macs = 72 * 8,
     .flops = 2 * 72 * 8 + 72 + 4 * 72 - 2 * 24,
     .bytes_read = 2 * 192,
     .bytes_written = 2 * 96},
};

// The same 120 scores in 24 rows: 5 products of 8 each; per score 2 additions, 3 multiplications;
// per row 8 multiplications and 7 additions.
constexpr OpCase kBackwardCases[] = {
    {.what = "scores made again: five products",
     .inputs = "f32[2,3,4,8] f32[2,3,4,8] f32[2,3,5,8] f32[2,3,5,8] f32[2,3,4,8] f32[2,3,4]",
     .outputs = "f32[2,3,4,8] f32[2,3,5,8] f32[2,3,5,8]",
     .macs = 120 * 40,
     .flops = 2 * 120 * 40 + 5 * 120 + 15 * 24,
     .bytes_read = 4 * (192 + 192 + 240 + 240 + 192 + 24),
     .bytes_written = 4 * (192 + 240 + 240)},
    {.what = "where the graph keeps probabilities: four; packed",
     .attributes = "q_axes=[0,2,1,3] y_axes=[0,2,1,3] kv_heads=2 keeps_scores=1",
     .inputs = "f16[2,3,4,4] f16[2,3,8,4] _ _ f16[2,3,4,4] f32[2,4,3]",
     .outputs = "f16[2,3,4,4] f16[2,3,2,4] f16[2,3,2,4]",
     .macs = 72 * 16,
     .flops = 2 * 72 * 16 + 3 * 72 + 7 * 24,
     .bytes_read = 2 * (96 + 192 + 96) + 4 * 24,
     .bytes_written = 2 * 192},
};

constexpr OpDef kFusedAttentionOps[] = {
    {.name = kFusedAttention,
     .domain = "dlcost.training",
     .formula = "MACs = batch * q_heads * q_len * kv_len * (qk_dim + v_dim)",
     .infer = InferFusedAttention,
     .cost = CostFusedAttention,
     .cases = kForwardCases},
    {.name = kFusedAttentionGrad,
     .domain = "dlcost.training",
     .formula = "MACs = batch * q_heads * q_len * kv_len * (3 qk_dim + 2 v_dim); without qk_dim "
                "where the graph keeps its probabilities",
     .infer = InferFusedAttentionGrad,
     .cost = CostFusedAttentionGrad,
     .cases = kBackwardCases},
};

}  // namespace

std::vector<std::int64_t> AttentionAxes(const OpContext& ctx, std::string_view name) {
  std::vector<std::int64_t> axes = ctx.Ints(name, {0, 1, 2, 3});
  std::vector<std::int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  const bool distinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  if (sorted.empty() || !distinct || sorted.front() < 0 || sorted.back() > 3) {
    throw Error("{} is no order of the axes 0 to 3", name);
  }
  return axes;
}

std::array<std::int64_t, 4> AttentionExtents(const Shape& shape,
                                             const std::vector<std::int64_t>& order) {
  if (shape.rank() != order.size()) {
    throw Error("{} does not have the {} axes of its order", ToString(shape), order.size());
  }
  std::array<std::int64_t, 4> extents = {1, 1, 1, 1};
  for (std::size_t a = 0; a < order.size(); ++a) {
    extents[static_cast<std::size_t>(order[a])] = shape[a];
  }
  return extents;
}

std::span<const OpDef> FusedAttentionOps() { return kFusedAttentionOps; }

}  // namespace dlcost
