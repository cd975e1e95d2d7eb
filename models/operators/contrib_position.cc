#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/attention_core.h"
#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Positions and padding in ONNX Runtime's transformers. Counting: rotation is 4 multiplications and
// 2 additions per pair, and reads the rows of cos and sin that the positions pick. The T5 position
// bias computes a bucket per (query, key) pair from integers: 1 log of their distance, then
// gathers. Removing and restoring padding moves rows.

// Inputs: input, position_ids, cos_cache, sin_cache [positions, pairs of a head].
OpCost CostRotary(const OpContext& ctx) {
  OpCost cost;
  const Shape& x = ctx.InputShape(0);
  RequireRank(ctx, 2, 2);
  const std::int64_t half = ctx.InputDim(2, 1);
  const std::int64_t given = ctx.Int("num_heads", 0);
  Count tokens, heads;
  if (x.rank() == 4) {  // [batch, heads, length, size]
    tokens = Count(x[0]) * x[2];
    heads = x[1];
  } else if (x.rank() == 3) {
    tokens = Count(x[0]) * x[1];
    heads = given > 0 ? given : HeadSize(x[2], std::max<std::int64_t>(half * 2, 1));
  } else {
    throw Error("input 0 {} is neither of rank 3 nor 4", ToString(x));
  }
  // One position for all is an offset; three streams of them (images) share the rows.
  const Count rows = std::min(tokens, Count(ctx.InputDim(2, 0)));
  AddRead(cost, ctx, 0);
  AddRead(cost, ctx, 1);
  AddPartialRead(cost, ctx, 2, rows * half, AccessKind::kGather);
  AddPartialRead(cost, ctx, 3, rows * half, AccessKind::kGather);
  AddWrite(cost, ctx, 0);
  const Count pairs = tokens * heads * half;
  cost.work.Add(OpClass::kMul, ctx.InputType(0), pairs * 4);
  cost.work.Add(OpClass::kAdd, ctx.InputType(0), pairs * 2);
  cost.nest = ElementwiseNest{x.Elements()};
  return cost;
}

// Inputs: angles, q, q rotated by half, k, k rotated by half.
void InferGemmaRotary(OpContext& ctx) {
  ctx.SetOutput(0, ctx.InputType(1), ctx.InputShape(1));
  ctx.SetOutput(1, ctx.InputType(3), ctx.InputShape(3));
}

OpCost CostGemmaRotary(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count outputs = ctx.InputShape(1).Elements() + ctx.InputShape(3).Elements();
  cost.work.Add(OpClass::kTrig, ctx.InputType(0), ctx.InputShape(0).Elements() * 2);
  cost.work.Add(OpClass::kMul, ctx.InputType(1), outputs * 2);
  cost.work.Add(OpClass::kAdd, ctx.InputType(1), outputs);
  cost.nest = ElementwiseNest{outputs};
  return cost;
}

// Inputs: table [buckets, heads], query length, key length.
void InferRelativeBias(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  RequireRank(ctx, 0, 2);
  const std::vector<std::int64_t> queries = ctx.InputInts(1), keys = ctx.InputInts(2);
  if (queries.size() != 1 || keys.size() != 1) throw Error("the lengths are not single numbers");
  ctx.SetOutput(0, ctx.InputType(0), {1, ctx.InputDim(0, 1), queries[0], keys[0]});
}

OpCost CostRelativeBias(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Shape& y = ctx.OutputShape(0);
  const Count pairs = Count(y[2]) * y[3];
  cost.work.Add(OpClass::kInteger, DType::kInt32, pairs);
  cost.work.Add(OpClass::kLog, DType::kFloat32, pairs);
  cost.nest = ElementwiseNest{y.Elements()};
  return cost;
}

// How many tokens are not padding is data: at most all.
void InferRemovePadding(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  for (const int i : {1, 2, 3}) ctx.SetOutputType(i, DType::kInt32);
  RequireRank(ctx, 0, 3);
  const Shape& x = ctx.InputShape(0);
  Count tokens = Count(x[0]) * x[1];
  const Value* lengths = ctx.InputValue(1);
  if (lengths != nullptr && lengths->is_integer()) {
    tokens = 0;
    for (const std::int64_t length : lengths->ints()) tokens += length;
  }
  ctx.SetOutput(0, ctx.InputType(0), {tokens.value(), x[2]});
  if (lengths == nullptr) ctx.MarkUpperBound(0);
  ctx.SetOutput(1, DType::kInt32, {x[0], x[1]});
  ctx.SetOutput(2, DType::kInt32, {(Count(x[0]) + Count(1)).value()});
  ctx.SetOutput(3, DType::kInt32, {1});
}

