#include <algorithm>
#include <optional>
#include <vector>

#include "estimator/core/error.h"
#include "models/operators/attention_core.h"
#include "models/operators/cache.h"
#include "models/operators/common.h"
#include "models/operators/contrib.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Attention of ONNX Runtime over windows and selected keys, and its decoder with projections
// inside. Counting: attention_core.h over the keys that a query can see at most; projections are
// matrix products of every token, a bias 1 addition per projected element. Longformer: a token sees
// `window` keys on either side and itself, and every global token; a global token sees all, with a
// projection of its own (queries of the global tokens, keys and values of all). Which tokens are
// global is an input: exact where its value is known, else all are counted as local, and the second
// projection for every token.

bool Quantized(const OpContext& ctx) { return ctx.op() == "QOrderedLongformerAttention"; }

void InferLongformer(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  RequireRank(ctx, 0, 3);
  ctx.SetOutput(0, ctx.InputType(0), ctx.InputShape(0));
}

// Global tokens of each sample, where the flags [batch, length] are known.
std::optional<std::vector<std::int64_t>> GlobalTokens(const OpContext& ctx) {
  const int input = Quantized(ctx) ? 12 : 6;
  const Value* flags = ctx.InputValue(input);
  const Shape& x = ctx.InputShape(0);
  if (flags == nullptr || Count(static_cast<std::int64_t>(flags->size())) != Count(x[0]) * x[1]) {
    return std::nullopt;
  }
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(x[0]), 0);
  for (std::size_t i = 0; i < flags->size(); ++i) {
    if (flags->Real(i) != 0) ++tokens[i / static_cast<std::size_t>(x[1])];
  }
  return tokens;
}

void AddProjection(OpCost& cost, const OpContext& ctx, int weight, Count tokens, Count thirds) {
  const Shape& w = ctx.InputShape(weight);
  const Count columns = thirds * (w.At(-1) / 3), projected = tokens * columns;
  cost.AddPart(
      "projection",
      GemmNest{.m = tokens, .n = columns, .k = w[0], .b_input = weight, .b_is_weight = true},
      ctx.InputType(0));
  cost.work.Add(OpClass::kAdd, DType::kFloat32, projected);
  if (Quantized(ctx)) AddRequantize(cost.work, projected);
}

OpCost CostLongformer(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Shape& x = ctx.InputShape(0);
  const int weight = Quantized(ctx) ? 2 : 1, global_weight = Quantized(ctx) ? 8 : 4;
  AttentionCore core;
  core.type = ctx.InputType(0);
  core.softmax_type = Quantized(ctx) ? DType::kFloat32 : core.type;
  core.batch = x[0];
  core.q_heads = core.kv_heads = ctx.RequiredInt("num_heads");
  core.q_len = x[1];
  core.kv_len = std::min((Count(ctx.RequiredInt("window")) * 2 + Count(1)).value(), x[1]);
  core.qk_dim = core.v_dim = HeadSize(x[2], core.q_heads);
  core.added_masks = 1;
  const Count tokens = Count(x[0]) * x[1];
  AddProjection(cost, ctx, weight, tokens, 3);
  AddAttention(cost, core);
  const auto global_tokens = GlobalTokens(ctx);
  if (!global_tokens) {
    AddProjection(cost, ctx, global_weight, tokens, 3);
    cost.note =
        "which tokens have global attention is in the data: counted as local ones; --value " +
        Printable(ctx.Input(Quantized(ctx) ? 12 : 6).name) + "=... tells";
    return cost;
  }
  for (const std::int64_t count : *global_tokens) {
    if (count == 0) continue;
    AddProjection(cost, ctx, global_weight, count, 1);
    AddProjection(cost, ctx, global_weight, x[1], 2);
    // Local queries see the global keys, global queries what is outside their window: as many
    // scores per global token as there are local tokens and tokens outside a window.
    const AttentionNest global{.q_heads = core.q_heads,
                               .kv_heads = core.kv_heads,
                               .q_len = count,
                               .kv_len = Count(x[1]) * 2 - Count(count) - Count(core.kv_len),
                               .qk_dim = core.qk_dim,
                               .v_dim = core.v_dim};
    const Count more = global.q_heads * global.q_len * global.kv_len;
    cost.AddPart("global attention", global, core.type);
    cost.work.Add(OpClass::kMul, core.type, more);
    AddSoftmax(cost.work, core.softmax_type, more, 0);
  }
  return cost;
}

