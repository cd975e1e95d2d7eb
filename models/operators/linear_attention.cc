#include "models/operators/linear_attention.h"

#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/attention_core.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Counting of LinearAttention: linear_attention.h.
// CausalConvWithState: a depthwise convolution, kernel MACs per element; 1 addition for the bias;
// the activation. The state is read and written once.

LinearAttentionShape ShapeOf(const OpContext& ctx) {
  for (const int input : {0, 1, 2}) RequireRank(ctx, input, 3);
  const Shape& q = ctx.InputShape(0);
  const Shape& k = ctx.InputShape(1);
  const Shape& v = ctx.InputShape(2);
  LinearAttentionShape shape;
  shape.batch = q[0];
  shape.tokens = (Count(q[0]) * q[1]).value();
  shape.q_heads = ctx.RequiredInt("q_num_heads");
  shape.kv_heads = ctx.RequiredInt("kv_num_heads");
  shape.qk_dim = HeadSize(q[2], shape.q_heads);
  shape.v_dim = HeadSize(v[2], shape.kv_heads);
  if (ctx.HasInput(4)) {
    RequireRank(ctx, 4, 3);
    shape.decays = HeadSize(ctx.InputDim(4, 2), shape.kv_heads);
  }
  // ONNX Runtime lets keys have fewer heads than values; the key size is that of the queries.
  if (shape.qk_dim == 0 || k[2] % shape.qk_dim != 0) {
    throw Error("keys {} do not divide into heads of {}", ToString(k), shape.qk_dim);
  }
  shape.rule = UpdateRuleOf(ctx);
  shape.type = ctx.InputType(0);
  return shape;
}

// ONNX Runtime can keep the states behind the last few tokens, in front.
Shape Windowed(const OpContext& ctx, Shape state) {
  const std::int64_t window = ctx.Int("state_window", 0);
  if (window <= 0) return state;
  std::vector<std::int64_t> dims = state.dims();
  dims.insert(dims.begin(), window);
  return Shape(std::move(dims));
}

void InferLinearAttention(OpContext& ctx) {
  const DType state = ctx.HasInput(3) ? ctx.InputType(3) : ctx.InputType(0);
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutputType(1, state);
  const LinearAttentionShape shape = ShapeOf(ctx);
  const std::int64_t heads = std::max(shape.q_heads, shape.kv_heads);
  ctx.SetOutput(0, ctx.InputType(0),
                {ctx.InputDim(0, 0), ctx.InputDim(0, 1), (Count(heads) * shape.v_dim).value()});
  ctx.SetOutput(1, state, Windowed(ctx, {shape.batch, shape.kv_heads, shape.qk_dim, shape.v_dim}));
}

OpCost CostLinearAttention(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddLinearAttention(cost, ShapeOf(ctx));
  return cost;
}

// Inputs as LinearAttention's, then the gradients of its outputs; outputs are the gradients of its
// inputs, the state's like the state that the forward pass hands on.
void InferLinearAttentionGrad(OpContext& ctx) {
  const LinearAttentionShape shape = ShapeOf(ctx);
  for (const int i : {0, 1, 2, 4, 5}) {
    if (ctx.HasOutput(i)) ctx.SetOutput(i, ctx.InputType(i), ctx.InputShape(i));
  }
  const DType state = ctx.HasInput(3) ? ctx.InputType(3) : ctx.InputType(0);
  ctx.SetOutput(3, state, {shape.batch, shape.kv_heads, shape.qk_dim, shape.v_dim});
}

OpCost CostLinearAttentionGrad(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  AddLinearAttentionGrad(cost, ShapeOf(ctx));
  return cost;
}

// Input [batch, channels, length], weight [channels, 1, kernel]. ONNX Runtime also takes more
// spatial axes, of which the last is causal, dilation, and [batch, length, channels...].
void InferCausalConv(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutputType(1, ctx.InputType(0));
  const Shape& x = ctx.InputShape(0);
  const Shape& w = ctx.InputShape(1);
  if (x.rank() < 3 || w.rank() < 3) {
    throw Error("input {} and weight {} are not a convolution's", ToString(x), ToString(w));
  }
  const bool last = ctx.Int("channels_last", 0) != 0;
  const Count channels = last ? x.Product(2, x.rank()) : Count(x[1]);
  if (Count(w[0]) != channels) {
    throw Error("input {} has {} channels, the weight {} has {}", ToString(x), channels,
                ToString(w), w[0]);
  }
  ctx.SetOutput(0, ctx.InputType(0), x);
  const Count reach = (Count(w[w.rank() - 1]) - Count(1)) * ctx.Int("dilation", 1);
  Shape state = x;
  state[last ? 1 : x.rank() - 1] = reach.value();
  ctx.SetOutput(1, ctx.InputType(0), Windowed(ctx, std::move(state)));
}