OpCost CostRemovePadding(const OpContext& ctx) {
  OpCost cost;
  AddPartialRead(cost, ctx, 0, ctx.OutputShape(0).Elements(), AccessKind::kGather);
  AddRead(cost, ctx, 1);
  for (int i = 0; i < ctx.NumOutputs(); ++i) AddWrite(cost, ctx, i);
  return cost;
}

void InferRestorePadding(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  RequireRank(ctx, 0, 2);
  RequireRank(ctx, 1, 2);
  ctx.SetOutput(0, ctx.InputType(0), {ctx.InputDim(1, 0), ctx.InputDim(1, 1), ctx.InputDim(0, 1)});
}

// 2 * 3 tokens, 4 heads, 4 pairs: 96 pairs of 6 operations.
constexpr OpCase kRotaryCases[] = {
    {.what = "packed heads, 6 positions of a cache of 50",
     .inputs = "f16[2,3,32] i64[2,3] f16[50,4] f16[50,4]",
     .outputs = "f16[2,3,32]",
     .flops = 96 * 6,
     .bytes_read = 384 + 48 + 2 * 48,
     .bytes_written = 384},
    {.what = "rank 4, half of each head",
     .attributes = "num_heads=4 rotary_embedding_dim=4",
     .inputs = "f16[2,4,3,8] i64[1] f16[50,2] f16[50,2]",
     .outputs = "f16[2,4,3,8]",
     .flops = 48 * 6,
     .bytes_read = 384 + 8 + 2 * 24,
     .bytes_written = 384},
};

constexpr OpCase kMRotaryCases[] = {
    {.what = "three streams of positions",
     .attributes = "mrope_section=[1,1,2]",
     .inputs = "f16[2,3,32] i64[3,2,3] f16[50,4] f16[50,4]",
     .outputs = "f16[2,3,32]",
     .flops = 96 * 6,
     .bytes_read = 384 + 144 + 2 * 48,
     .bytes_written = 384},
};

constexpr OpCase kGemmaRotaryCases[] = {
    {.what = "2 mul, 1 add per output",
     .inputs = "f32[1,3,8] f16[1,4,3,8] f16[1,4,3,8] f16[1,2,3,8] f16[1,2,3,8]",
     .outputs = "f16[1,4,3,8] f16[1,2,3,8]",
     .flops = 3 * (96 + 48),
     .bytes_read = 96 + 2 * (192 + 96),
     .bytes_written = 192 + 96},
};

constexpr OpCase kRelativeBiasCases[] = {
    {.what = "buckets are integer work",
     .attributes = "max_distance=128",
     .inputs = "f32[32,8] i64[]{5} i64[]{5}",
     .outputs = "f32[1,8,5,5]",
     .bytes_read = 1024 + 16,
     .bytes_written = 800},
};

constexpr OpCase kRemovePaddingCases[] = {
    {.what = "5 of 6 tokens",
     .inputs = "f32[2,3,4] i32[2]{3,2}",
     .outputs = "f32[5,4] i32[2,3] i32[3] i32[1]",
     .bytes_read = 80 + 8,
     .bytes_written = 80 + 24 + 12 + 4},
};

constexpr OpCase kRestorePaddingCases[] = {
    {.what = "5 tokens into 2 * 3",
     .inputs = "f32[5,4] i32[2,3]",
     .outputs = "f32[2,3,4]",
     .bytes_read = 80 + 24,
     .bytes_written = 96},
};

constexpr ContribOps kMakeContribPosition;

constexpr OpDef kContribPositionOps[] = {
    kMakeContribPosition("RotaryEmbedding", "4 mul, 2 add per rotated pair", InferSameAsInput,
                         CostRotary, kRotaryCases, FusionRole::kElementwise),
    kMakeContribPosition("MRotaryEmbedding", "4 mul, 2 add per rotated pair", InferSameAsInput,
                         CostRotary, kMRotaryCases, FusionRole::kElementwise),
    kMakeContribPosition("GemmaRotaryEmbedding", "2 trig per angle; 2 mul, 1 add per output",
                         InferGemmaRotary, CostGemmaRotary, kGemmaRotaryCases,
                         FusionRole::kElementwise),
    kMakeContribPosition("RelativePositionBias", "1 integer, 1 log per query and key; gathers",
                         InferRelativeBias, CostRelativeBias, kRelativeBiasCases,
                         FusionRole::kMovement),
    kMakeContribPosition("RemovePadding", "no arithmetic; moves the rows that are not padding",
                         InferRemovePadding, CostRemovePadding, kRemovePaddingCases,
                         FusionRole::kMovement),
    kMakeContribPosition("RestorePadding", "no arithmetic; moves rows", InferRestorePadding,
                         CostMove, kRestorePaddingCases, FusionRole::kMovement),
};

}  // namespace

std::span<const OpDef> ContribPositionOps() { return kContribPositionOps; }

}  // namespace dlcost