// A flag that may only be known at run time; false then.
bool Flag(const OpContext& ctx, int input) {
  const Value* value = ctx.InputValue(input);
  return value != nullptr && value->size() == 1 && value->Real(0) != 0;
}

// Inputs: query [length, batch, width], key, q_weight, kv_weight, bias, key_padding_mask,
// key_cache, value_cache, static_kv, use_past, has_layer_state, has_key_padding_mask. Cross
// attention (static_kv) with a cache takes its keys from there; self attention adds its own to
// them.
AttentionCore DecoderCore(const OpContext& ctx, Count* new_keys) {
  RequireRank(ctx, 0, 3);
  RequireRank(ctx, 1, 3);
  const Shape& q = ctx.InputShape(0);
  const bool cross = Flag(ctx, 8), past = Flag(ctx, 9) && ctx.HasInput(6);
  AttentionCore core;
  core.type = ctx.InputType(0);
  core.batch = q[1];
  core.q_heads = core.kv_heads = ctx.RequiredInt("num_heads");
  core.q_len = q[0];
  core.qk_dim = core.v_dim = HeadSize(q[2], core.q_heads);
  const std::int64_t cached = past ? ctx.InputDim(6, 2) : 0;
  *new_keys = cross ? (past ? Count(0) : Count(ctx.InputDim(1, 0))) : Count(q[0]);
  core.kv_len = (*new_keys + Count(cached)).value();
  core.added_masks = Flag(ctx, 11) ? 1 : 0;
  return core;
}

void InferDecoder(OpContext& ctx) {
  for (const int i : {0, 1, 2}) ctx.SetOutputType(i, ctx.InputType(0));
  Count new_keys;
  const AttentionCore core = DecoderCore(ctx, &new_keys);
  const Shape cache({core.batch, core.kv_heads, core.kv_len, core.qk_dim});
  ctx.SetOutput(0, core.type, ctx.InputShape(0));
  ctx.SetOutput(1, core.type, cache);
  ctx.SetOutput(2, core.type, cache);
}

OpCost CostDecoder(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  Count new_keys;
  const AttentionCore core = DecoderCore(ctx, &new_keys);
  if (Flag(ctx, 9)) {
    const Count filled = Count(core.kv_len) - new_keys;
    for (const int i : {1, 2}) {
      GrowCache(cost, ctx, {.past = i + 5, .present = i, .filled = filled, .fresh = new_keys});
    }
  }
  const Count width = ctx.InputDim(0, 2);
  const Count projected = Count(core.batch) * (Count(core.q_len) + new_keys * 2) * width;
  cost.AddPart("query projection",
               GemmNest{.m = Count(core.batch) * core.q_len,
                        .n = width,
                        .k = width,
                        .b_input = 2,
                        .b_is_weight = true},
               core.type);
  if (new_keys > Count(0)) {
    cost.AddPart("key and value projection",
                 GemmNest{.m = Count(core.batch) * new_keys,
                          .n = width * 2,
                          .k = width,
                          .a_input = 1,
                          .b_input = 3,
                          .b_is_weight = true},
                 core.type);
  }
  cost.work.Add(OpClass::kAdd, core.type, projected);
  AddAttention(cost, core);
  return cost;
}

// Selected keys: a row of indices per token, and in mode local_plus_selected a window before it.
struct SelectedInputs {
  int indices, key_cache, value_cache;
};
constexpr SelectedInputs kDynamicSparse = {7, 3, 4};
constexpr SelectedInputs kSparsePaged = {9, 3, 4};

void InferSelected(OpContext& ctx, const SelectedInputs& at) {
  ctx.SetOutputType(0, ctx.InputType(0));
  Shape out = ctx.InputShape(0);
  if (out.rank() < 2) throw Error("the query {} has no width", ToString(out));
  const std::int64_t heads = ctx.RequiredInt("num_heads");
  const std::int64_t all = ctx.HasInput(1) ? heads : heads + 2 * ctx.RequiredInt("kv_num_heads");
  out[out.rank() - 1] = (Count(HeadSize(out.At(-1), all)) * heads).value();
  ctx.SetOutput(0, ctx.InputType(0), std::move(out));
  if (ctx.HasInput(at.key_cache)) {
    ctx.SetOutput(1, ctx.InputType(at.key_cache), ctx.InputShape(at.key_cache));
  }
  if (ctx.HasInput(at.value_cache)) {
    ctx.SetOutput(2, ctx.InputType(at.value_cache), ctx.InputShape(at.value_cache));
  }
}

