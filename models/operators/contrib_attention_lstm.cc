#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"
#include "models/operators/recurrent.h"

namespace dlcost {
namespace {

// ONNX Runtime's LSTM with Bahdanau attention over a memory. Counting, per direction:
// - once: the memory through its layer, batch * memory * depth * attn MACs;
// - per step and sample: the LSTM on [input, attention] (4 * hidden * (input + attention + hidden)
//   MACs and its cell); the query, hidden * attn MACs; per position of the memory attn additions,
//   attn tanh and attn MACs; softmax over the memory; the context, memory * depth MACs; and the
//   attention layer, (depth + hidden) * attention MACs.
// Inputs: X [steps, batch, input], W [D, 4 hidden, input + attention], R [D, 4 hidden, hidden], B,
// sequence_lens, initial_h, initial_c, P, QW [D, hidden, attn], MW [D, depth, attn], V [D, attn],
// M [batch, memory, depth], memory_seq_lens, AW [D, depth + hidden, attention]. Without AW the
// attention is the context.
constexpr int kQueryLayer = 8, kMemoryLayer = 9, kMemory = 11, kLayer = 13;

struct AttentionLstm {
  std::int64_t steps, batch, directions, hidden, wide;  // wide: input and attention together
  std::int64_t attn = 0, memory = 0, depth = 0, attention = 0;
};

AttentionLstm Read(const OpContext& ctx) {
  for (const int i : {0, 1, 2}) RequireRank(ctx, i, 3);
  const Shape& x = ctx.InputShape(0);
  const Shape& w = ctx.InputShape(1);
  const Shape& r = ctx.InputShape(2);
  AttentionLstm a{x[0], x[1], r[0], r[2], w[2]};
  if (Count(r[1]) != Count(a.hidden) * 4 || w[1] != r[1] || w[0] != r[0]) {
    throw Error("weights {} and {} are not those of an LSTM", ToString(w), ToString(r));
  }
  a.attention = a.wide - x[2];
  if (a.attention < 0) throw Error("the weight {} is too narrow for {}", ToString(w), ToString(x));
  if (!ctx.HasInput(kMemory)) return a;
  RequireRank(ctx, kMemory, 3);
  a.memory = ctx.InputDim(kMemory, 1);
  a.depth = ctx.InputDim(kMemory, 2);
  a.attn = ctx.InputDim(kMemoryLayer, 2);
  return a;
}

void InferAttentionLstm(OpContext& ctx) {
  const DType type = ctx.InputType(0);
  for (int i = 0; i < ctx.NumOutputs(); ++i) ctx.SetOutputType(i, type);
  const AttentionLstm a = Read(ctx);
  ctx.SetOutput(0, type, {a.steps, a.directions, a.batch, a.hidden});
  for (const int i : {1, 2}) ctx.SetOutput(i, type, {a.directions, a.batch, a.hidden});
}

OpCost CostAttentionLstm(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const AttentionLstm a = Read(ctx);
  const DType type = ctx.InputType(0);
  const Count samples = Count(a.steps) * a.batch;
  for (std::int64_t d = 0; d < a.directions; ++d) {
    cost.work.Add(LstmCellWork(ctx, d, samples * a.hidden));
    const Count looked = samples * a.memory;  // positions, over all steps
    cost.work.Add(OpClass::kAdd, type, looked * a.attn);
    cost.work.Add(OpClass::kTrig, type, looked * a.attn);
    AddSoftmax(cost.work, type, looked, a.memory > 0 ? samples : Count(0));
  }
  const auto product = [&](std::string_view name, Count m, Count n, Count k) {
    cost.AddPart(name, GemmNest{.batch = a.directions, .m = m, .n = n, .k = k}, type);
  };
  product("memory layer", Count(a.batch) * a.memory, a.attn, a.depth);
  const RecurrentNest cells{.directions = a.directions,
                            .steps = a.steps,
                            .batch = a.batch,
                            .input = a.wide,
                            .hidden = a.hidden,
                            .gates = 4,
                            .cell = "LSTM"};
  cost.AddPart("cells", cells, type);
  cost.nest = cells;
  if (ctx.HasInput(kQueryLayer)) product("query layer", samples, a.attn, a.hidden);
  // Scores and contexts: a vector against the memory of its sample, every step.
  const Count lookups = Count(a.directions) * samples;
  cost.AddPart("scores", GemmNest{.batch = lookups, .m = 1, .n = a.memory, .k = a.attn}, type);
  cost.AddPart("context", GemmNest{.batch = lookups, .m = 1, .n = a.depth, .k = a.memory}, type);
  if (ctx.HasInput(kLayer)) {
    product("attention layer", samples, a.attention, Count(a.depth) + Count(a.hidden));
  }
  return cost;
}

// 3 steps of 2 samples, input 4, attention 2, hidden 5: 6 * 20 * 11 MACs, 30 units of 3 sigmoids (2
// FLOPs), 3 mul, 1 add. Memory of 7 positions, depth 6, attn 3: 2 * 7 * 18 MACs once; per sample 15
// for the query, 7 * 3 add and MACs, softmax of 7 (6 compares, 13 add, 7 div), 42 for the context,
// 22 for the layer.
constexpr OpCase kAttentionLstmCases[] = {
    {.what = "attention over a memory of 7",
     .attributes = "hidden_size=5",
     .inputs = "f32[3,2,4] w:f32[1,20,6] w:f32[1,20,5] _ _ _ _ _ w:f32[1,5,3] w:f32[1,6,3] "
               "w:f32[1,3] f32[2,7,6] _ w:f32[1,11,2]",
     .outputs = "f32[3,1,2,5] f32[1,2,5] f32[1,2,5]",
     .macs = 1320 + 252 + 6 * (15 + 21 + 42 + 22),
     .flops = 2 * 2172 + 30 * 10 + 6 * (21 + 26),
     .bytes_read = 4 * (24 + 120 + 100 + 15 + 18 + 3 + 84 + 22),
     .bytes_written = 4 * 50}};

constexpr OpDef kContribAttentionLstmOps[] = {
    {.name = "AttnLSTM",
     .domain = "com.microsoft",
     .formula =
         "MACs = LSTM on [input, attention] + memory layer + steps * batch * (query + scores "
         "+ context + attention layer)",
     .infer = InferAttentionLstm,
     .cost = CostAttentionLstm,
     .cases = kAttentionLstmCases},
};

}  // namespace

std::span<const OpDef> ContribAttentionLstmOps() { return kContribAttentionLstmOps; }

}  // namespace dlcost
