#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/attention_core.h"
#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"
#include "models/operators/linear_attention.h"

namespace dlcost {
namespace {

// ONNX Runtime's operators around linear attention and hyper-connections. Counting:
// GatedDeltaNet: linear_attention.h, in f32 where the state is; qk_l2_norm: per element of q and k
// 2 multiplications and 1 addition, per head 1 root; gate_activation 'qwen': per decay 1 exp, 2
// additions, 1 log, 1 multiplication, and 1 exp for the bias; beta_activation: a sigmoid per beta.
// LinearAttentionGate: per element 1 addition, Softplus, 1 multiplication; a sigmoid per b.
// EngramGate: two RMS norms (mean square, 2 muls per element), their product summed, gate and
// product. Hyper-connections are small products over the C streams: C MACs per output.

// [tokens, heads, size] or [batch, length, heads, size].
Count Tokens(const Shape& x) { return x.Product(0, x.rank() - 2); }

// Inputs: query, key, value, cu_seqlens, decay, beta, initial_state [batch, heads, v, qk], ...
LinearAttentionShape DeltaShape(const OpContext& ctx) {
  const Shape& q = ctx.InputShape(0);
  LinearAttentionShape shape;
  shape.rule = UpdateRuleOf(ctx);
  shape.type = DType::kFloat32;
  if (ctx.HasInput(1) && ctx.HasInput(2)) {
    const Shape& v = ctx.InputShape(2);
    if (q.rank() < 3 || v.rank() < 3) throw Error("query {}, value {}", ToString(q), ToString(v));
    shape.tokens = Tokens(q).value();
    shape.q_heads = q.At(-2);
    shape.qk_dim = q.At(-1);
    shape.kv_heads = v.At(-2);
    shape.v_dim = v.At(-1);
  } else {  // packed side by side; the state tells the sizes
    RequireRank(ctx, 6, 4);
    const Shape& state = ctx.InputShape(6);
    shape.kv_heads = state[1];
    shape.v_dim = state[2];
    shape.qk_dim = state[3];
    const Count qk = Count(q.At(-1)) - Count(shape.kv_heads) * shape.v_dim;
    shape.q_heads = HeadSize(qk.value(), std::max<std::int64_t>(2 * shape.qk_dim, 1));
    shape.tokens = q.Product(0, q.rank() - 1).value();
  }
  if (ctx.HasInput(6)) {
    shape.batch = ctx.InputDim(6, 0);
  } else if (ctx.HasInput(3)) {
    shape.batch = ctx.InputDim(3, 0) - 1;
  } else {
    throw Error("neither cu_seqlens nor initial_state tells the batch");
  }
  if (ctx.HasInput(4) && shape.tokens > 0) {
    const Count decays = ctx.InputShape(4).Elements() / (Count(shape.tokens) * shape.kv_heads);
    shape.decays = decays.value();
  }
  return shape;
}

void InferDeltaNet(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  for (const int i : {1, 2}) ctx.SetOutputType(i, DType::kFloat32);
  const LinearAttentionShape s = DeltaShape(ctx);
  const Shape& q = ctx.InputShape(0);
  std::vector<std::int64_t> dims(q.begin(), q.end() - (ctx.HasInput(1) ? 2 : 1));
  dims.push_back(std::max(s.q_heads, s.kv_heads));
  dims.push_back(s.v_dim);
  ctx.SetOutput(0, ctx.InputType(0), Shape(std::move(dims)));
  ctx.SetOutput(1, DType::kFloat32, {s.batch, s.kv_heads, s.v_dim, s.qk_dim});
  const Count row = Count(s.kv_heads) + Count(s.q_heads) * s.qk_dim + Count(s.kv_heads) * s.v_dim;
  ctx.SetOutput(2, DType::kFloat32, {s.batch, (row * ctx.Int("state_update_capacity", 0)).value()});
}

OpCost CostDeltaNet(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const LinearAttentionShape s = DeltaShape(ctx);
  AddLinearAttention(cost, s);
  const Count betas = Count(s.tokens) * s.kv_heads;
  if (ctx.Int("qk_l2_norm", 0) != 0) {
    const Count heads = Count(s.tokens) * s.q_heads * 2;
    cost.work.Add(OpClass::kMul, s.type, heads * s.qk_dim * 2);
    cost.work.Add(OpClass::kAdd, s.type, Folds(heads * s.qk_dim, heads));
    cost.work.Add(OpClass::kSqrt, s.type, heads);
  }
  if (ctx.String("gate_activation", "none") == "qwen") {
    const Count decays = betas * s.decays;
    cost.work.Add(OpClass::kExp, s.type, decays + Count(s.kv_heads));
    cost.work.Add(OpClass::kAdd, s.type, decays * 2);
    cost.work.Add(OpClass::kLog, s.type, decays);
    cost.work.Add(OpClass::kMul, s.type, decays);
  }
  if (ctx.String("beta_activation", "none") == "sigmoid") {
    AddActivation(cost.work, s.type, "sigmoid", betas);
  }
  return cost;
}

// Inputs: a [batch, length, heads], dt_bias, decay_scale, b.
void InferGate(OpContext& ctx) {
  ctx.SetOutput(0, ctx.InputType(0), ctx.InputShape(0));
  if (ctx.HasInput(3)) ctx.SetOutput(1, ctx.InputType(3), ctx.InputShape(3));
}

OpCost CostGate(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  cost.work.Add(OpClass::kAdd, DType::kFloat32, elements);
  AddActivation(cost.work, DType::kFloat32, "softplus", elements);
  cost.work.Add(OpClass::kMul, DType::kFloat32, elements);
  if (ctx.HasInput(3)) {
    AddActivation(cost.work, DType::kFloat32, "sigmoid", ctx.InputShape(3).Elements());
  }
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// Inputs: input [tokens, channels], weight [channels, 1, kernel], lengths, bias, state, ...
void InferVarlenConv(OpContext& ctx) {
  for (const int i : {0, 1, 2}) ctx.SetOutputType(i, ctx.InputType(0));
  ctx.SetOutput(0, ctx.InputType(0), ctx.InputShape(0));
  ctx.SetOutput(1, ctx.InputType(0), ctx.InputShape(4));
  ctx.SetOutput(2, ctx.InputType(0),
                {ctx.InputDim(4, 0), ctx.Int("state_update_capacity", 0), ctx.InputDim(4, 1)});
}

OpCost CostVarlenConv(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const DType type = ctx.InputType(0);
  const Count elements = ctx.InputShape(0).Elements();
  cost.work.Add(OpClass::kMac, type, elements * ctx.InputDim(1, -1));
  if (ctx.HasInput(3)) cost.work.Add(OpClass::kAdd, type, elements);
  const std::string activation = ctx.String("activation", "none");
  if (activation != "none") AddActivation(cost.work, type, activation, elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// Inputs: key, query [batch, length, C, H], value [batch, length, H], norm scales.
void InferEngram(OpContext& ctx) {
  ctx.SetOutput(0, ctx.InputType(0), ctx.InputShape(0));
  ctx.SetOutput(1, ctx.InputType(0), ctx.InputShape(0));
}

OpCost CostEngram(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Shape& key = ctx.InputShape(0);
  const Count elements = key.Elements();
  const Count rows = key.Product(0, key.rank() - 1);
  const DType type = DType::kFloat32;
  const auto norm = [&] {
    AddMeanSquare(cost.work, type, elements, rows);
    cost.work.Add(OpClass::kMul, type, elements * 2);
  };
  norm();
  norm();
  cost.work.Add(OpClass::kMac, type, elements);
  cost.work.Add(OpClass::kMul, type, rows * 2);      // scale, sign
  cost.work.Add(OpClass::kCompare, type, rows * 2);  // magnitude, floor
  cost.work.Add(OpClass::kSqrt, type, rows);
  AddActivation(cost.work, type, "sigmoid", rows);
  cost.work.Add(OpClass::kMul, type, elements);
  if (ctx.HasOutput(1)) norm();
  cost.nest = ReduceNest{.outer = rows, .reduce = key.At(-1)};
  return cost;
}

// streams [..., C, H], or [..., C * H] with num_branches C.
std::int64_t Branches(const OpContext& ctx) {
  const std::int64_t given = ctx.Int("num_branches", 0);
  return given > 0 ? given : ctx.InputDim(0, -2);
}

void InferPreMix(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  std::vector<std::int64_t> dims = ctx.InputShape(0).dims();
  if (ctx.Int("num_branches", 0) > 0) {
    if (dims.empty()) throw Error("the streams are a scalar");
    dims.back() = HeadSize(dims.back(), Branches(ctx));
  } else {
    if (dims.size() < 2) throw Error("the streams have no branch axis");
    dims.erase(dims.end() - 2);
  }
  ctx.SetOutput(0, ctx.InputType(0), Shape(std::move(dims)));
}

OpCost CostPreMix(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count outputs = ctx.OutputShape(0).Elements();
  cost.work.Add(OpClass::kMac, ctx.InputType(0), ctx.InputShape(0).Elements());
  if (ctx.Float("reduction_scale", 1) != 1) {
    cost.work.Add(OpClass::kMul, ctx.InputType(0), outputs);
  }
  cost.nest = ReduceNest{.outer = outputs, .reduce = Branches(ctx)};
  return cost;
}

// Without a stream matrix the streams pass as they are.
OpCost CostPostMix(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count elements = ctx.InputShape(0).Elements();
  if (ctx.HasInput(3)) cost.work.Add(OpClass::kMac, ctx.InputType(0), elements * Branches(ctx));
  cost.work.Add(OpClass::kMac, ctx.InputType(0), elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// 2 tokens, 2 value heads over 1 query head, state 4x3: per token and head 36 MACs, 12 + 3 + 3
// muls, 3 subtractions.
constexpr OpCase kDeltaNetCases[] = {
    {.what = "gated delta rule, one sequence",
     .inputs = "f16[2,1,4] f16[2,1,4] f16[2,2,3] _ f32[2,2] f32[2,2] f32[1,2,3,4]",
     .outputs = "f16[2,2,3] f32[1,2,3,4]",
     .macs = 4 * 36,
     .flops = 4 * (72 + 18 + 3),
     .bytes_read = 2 * (8 + 8 + 12) + 4 * (4 + 4 + 24),
     .bytes_written = 24 + 96},
};

// 12 elements: 1 add, Softplus 1 add, 1 mul; sigmoid 2.
constexpr OpCase kGateCases[] = {
    {.what = "decay and beta",
     .inputs = "f16[1,3,4] f32[4] f32[4] f16[1,3,4]",
     .outputs = "f16[1,3,4] f16[1,3,4]",
     .flops = 12 * 5,
     .bytes_read = 24 + 32 + 24,
     .bytes_written = 48},
};

constexpr OpCase kVarlenConvCases[] = {
    {.what = "5 tokens of 2 sequences, kernel 3, bias",
     .inputs = "f16[5,4] f16[4,1,3] i32[3] f16[4] f16[2,4,2]",
     .outputs = "f16[5,4] f16[2,4,2]",
     .macs = 60,
     .flops = 120 + 20,
     .bytes_read = 2 * (20 + 12 + 4 + 16) + 12,
     .bytes_written = 40 + 32},
};

// 24 elements in 6 rows. Norm: 24 + 48 mul, 18 + 6 add, 6 div, 6 sqrt = 108, twice; per row 2 + 2 +
// 1
// + 2 (sigmoid); 24 products.
constexpr OpCase kEngramCases[] = {
    {.what = "two streams of width 4",
     .inputs = "f32[1,3,2,4] f32[1,3,2,4] f32[1,3,4] f32[2,4] f32[2,4]",
     .outputs = "f32[1,3,2,4]",
     .macs = 24,
     .flops = 48 + 2 * 108 + 6 * 7 + 24,
     .bytes_read = 4 * (24 + 24 + 12 + 8 + 8),
     .bytes_written = 96},
};

constexpr OpCase kPreMixCases[] = {
    {.what = "2 streams of width 4",
     .inputs = "f32[1,3,2,4] f32[1,3,2]",
     .outputs = "f32[1,3,4]",
     .macs = 24,
     .flops = 48,
     .bytes_read = 96 + 24,
     .bytes_written = 48},
};

constexpr OpCase kPostMixCases[] = {
    {.what = "2 streams of width 4, mixed: 2 + 1 MACs per element",
     .inputs = "f32[1,3,2,4] f32[1,3,4] f32[1,3,2] f32[1,3,2,2]",
     .outputs = "f32[1,3,2,4]",
     .macs = 72,
     .flops = 144,
     .bytes_read = 96 + 48 + 24 + 48,
     .bytes_written = 96},
};

constexpr ContribOps kMakeContribLinearAttention;

constexpr OpDef kContribLinearAttentionOps[] = {
    kMakeContribLinearAttention(
        "GatedDeltaNet", "per token MACs = qk_dim * v_dim * 3 heads (2 without the delta rule)",
        InferDeltaNet, CostDeltaNet, kDeltaNetCases),
    kMakeContribLinearAttention("LinearAttentionGate",
                                "1 add, Softplus, 1 mul per element; a sigmoid per b", InferGate,
                                CostGate, kGateCases),
    kMakeContribLinearAttention("VarlenCausalConvWithState", "MACs = elements * kernel",
                                InferVarlenConv, CostVarlenConv, kVarlenConvCases),
    kMakeContribLinearAttention("EngramGate",
                                "two RMS norms, 1 MAC and 1 mul per element, a gate per row",
                                InferEngram, CostEngram, kEngramCases),
    kMakeContribLinearAttention("HyperConnectionPreMix", "MACs = elements of the streams",
                                InferPreMix, CostPreMix, kPreMixCases),
    kMakeContribLinearAttention("HyperConnectionPostMix",
                                "MACs = elements of the streams * (branches + 1)", InferSameAsInput,
                                CostPostMix, kPostMixCases),
};

}  // namespace

std::span<const OpDef> ContribLinearAttentionOps() { return kContribLinearAttentionOps; }

}  // namespace dlcost