OpCost CostSelected(const OpContext& ctx, const SelectedInputs& at) {
  OpCost cost;
  const Shape& out = ctx.OutputShape(0);
  RequireRank(ctx, at.indices, 2);
  AttentionCore core;
  core.type = ctx.InputType(0);
  core.q_heads = ctx.RequiredInt("num_heads");
  core.kv_heads = ctx.RequiredInt("kv_num_heads");
  core.q_len = out.Product(0, out.rank() - 1).value();
  core.qk_dim = core.v_dim = HeadSize(out.At(-1), core.q_heads);
  core.kv_len = ctx.InputDim(at.indices, 1);
  if (ctx.String("attention_mode", "selected_only") == "local_plus_selected") {
    core.kv_len += std::max<std::int64_t>(ctx.Int("local_window_size", 0), 0);
  }
  core.softcap = ctx.Float("softcap", 0) != 0;
  const Count keys = Count(core.q_len) * core.kv_len * core.kv_heads * core.qk_dim;
  for (int i = 0; i < ctx.NumInputs(); ++i) {
    const bool cache = i == at.key_cache || i == at.value_cache;
    if (cache && ctx.HasInput(i)) {
      AddPartialRead(cost, ctx, i, std::min(keys, ctx.InputShape(i).Elements()),
                     AccessKind::kGather);
    } else {
      AddRead(cost, ctx, i);
    }
  }
  AddWrite(cost, ctx, 0);
  const Count fresh = Count(core.q_len) * core.kv_heads * core.qk_dim;
  for (const int i : {1, 2}) {
    if (!ctx.HasOutput(i)) continue;
    const int past = i == 1 ? at.key_cache : at.value_cache;
    cost.accesses.push_back(
        {true, i, AccessKind::kInPlace, SizeOf(ctx.OutputType(i), fresh), past});
  }
  AddAttention(cost, core);
  cost.note = "an upper bound: every selection is taken for full";
  return cost;
}

void InferDynamicSparse(OpContext& ctx) { InferSelected(ctx, kDynamicSparse); }
OpCost CostDynamicSparse(const OpContext& ctx) { return CostSelected(ctx, kDynamicSparse); }
void InferSparsePaged(OpContext& ctx) { InferSelected(ctx, kSparsePaged); }
OpCost CostSparsePaged(const OpContext& ctx) { return CostSelected(ctx, kSparsePaged); }

// 6 tokens of width 8, 2 heads of 4, 3 keys each: 2 * 6 * 192 MACs and 2 * 6 * 24 additions to
// project; 36 scores in 12 rows of 8 MACs, scale, mask, softmax.
constexpr OpCase kLongformerCases[] = {
    {.what = "one key on either side",
     .attributes = "num_heads=2 window=1",
     .inputs = "f32[1,6,8] w:f32[8,24] w:f32[24] f32[1,6] w:f32[8,24] w:f32[24] i32[1,6]",
     .outputs = "f32[1,6,8]",
     .macs = 2304 + 36 * 8,
     .flops = 2 * 2592 + 288 + 36 + 36 + 4 * 36 - 24,
     .bytes_read = 4 * (48 + 2 * (192 + 24) + 6 + 6),
     .bytes_written = 192},
    // Token 0 is global: its query and all keys and values, (8 + 6 * 16) elements of 8 MACs; 5
    // local queries see it, it sees 3 more: 2 heads * 8 scores of 8 MACs, scale, 4 for softmax.
    {.what = "one key on either side, one global token",
     .attributes = "num_heads=2 window=1",
     .inputs =
         "f32[1,6,8] w:f32[8,24] w:f32[24] f32[1,6] w:f32[8,24] w:f32[24] i32[1,6]{1,0,0,0,0,0}",
     .outputs = "f32[1,6,8]",
     .macs = 1152 + 36 * 8 + 104 * 8 + 16 * 8,
     .flops = 2 * 2400 + 144 + 104 + 36 + 36 + 4 * 36 - 24 + 16 * 5,
     .bytes_read = 4 * (48 + 2 * (192 + 24) + 6 + 6),
     .bytes_written = 192},
};

