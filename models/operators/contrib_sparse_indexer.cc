#include <algorithm>
#include <bit>

#include "estimator/core/error.h"
#include "models/operators/cache.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// ONNX Runtime's selection of the keys that a sparse attention may read: a small attention without
// values, over blocks of compress_ratio keys. Policy qsa pools raw keys into blocks, csa compresses
// windows of keys with learned gates. Everything is computed in float32. Counting, with N heads of
// D channels, R of them rotated, and E entries to choose from:
// - per query head and per new entry: a root mean square, 2 mul per channel, 2 mul and 1 add per
//   rotated channel;
// - qsa: the mean of r keys per block; csa: 1 add, softmax and 1 MAC per element of 2 r keys;
// - per query, head and entry: D MACs, 1 compare (ReLU), 1 add (csa: MAC); per query and entry 1
// mul;
// - the best k: max(1, ceil(log2 k)) compares per query and entry.
// Masks and positions, which are data, hide some entries: upper bounds.

struct Indexer {
  bool csa = false;
  Count queries;  // tokens of all samples
  std::int64_t heads = 0, size = 0, ratio = 1, rotated = 0;
  std::int64_t capacity = 0, chosen = 0;  // of the output per query; entries chosen
  Count new_entries;                      // of all samples
  Count entries;                          // of one sample
};

// What both operators say in the same places.
Indexer ReadIndexer(const OpContext& ctx) {
  Indexer x;
  const std::string policy = ctx.String("policy_mode", "");
  if (policy != "qsa" && policy != "csa") {
    throw Error("policy_mode '{}' is not one of qsa, csa", Printable(policy));
  }
  x.csa = policy == "csa";
  x.ratio = ctx.RequiredInt("compress_ratio");
  if (x.ratio < 1) throw Error("compress_ratio is {}", x.ratio);
  const Shape& query = ctx.InputShape(0);
  x.size = ctx.InputDim(2, 0);  // the norm's weight
  if (query.rank() < 2 || x.size < 1 || query.At(-1) % x.size != 0) {
    throw Error("the query {} is not heads of {}", ToString(query), x.size);
  }
  x.heads = query.At(-1) / x.size;
  x.queries = query.Product(0, query.rank() - 1);
  x.rotated = (Count(ctx.InputShape(4).At(-1)) * (x.csa ? 2 : 1)).value();
  if (x.csa) {
    x.capacity = x.chosen = ctx.RequiredInt("index_topk");
  } else {
    const std::int64_t budget = ctx.RequiredInt("token_budget");
    x.capacity = (Count(budget) + Count(x.ratio) - Count(1)).value();
    x.chosen = budget / x.ratio;
  }
  return x;
}

void AddIndexer(OpCost& cost, const Indexer& x) {
  constexpr DType kType = DType::kFloat32;
  const auto add = [&](OpClass op_class, Count count) { cost.work.Add(op_class, kType, count); };
  const Count normalized = x.queries * x.heads + x.new_entries;
  AddMeanSquare(cost.work, kType, normalized * x.size, normalized);
  add(OpClass::kMul, normalized * (Count(x.size) + Count(x.rotated)) * 2);
  add(OpClass::kAdd, normalized * x.rotated);
  const Count pooled = x.new_entries * x.size;
  if (x.csa) {
    const Count gated = pooled * x.ratio * 2;
    add(OpClass::kAdd, gated);
    AddSoftmax(cost.work, kType, gated, pooled);
    add(OpClass::kMac, gated);
  } else {
    add(OpClass::kAdd, pooled * (Count(x.ratio) - Count(1)));
    add(OpClass::kDiv, pooled);
  }
  const Count scores = x.queries * x.entries, products = scores * x.heads;
  add(OpClass::kMac, products * (Count(x.size) + Count(x.csa ? 1 : 0)));
  add(OpClass::kCompare, products);
  if (!x.csa) add(OpClass::kAdd, Folds(products, scores));
  add(OpClass::kMul, scores);
  const auto last = static_cast<std::uint64_t>(std::max<std::int64_t>(x.chosen, 1) - 1);
  add(OpClass::kCompare, scores * std::max<std::int64_t>(1, std::bit_width(last)));
  cost.note = "entries that masks and positions hide are counted";
}

// Inputs: query [batch, length, N * D], key [batch, length, D] (csa: 2 D), norms of both, cos, sin,
// mask, past_key [batch, past, D], gate, position_bias, head_weights, position_ids,
// past_sequence_length, past_proj_buffer [2, batch, buffered, 2 D].
struct Padded {
  Indexer indexer;
  std::int64_t keys = 0;      // of present_key
  std::int64_t fresh = 0;     // of these, new
  std::int64_t buffered = 0;  // csa: of present_proj_buffer
};