OpCost CostCausalConv(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Shape& w = ctx.InputShape(1);
  const DType type = ctx.InputType(0);
  const Count elements = ctx.InputShape(0).Elements();
  cost.work.Add(OpClass::kMac, type, elements * w.Product(1, w.rank()));
  if (ctx.HasInput(2)) cost.work.Add(OpClass::kAdd, type, elements);
  const std::string activation = ctx.String("activation", "none");
  if (activation != "none") AddActivation(cost.work, type, activation, elements);
  cost.nest = ElementwiseNest{elements};
  return cost;
}

// 2 tokens, 2 heads, state 4x3. Per token and head: decay 12 muls, retrieval 12, update 12 and
// output 12 MACs; 3 subtractions, 3 multiplications by beta, 3 by the scale.
constexpr OpCase kLinearAttentionCases[] = {
    {.what = "gated delta rule",
     .attributes = "q_num_heads=2 kv_num_heads=2",
     .inputs = "f32[1,2,8] f32[1,2,8] f32[1,2,6] f32[1,2,4,3] f32[1,2,2] f32[1,2,2]",
     .outputs = "f32[1,2,6] f32[1,2,4,3]",
     .macs = 4 * 36,
     .flops = 4 * (72 + 12 + 9),
     .bytes_read = 4 * (16 + 16 + 12 + 24 + 4 + 4),
     .bytes_written = 4 * (12 + 24)},
    {.what = "linear, one state for two query heads: 12 + 2 * 12 MACs",
     .attributes = "q_num_heads=2 kv_num_heads=1 update_rule='linear'",
     .inputs = "f32[1,2,8] f32[1,2,4] f32[1,2,3]",
     .outputs = "f32[1,2,6] f32[1,1,4,3]",
     .macs = 2 * 36,
     .flops = 2 * (72 + 6),
     .bytes_read = 4 * (16 + 8 + 6),
     .bytes_written = 4 * (12 + 12)},
};

// The first of the above back: per token and head 2 * 12 MACs of the states again, 4 * 12 of update
// and retrieval, 12 of the decay, 2 * 12 of the output, 3 of beta; 24 + 1 multiplications by the
// decay, 9 by scale and beta, 6 subtractions.
constexpr OpCase kLinearAttentionGradCases[] = {
    {.what = "gated delta rule",
     .attributes = "q_num_heads=2 kv_num_heads=2",
     .inputs = "f32[1,2,8] f32[1,2,8] f32[1,2,6] f32[1,2,4,3] f32[1,2,2] f32[1,2,2] f32[1,2,6]",
     .outputs = "f32[1,2,8] f32[1,2,8] f32[1,2,6] f32[1,2,4,3] f32[1,2,2] f32[1,2,2]",
     .macs = 4 * 111,
     .flops = 4 * (222 + 25 + 9 + 6),
     .bytes_read = 4 * (16 + 16 + 12 + 24 + 4 + 4 + 12),
     .bytes_written = 4 * (16 + 16 + 12 + 24 + 4 + 4)},
};

// 2 * 4 * 5 elements of 3 MACs, bias, SiLU (add, divide, multiply).
constexpr OpCase kCausalConvCases[] = {
    {.what = "kernel 3, with bias, state and SiLU",
     .attributes = "activation='silu'",
     .inputs = "f32[2,4,5] w:f32[4,1,3] w:f32[4] f32[2,4,2]",
     .outputs = "f32[2,4,5] f32[2,4,2]",
     .macs = 120,
     .flops = 240 + 40 + 120,
     .bytes_read = 4 * (40 + 12 + 4 + 16),
     .bytes_written = 4 * (40 + 16)},
};

