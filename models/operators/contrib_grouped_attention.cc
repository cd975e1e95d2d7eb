#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/attention_core.h"
#include "models/operators/cache.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// ONNX Runtime's grouped-query attention with a key-value cache. Counting: attention_core.h, dense;
// rotation of queries and keys, 4 multiplications and 2 additions per pair; normalization of query
// and key heads, mean square and 2 multiplications per element; a sink or smooth softmax is 1 exp
// and 1 addition per row; a quantized cache is 1 conversion and 1 multiplication per element read.
// The cache grows in place (cache.h).

struct Grouped {
  AttentionCore core;
  std::int64_t new_keys = 0;
  std::int64_t buffer = 0;  // keys that the present cache has room for
};

std::int64_t KnownScalar(const OpContext& ctx, int input, std::int64_t fallback) {
  const Value* value = ctx.InputValue(input);
  return value != nullptr && value->is_integer() && value->size() == 1 ? value->ints()[0]
                                                                       : fallback;
}

// Inputs: query, key, value, past_key, past_value, ...; `total` is total_sequence_length.
Grouped ReadGrouped(const OpContext& ctx, int total) {
  RequireRank(ctx, 0, 3);
  const Shape& q = ctx.InputShape(0);
  Grouped g;
  AttentionCore& core = g.core;
  core.type = ctx.InputType(0);
  core.q_heads = ctx.RequiredInt("num_heads");
  core.kv_heads = ctx.RequiredInt("kv_num_heads");
  if (core.q_heads < 1 || core.kv_heads < 1 || core.q_heads % core.kv_heads != 0) {
    throw Error("{} query heads, {} key and value heads", core.q_heads, core.kv_heads);
  }
  const bool packed = !ctx.HasInput(1);
  core.batch = q[0];
  core.q_len = q[1];
  core.qk_dim = core.v_dim =
      HeadSize(q[2], packed ? core.q_heads + 2 * core.kv_heads : core.q_heads);
  g.new_keys = packed ? core.q_len : ctx.InputDim(1, 1);
  std::int64_t past = 0;
  if (ctx.HasInput(3)) {
    RequireRank(ctx, 3, 4);
    past = ctx.InputDim(3, 2);
  }
  const Count appended = Count(past) + Count(g.new_keys);
  const std::int64_t known = KnownScalar(ctx, total, -1);
  core.kv_len = known >= 0 ? known : appended.value();
  g.buffer = std::max(past, core.kv_len);
  core.offset = std::max<std::int64_t>(core.kv_len - core.q_len, 0);
  core.softcap = ctx.Float("softcap", 0) != 0;
  core.causal = ctx.Int("causal", 1) != 0;
  core.left = ctx.Int("local_window_size", -1);
  return g;
}

void InferGrouped(OpContext& ctx, int total) {
  for (const int i : {0, 3}) ctx.SetOutputType(i, ctx.InputType(0));
  for (const int i : {1, 2}) {
    ctx.SetOutputType(i, ctx.HasInput(i + 2) ? ctx.InputType(i + 2) : ctx.InputType(0));
  }
  const Grouped g = ReadGrouped(ctx, total);
  const AttentionCore& core = g.core;
  ctx.SetOutput(0, core.type, {core.batch, core.q_len, (Count(core.q_heads) * core.v_dim).value()});
  for (const int i : {1, 2}) {
    // A 4-bit cache keeps two numbers in a byte: its last axis is the past's.
    const std::int64_t size = ctx.HasInput(i + 2) ? ctx.InputDim(i + 2, 3) : core.qk_dim;
    if (!ctx.HasOutput(i)) continue;
    ctx.SetOutput(i, ctx.OutputType(i), {core.batch, core.kv_heads, g.buffer, size});
  }
  ctx.SetOutput(3, core.type, {core.batch, core.q_heads, core.q_len, core.kv_len});
}

// `cos` is the input with the cosines; sines follow.
void AddGroupedAccesses(OpCost& cost, const OpContext& ctx, const Grouped& g, int cos) {
  for (int i = 0; i < ctx.NumInputs(); ++i) {
    if ((i == cos || i == cos + 1) && ctx.HasInput(i)) {
      const Count rows = std::min(Count(g.core.batch) * g.core.q_len, Count(ctx.InputDim(i, 0)));
      AddPartialRead(cost, ctx, i, rows * ctx.InputDim(i, 1), AccessKind::kGather);
    } else {
      AddRead(cost, ctx, i);
    }
  }
  for (int i = 0; i < ctx.NumOutputs(); ++i) AddWrite(cost, ctx, i);
  Count filled = std::max(Count(g.core.kv_len) - Count(g.new_keys), Count(0));
  if (g.core.left >= 0) filled = std::min(filled, Count(g.core.left));
  for (const int i : {1, 2}) {
    GrowCache(cost, ctx, {.past = i + 2, .present = i, .filled = filled, .fresh = g.new_keys});
  }
}