constexpr int kPastKey = 7, kPastLength = 12, kBuffer = 13;

Padded ReadPadded(const OpContext& ctx) {
  RequireRank(ctx, 0, 3);
  Padded p{ReadIndexer(ctx)};
  Indexer& x = p.indexer;
  const std::int64_t batch = ctx.InputDim(0, 0), length = ctx.InputDim(0, 1);
  const std::int64_t past = ctx.HasInput(kPastKey) ? ctx.InputDim(kPastKey, 1) : 0;
  const bool shared = ctx.HasInput(kPastLength);
  if (!x.csa) {
    p.keys = shared ? past : (Count(past) + Count(length)).value();
    p.fresh = length;
    x.entries = p.keys / x.ratio;
    x.new_entries = Count(batch) * x.entries;  // pooled again from raw keys in every call
    return p;
  }
  // The buffer holds the last whole window, if there was one, and the open one.
  const std::int64_t held = ctx.HasInput(kBuffer) ? ctx.InputDim(kBuffer, 2) : 0;
  if (held >= 2 * x.ratio) throw Error("{} buffered tokens of windows of {}", held, x.ratio);
  const Count pending = Count(held >= x.ratio ? held - x.ratio : held) + Count(length);
  const std::int64_t windows = pending.value() / x.ratio;
  p.buffered = windows > 0 ? x.ratio + pending.value() % x.ratio : held + length;
  p.fresh = windows;
  x.new_entries = Count(batch) * windows;
  p.keys = shared ? past : (Count(past) + Count(windows)).value();
  x.entries = p.keys;
  return p;
}

void InferPadded(OpContext& ctx) {
  const DType type = ctx.InputType(0);
  ctx.SetOutputType(0, DType::kInt32);
  for (const int i : {1, 2}) ctx.SetOutputType(i, type);
  const Padded p = ReadPadded(ctx);
  const std::int64_t batch = ctx.InputDim(0, 0);
  ctx.SetOutput(0, DType::kInt32, {batch, ctx.InputDim(0, 1), p.indexer.capacity});
  ctx.SetOutput(1, type, {batch, p.keys, p.indexer.size});
  if (p.indexer.csa) {
    ctx.SetOutput(2, type, {2, batch, p.buffered, (Count(p.indexer.size) * 2).value()});
  }
}

OpCost CostPadded(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Padded p = ReadPadded(ctx);
  if (ctx.HasInput(kPastKey)) {
    const Count filled = ctx.InputDim(kPastKey, 1);
    const Count fresh = p.fresh;
    GrowCache(cost, ctx,
              {.past = kPastKey, .present = 1, .axis = 1, .filled = filled, .fresh = fresh});
  }
  AddIndexer(cost, p.indexer);
  return cost;
}

// Inputs: query [tokens, N * D], key, norms, cos, sin, cumulative lengths [batch + 1], past
// lengths, gate, position_bias, head_weights, position_ids, and states of fixed capacity:
// past_key_state [batch, state_capacity, D], past_kv_buffer [batch, 2 r - 1, D (csa: 2 D)],
// past_gate_buffer, past_state_lengths [batch, 2].

void InferPackedIndexer(OpContext& ctx) {
  for (const int i : {0, 1, 5}) ctx.SetOutputType(i, DType::kInt32);
  RequireRank(ctx, 0, 2);
  const std::int64_t tokens = ctx.InputDim(0, 0);
  const DType type = ctx.InputType(0);
  const Indexer x = ReadIndexer(ctx);
  const std::int64_t batch = ctx.InputDim(6, 0) - 1;
  const Shape buffer(
      {batch, (Count(x.ratio) * 2 - Count(1)).value(), (Count(x.size) * (x.csa ? 2 : 1)).value()});
  ctx.SetOutput(0, DType::kInt32, {tokens, x.capacity});
  ctx.SetOutput(1, DType::kInt32, {tokens});
  ctx.SetOutput(2, type, {batch, ctx.RequiredInt("state_capacity"), x.size});
  for (const int i : {3, 4}) ctx.SetOutput(i, type, buffer);
  ctx.SetOutput(5, DType::kInt32, {batch, 2});
  ctx.SetOutput(6, type, {batch, ctx.Int("state_update_capacity", 0), x.size});
}