// 2 new tokens behind a cache of 3: 2 * 3 * 8 projected elements of 8 MACs; 2 * 2 * 5 scores.
constexpr OpCase kDecoderCases[] = {
    {.what = "self attention with a cache",
     .attributes = "num_heads=2",
     .inputs = "f32[2,1,8] f32[2,1,8] w:f32[8,8] w:f32[8,16] w:f32[24] _ f32[1,2,3,4] f32[1,2,3,4] "
               "bool[1]{0} bool[1]{1} bool[1]{1} bool[1]{0}",
     .outputs = "f32[2,1,8] f32[1,2,5,4] f32[1,2,5,4]",
     .macs = 384 + 20 * 8,
     .flops = 2 * 544 + 48 + 20 + 80 - 8,
     .bytes_read = 4 * (16 + 16 + 64 + 128 + 24 + 24 + 24) + 4,
     .bytes_written = 4 * (16 + 16 + 16)},
};

// 3 tokens, 2 heads, 4 selected keys: 24 scores in 6 rows of 8 MACs.
constexpr OpCase kDynamicSparseCases[] = {
    {.what = "4 selected keys each",
     .attributes = "num_heads=2 kv_num_heads=1 attention_mode='selected_only'",
     .inputs = "f16[1,3,8] f16[1,3,4] f16[1,3,4] f16[1,1,16,4] f16[1,1,16,4] _ _ i32[3,4] i32[3] "
               "i32[1] i32[1]",
     .outputs = "f16[1,3,8] f16[1,1,16,4] f16[1,1,16,4]",
     .macs = 24 * 8,
     .flops = 384 + 24 + 96 - 12,
     .bytes_read = 2 * (24 + 12 + 12 + 48 + 48) + 4 * (12 + 3 + 1 + 1),
     .bytes_written = 2 * (24 + 12 + 12)},
};

constexpr OpCase kSparsePagedCases[] = {
    {.what = "4 selected keys each",
     .attributes = "num_heads=2 kv_num_heads=1 attention_mode='selected_only'",
     .inputs = "f16[3,8] f16[3,4] f16[3,4] f16[4,4,1,4] f16[4,4,1,4] i32[2] i32[1] i32[1,4] _ "
               "i32[3,4] i32[3]",
     .outputs = "f16[3,8] f16[4,4,1,4] f16[4,4,1,4]",
     .macs = 24 * 8,
     .flops = 384 + 24 + 96 - 12,
     .bytes_read = 2 * (24 + 12 + 12 + 48 + 48) + 4 * (2 + 1 + 4 + 12 + 3),
     .bytes_written = 2 * (24 + 12 + 12)},
};

// Besides, 1 multiplication per projected element (2 * 6 * 24) to requantize.
constexpr OpCase kQOrderedLongformerCases[] = {
    {.what = "8-bit, one key on either side",
     .attributes = "num_heads=2 window=1 order_input=1 order_weight=0 order_global_weight=0 "
                   "order_output=1",
     .inputs = "i8[1,6,8] f32[] w:i8[8,24] f32[] w:f32[24] f32[] f32[] f32[1,6] w:i8[8,24] f32[] "
               "w:f32[24] f32[] i32[1,6] f32[]",
     .outputs = "i8[1,6,8]",
     .macs = 2304 + 36 * 8,
     .flops = 2 * 2592 + 288 + 288 + 4 * 36 - 24,
     .bytes_read = 48 + 2 * (192 + 96) + 7 * 4 + 24 + 24,
     .bytes_written = 48},
};

constexpr ContribOps kMakeContribLongAttention;

constexpr OpDef kContribLongAttentionOps[] = {
    kMakeContribLongAttention(
        "LongformerAttention",
        "MACs = tokens * (3 width^2 + heads * min(2 window + 1, length) * 2 head_size) and those "
        "of "
        "global tokens",
        InferLongformer, CostLongformer, kLongformerCases),
    kMakeContribLongAttention("QOrderedLongformerAttention", "MACs as LongformerAttention, in i8",
                              InferLongformer, CostLongformer, kQOrderedLongformerCases),
    kMakeContribLongAttention("DecoderAttention",
                              "MACs = projections + batch * heads * q_len * kv_len * 2 head_size",
                              InferDecoder, CostDecoder, kDecoderCases),
    kMakeContribLongAttention("DynamicSparseAttention",
                              "MACs <= heads * tokens * selected * 2 head_size", InferDynamicSparse,
                              CostDynamicSparse, kDynamicSparseCases),
    kMakeContribLongAttention("SparsePagedAttention",
                              "MACs <= heads * tokens * selected * 2 head_size", InferSparsePaged,
                              CostSparsePaged, kSparsePagedCases),
};

}  // namespace

std::span<const OpDef> ContribLongAttentionOps() { return kContribLongAttentionOps; }

}  // namespace dlcost