constexpr OpDef kLinearAttentionOps[] = {
    {.name = "LinearAttention",
     .since = {27},
     .formula = "per token MACs = qk_dim * v_dim * (kv_heads (2 kv_heads for delta) + q_heads)",
     .infer = InferLinearAttention,
     .cost = CostLinearAttention,
     .cases = kLinearAttentionCases},
    {.name = "LinearAttention",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "per token MACs = qk_dim * v_dim * (kv_heads (2 kv_heads for delta) + q_heads)",
     .infer = InferLinearAttention,
     .cost = CostLinearAttention,
     .cases = kLinearAttentionCases},
    {.name = "LinearAttentionGrad",
     .domain = "dlcost.training",
     .formula = "per token MACs = qk_dim * v_dim * (kv_heads (3, 6 for delta, 1 for a decay) + 2 "
                "q_heads)",
     .infer = InferLinearAttentionGrad,
     .cost = CostLinearAttentionGrad,
     .role = FusionRole::kOpaque,
     .cases = kLinearAttentionGradCases},
    {.name = "CausalConvWithState",
     .since = {27},
     .formula = "MACs = elements * kernel",
     .infer = InferCausalConv,
     .cost = CostCausalConv,
     .cases = kCausalConvCases},
    {.name = "CausalConvWithState",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "MACs = elements * kernel",
     .infer = InferCausalConv,
     .cost = CostCausalConv,
     .cases = kCausalConvCases},
};

}  // namespace

std::span<const OpDef> LinearAttentionOps() { return kLinearAttentionOps; }

std::string UpdateRuleOf(const OpContext& ctx) {
  std::string rule = ctx.String("update_rule", "gated_delta");
  for (const char* known : {"linear", "gated", "delta", "gated_delta"}) {
    if (rule == known) return rule;
  }
  throw Error("update_rule '{}' is not one of linear, gated, delta, gated_delta", Printable(rule));
}

void AddLinearAttention(OpCost& cost, const LinearAttentionShape& shape) {
  const bool decays = shape.rule == "gated" || shape.rule == "gated_delta";
  const bool delta = shape.rule == "delta" || shape.rule == "gated_delta";
  const Count states = Count(shape.tokens) * shape.kv_heads;
  const Count queries = Count(shape.tokens) * std::max(shape.q_heads, shape.kv_heads);
  const Count state_size = Count(shape.qk_dim) * shape.v_dim;
  cost.work.Add(OpClass::kMac, shape.type, (states * Count(delta ? 2 : 1) + queries) * state_size);
  cost.work.Add(OpClass::kMul, shape.type, queries * shape.v_dim);
  if (decays) {
    cost.work.Add(OpClass::kExp, shape.type, states * shape.decays);
    cost.work.Add(OpClass::kMul, shape.type, states * state_size);
  }
  if (delta) {
    cost.work.Add(OpClass::kAdd, shape.type, states * shape.v_dim);
    cost.work.Add(OpClass::kMul, shape.type, states * shape.v_dim);
  }
  cost.note = "counted as the recurrence, token by token";
}

void AddLinearAttentionGrad(OpCost& cost, const LinearAttentionShape& shape) {
  const bool decays = shape.rule == "gated" || shape.rule == "gated_delta";
  const bool delta = shape.rule == "delta" || shape.rule == "gated_delta";
  const Count states = Count(shape.tokens) * shape.kv_heads;
  const Count queries = Count(shape.tokens) * std::max(shape.q_heads, shape.kv_heads);
  const Count state_size = Count(shape.qk_dim) * shape.v_dim;
  const Count per_state = Count(delta ? 6 : 3) + Count(decays ? 1 : 0);
  cost.work.Add(OpClass::kMac, shape.type, (states * per_state + queries * 2) * state_size);
  cost.work.Add(OpClass::kMul, shape.type, queries * shape.v_dim);
  if (decays) {
    cost.work.Add(OpClass::kExp, shape.type, states * shape.decays);
    cost.work.Add(OpClass::kMul, shape.type, states * (state_size * 2 + Count(shape.decays)));
  }
  if (delta) {
    cost.work.Add(OpClass::kMac, shape.type, states * shape.v_dim);
    cost.work.Add(OpClass::kAdd, shape.type, states * shape.v_dim * 2);
    cost.work.Add(OpClass::kMul, shape.type, states * shape.v_dim * 2);
  }
  cost.note = "counted as the recurrence, token by token";
}

}  // namespace dlcost