// `cos` is the input with the cosines, or -1.
void AddRotation(OpCost& cost, const OpContext& ctx, const Grouped& g, int cos) {
  if (ctx.Int("do_rotary", 0) == 0) return;
  const AttentionCore& core = g.core;
  const std::int64_t half = ctx.HasInput(cos) ? ctx.InputDim(cos, -1) : core.qk_dim / 2;
  const Count heads =
      Count(core.batch) * (Count(core.q_len) * core.q_heads + Count(g.new_keys) * core.kv_heads);
  cost.work.Add(OpClass::kMul, core.type, heads * half * 4);
  cost.work.Add(OpClass::kAdd, core.type, heads * half * 2);
}

OpCost CostGroupQuery(const OpContext& ctx) {
  OpCost cost;
  Grouped g = ReadGrouped(ctx, 6);
  AttentionCore& core = g.core;
  AddGroupedAccesses(cost, ctx, g, 7);
  AddRotation(cost, ctx, g, 7);
  core.added_masks = ctx.HasInput(10) ? 1 : 0;
  if (ctx.HasInput(14)) {
    const Count heads =
        Count(core.batch) * (Count(core.q_len) * core.q_heads + Count(g.new_keys) * core.kv_heads);
    AddMeanSquare(cost.work, core.type, heads * core.qk_dim, heads);
    cost.work.Add(OpClass::kMul, core.type, heads * core.qk_dim * 2);
  }
  for (const int scale : {12, 13}) {
    if (!ctx.HasInput(scale)) continue;
    const Count read = Count(core.batch) * core.kv_heads * core.kv_len * core.qk_dim;
    cost.work.Add(OpClass::kConvert, core.type, read);
    cost.work.Add(OpClass::kMul, core.type, read);
  }
  if (ctx.HasInput(11) || ctx.Int("smooth_softmax", 0) != 0) {
    cost.work.Add(OpClass::kExp, core.type, core.Rows());
    cost.work.Add(OpClass::kAdd, core.type, core.Rows());
  }
  AddAttention(cost, core);
  return cost;
}

void InferGroupQuery(OpContext& ctx) { InferGrouped(ctx, 6); }
void InferSparseAttention(OpContext& ctx) { InferGrouped(ctx, 7); }

// Which blocks are kept is in the inputs; at most all of them.
OpCost CostSparseAttention(const OpContext& ctx) {
  OpCost cost;
  const Grouped g = ReadGrouped(ctx, 7);
  AddGroupedAccesses(cost, ctx, g, 9);
  AddRotation(cost, ctx, g, 9);
  AddAttention(cost, g.core);
  cost.note = "an upper bound: no block is taken for masked";
  return cost;
}

// Inputs: query [tokens, width], key, value, key_cache [blocks, block, kv_heads, size],
// value_cache, cumulative_sequence_length, past_seqlens, block_table [batch, blocks of a sequence],
// cos, sin.
void InferPaged(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  for (const int i : {1, 2}) {
    if (ctx.HasInput(i + 2)) ctx.SetOutput(i, ctx.InputType(i + 2), ctx.InputShape(i + 2));
  }
  RequireRank(ctx, 0, 2);
  const std::int64_t heads = ctx.RequiredInt("num_heads");
  const std::int64_t width = ctx.InputDim(0, 1);
  const bool latent = ctx.String("kv_cache_layout", "") == "LATENT";
  const bool packed = !ctx.HasInput(1);
  const std::int64_t size =
      HeadSize(width, packed ? heads + 2 * ctx.RequiredInt("kv_num_heads") : heads);
  const std::int64_t v_size = latent ? ctx.Int("v_head_size", size) : size;
  ctx.SetOutput(0, ctx.InputType(0), {ctx.InputDim(0, 0), (Count(heads) * v_size).value()});
}

// How many keys each sequence has is data: at most all of its blocks.
OpCost CostPaged(const OpContext& ctx) {
  OpCost cost;
  RequireRank(ctx, 3, 4);
  RequireRank(ctx, 7, 2);
  Grouped g;
  AttentionCore& core = g.core;
  core.type = ctx.InputType(0);
  core.q_heads = ctx.RequiredInt("num_heads");
  core.kv_heads = ctx.RequiredInt("kv_num_heads");
  core.q_len = g.new_keys = ctx.InputDim(0, 0);
  core.kv_len = (Count(ctx.InputDim(7, 1)) * ctx.InputDim(3, 1)).value();
  core.v_dim = HeadSize(ctx.OutputShape(0).At(1), core.q_heads);
  core.qk_dim = HeadSize(ctx.InputDim(0, 1),
                         ctx.HasInput(1) ? core.q_heads : core.q_heads + 2 * core.kv_heads);
  core.softcap = ctx.Float("softcap", 0) != 0;
  for (int i = 0; i < ctx.NumInputs(); ++i) {
    if ((i == 3 || i == 4) && ctx.HasInput(i)) {  // every sequence's own blocks
      const Count keys = Count(ctx.InputDim(7, 0)) * core.kv_len;
      AddPartialRead(cost, ctx, i, keys * ctx.InputShape(i).Product(2, 4), AccessKind::kGather);
    } else {
      AddRead(cost, ctx, i);
    }
  }
  AddWrite(cost, ctx, 0);
  for (const int i : {1, 2}) {
    if (!ctx.HasOutput(i) || !ctx.HasInput(i + 2)) continue;
    const Count elements = Count(g.new_keys) * ctx.InputShape(i + 2).Product(2, 4);
    cost.accesses.push_back(
        {true, i, AccessKind::kInPlace, SizeOf(ctx.OutputType(i), elements), i + 2});
  }
  AddRotation(cost, ctx, g, 8);
  AddAttention(cost, core);
  cost.note = "an upper bound: every sequence fills all blocks of its table";
  return cost;
}