OpCost CostPackedIndexer(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  Indexer x = ReadIndexer(ctx);
  x.entries = ctx.RequiredInt("state_capacity");
  // Every sample may close one more than its tokens fill.
  x.new_entries = x.queries / x.ratio + Count(ctx.InputDim(6, 0)) - Count(1);
  AddIndexer(cost, x);
  return cost;
}

// 2 queries of 2 heads of 4 channels, 2 rotated; 6 keys in 3 blocks of 2. Normalized: 4 + 3 = 7
// vectors, 7 * (4 mul, 3 + 1 add, 1 div, 1 sqrt + 12 mul + 2 add); pooled: 12 add, 12 div. 6
// scores, 12 products of 4 MACs: 12 + 6 compares, 6 add, 6 mul.
constexpr OpCase kPaddedCases[] = {
    {.what = "qsa: blocks of 2 keys, 2 of 3 chosen",
     .attributes = "policy_mode='qsa' compress_ratio=2 token_budget=4",
     .inputs = "f16[1,2,8] f16[1,2,4] w:f16[4] w:f16[4] f16[16,2] f16[16,2] _ f16[1,4,4]",
     .outputs = "i32[1,2,5] f16[1,6,4]",
     .macs = 48,
     .flops = 96 + 7 * 24 + 24 + 30,
     .bytes_read = 2 * (16 + 8 + 4 + 4 + 32 + 32 + 16),
     .bytes_written = 40 + 16},
    // 2 new windows of 2 tokens, 3 entries. 4 + 2 = 6 vectors, 4 of 4 channels rotated: 6 * (4 mul,
    // 4 add, 1 div, 1 sqrt + 16 mul + 4 add); 32 gated elements in 8 rows: 32 add, 24 compares, 56
    // add, 32 div, 32 MACs. 12 scores, 24 products of 5 MACs: 24 + 12 compares, 12 mul.
    {.what = "csa: windows of 2 tokens, 2 of 3 entries chosen",
     .attributes = "policy_mode='csa' compress_ratio=2 index_topk=2",
     .inputs =
         "f16[1,4,8] f16[1,4,8] w:f16[4] w:f16[4] f16[16,2] f16[16,2] _ f16[1,1,4] f16[1,4,8] "
         "f16[2,8] f16[1,4,2] i64[1,4] _ f16[2,1,2,8]",
     .outputs = "i32[1,4,2] f16[1,3,4] f16[2,1,2,8]",
     .macs = 32 + 120,
     .flops = 304 + 10 * 30 + 144 + 48,
     .bytes_read = 2 * (32 + 32 + 4 + 4 + 32 + 32 + 4 + 32 + 16 + 8 + 32) + 32,
     .bytes_written = 32 + 16 + 64}};

// 3 queries of 2 heads; at most 3 / 2 + 1 = 2 new entries, 4 held. 8 vectors of 24; 8 add, 8 div;
// 12 scores, 24 products of 4 MACs: 24 + 12 compares, 12 add, 12 mul.
constexpr OpCase kPackedIndexerCases[] = {
    {.what = "qsa: 3 tokens, room for 4 blocks of 2",
     .attributes = "policy_mode='qsa' compress_ratio=2 token_budget=4 state_capacity=4",
     .inputs = "f16[3,8] f16[3,4] w:f16[4] w:f16[4] f16[16,2] f16[16,2] i32[2] i32[1] _ _ _ _ "
               "f16[1,4,4] f16[1,3,4] _ i32[1,2]",
     .outputs = "i32[3,5] i32[3] f16[1,4,4] f16[1,3,4] _ i32[1,2]",
     .macs = 96,
     .flops = 192 + 8 * 24 + 16 + 60,
     .bytes_read = 2 * (24 + 12 + 8 + 64 + 16 + 12) + 12 + 8,
     .bytes_written = 60 + 12 + 32 + 24 + 8}};

constexpr std::string_view kSparseIndexerFormula =
    "MACs <= queries * heads * entries * size, entries = keys / compress_ratio; norms, rotation, "
    "pooling, top k";

constexpr OpDef kContribSparseIndexerOps[] = {
    {.name = "SparseAttentionIndexer",
     .domain = "com.microsoft",
     .formula = kSparseIndexerFormula,
     .infer = InferPadded,
     .cost = CostPadded,
     .cases = kPaddedCases},
    {.name = "PackedSparseAttentionIndexer",
     .domain = "com.microsoft",
     .formula = kSparseIndexerFormula,
     .infer = InferPackedIndexer,
     .cost = CostPackedIndexer,
     .cases = kPackedIndexerCases},
};

}  // namespace

std::span<const OpDef> ContribSparseIndexerOps() { return kContribSparseIndexerOps; }

}  // namespace dlcost