// 2 * 4 * 3 * 8 = 192 scores in 24 rows, 8 + 8 MACs; rotation of (4 + 2) heads, 6 tokens, 4 pairs.
constexpr OpCase kGroupQueryCases[] = {
    {.what = "3 new tokens behind 5, rotated",
     .attributes = "num_heads=4 kv_num_heads=2 do_rotary=1",
     .inputs = "f16[2,3,32] f16[2,3,16] f16[2,3,16] f16[2,2,5,8] f16[2,2,5,8] i32[2] i32[] "
               "f16[64,4] f16[64,4]",
     .outputs = "f16[2,3,32] f16[2,2,8,8] f16[2,2,8,8]",
     .macs = 192 * 16,
     .flops = 6144 + 192 + 4 * 192 - 48 + 144 * 6,
     .bytes_read = 2 * (192 + 96 + 96 + 160 + 160) + 8 + 4 + 2 * 2 * 24,
     .bytes_written = 2 * (192 + 96 + 96)},
    {.what = "packed, one token in a shared cache of 16 that then holds 8: 64 scores in 8 rows",
     .attributes = "num_heads=4 kv_num_heads=2",
     .inputs = "f16[2,1,64] _ _ f16[2,2,16,8] f16[2,2,16,8] i32[2] i32[]{8}",
     .outputs = "f16[2,1,32] f16[2,2,16,8] f16[2,2,16,8]",
     .macs = 64 * 16,
     .flops = 2048 + 64 + 256 - 16,
     .bytes_read = 2 * (128 + 2 * 224) + 8 + 4,
     .bytes_written = 2 * (64 + 2 * 32)},
};

constexpr OpCase kSparseCases[] = {
    {.what = "3 new tokens in a cache of 16 that then holds 8",
     .attributes = "num_heads=4 kv_num_heads=2 sparse_block_size=16",
     .inputs = "f16[2,3,32] f16[2,3,16] f16[2,3,16] f16[2,2,16,8] f16[2,2,16,8] i32[1,2] i32[1,1] "
               "i32[]{8} i32[2]",
     .outputs = "f16[2,3,32] f16[2,2,16,8] f16[2,2,16,8]",
     .macs = 192 * 16,
     .flops = 6144 + 192 + 4 * 192 - 48,
     .bytes_read = 2 * (192 + 192 + 2 * 160) + 8 + 4 + 4 + 8,
     .bytes_written = 2 * (192 + 2 * 96)},
};

// 2 sequences of 2 blocks of 4 keys: 3 * 4 * 8 = 96 scores in 12 rows.
constexpr OpCase kPagedCases[] = {
    {.what = "3 tokens of 2 sequences",
     .attributes = "num_heads=4 kv_num_heads=2",
     .inputs = "f16[3,32] f16[3,16] f16[3,16] f16[10,4,2,8] f16[10,4,2,8] i32[3] i32[2] i32[2,2]",
     .outputs = "f16[3,32] f16[10,4,2,8] f16[10,4,2,8]",
     .macs = 96 * 16,
     .flops = 3072 + 96 + 384 - 24,
     .bytes_read = 2 * (96 + 48 + 48 + 2 * 256) + 12 + 8 + 16,
     .bytes_written = 2 * (96 + 2 * 48)},
};

constexpr OpDef kContribGroupedAttentionOps[] = {
    {.name = "GroupQueryAttention",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "MACs = batch * heads * q_len * total_len * 2 * head_size",
     .infer = InferGroupQuery,
     .cost = CostGroupQuery,
     .cases = kGroupQueryCases},
    {.name = "SparseAttention",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "MACs <= batch * heads * q_len * total_len * 2 * head_size",
     .infer = InferSparseAttention,
     .cost = CostSparseAttention,
     .cases = kSparseCases},
    {.name = "PagedAttention",
     .domain = "com.microsoft",
     .since = {1},
     .formula = "MACs <= heads * tokens * blocks per sequence * block size * (qk_dim + v_dim)",
     .infer = InferPaged,
     .cost = CostPaged,
     .cases = kPagedCases},
};

}  // namespace

std::span<const OpDef> ContribGroupedAttentionOps() { return kContribGroupedAttentionOps; }

}  // namespace dlcost
