#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Text generation around a decoder subgraph: how often it runs depends on what it produces, at most
// max_length times, so its work is not counted here and the node says so. NGramRepeatBlock compares
// every n-gram of the sequence with the last one: ngram_size integer comparisons each.

// A one-element integer input that has to be known.
std::int64_t Scalar(const OpContext& ctx, int input) {
  const std::vector<std::int64_t> values = ctx.InputInts(input);
  if (values.size() != 1) throw Error("input {} has {} numbers, not one", input, values.size());
  return values[0];
}

// Inputs: prompt [batch, ...], max_length, min_length, num_beams, num_return_sequences, ...
void InferBeams(OpContext& ctx) {
  const DType score = ctx.HasInput(6) ? ctx.InputType(6) : DType::kFloat32;
  ctx.SetOutputType(0, DType::kInt32);
  for (int i = 1; i < ctx.NumOutputs(); ++i) ctx.SetOutputType(i, score);
  const std::int64_t batch = ctx.InputDim(0, 0);
  const std::int64_t longest = Scalar(ctx, 1), returned = Scalar(ctx, 4);
  ctx.SetOutput(0, DType::kInt32, {batch, returned, longest});
  ctx.SetOutput(1, score, {batch, returned});
  const std::int64_t vocabulary = ctx.Int("vocab_size", -1);
  if (vocabulary > 0 && ctx.InputRank(0) == 2) {
    const std::int64_t steps = std::max<std::int64_t>(longest - ctx.InputDim(0, 1), 0);
    ctx.SetOutput(2, score, {steps, batch, Scalar(ctx, 3), vocabulary});
  }
}

// Inputs: prompt [batch, length], max_length, ...
void InferGreedy(OpContext& ctx) {
  ctx.SetOutputType(0, DType::kInt32);
  ctx.SetOutputType(1, DType::kFloat32);
  ctx.SetOutput(0, DType::kInt32, {ctx.InputDim(0, 0), Scalar(ctx, 1)});
  const std::int64_t vocabulary = ctx.Int("vocab_size", -1);
  if (vocabulary > 0) ctx.SetOutput(1, DType::kFloat32, {ctx.InputDim(0, 0), vocabulary});
}

OpCost CostGeneration(const OpContext& ctx) {
  OpCost cost;
  for (int i = 0; i < ctx.NumInputs(); ++i) AddRead(cost, ctx, i);
  AddWrite(cost, ctx, 0);
  cost.status = NodeStatus::kBounded;
  cost.note = "the work of its subgraphs is not counted: how often they run is decided at run time";
  return cost;
}

void InferRepeatBlock(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(1));
  ctx.SetOutput(0, ctx.InputType(1), ctx.InputShape(1));
}

OpCost CostRepeatBlock(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const std::int64_t size = ctx.RequiredInt("ngram_size");
  if (size < 1) throw Error("ngram_size is {}", size);
  cost.work.Add(OpClass::kCompare, ctx.InputType(0), ctx.InputShape(0).Elements() * size);
  cost.nest = ElementwiseNest{ctx.InputShape(1).Elements()};
  return cost;
}

constexpr OpCase kBeamCases[] = {
    {.what = "4 beams, 2 of them returned, up to 20 tokens",
     .attributes = "eos_token_id=1 pad_token_id=0",
     .inputs = "i32[3,7] i32[1]{20} i32[1]{1} i32[1]{4} i32[1]{2}",
     .outputs = "i32[3,2,20]",
     .bytes_read = 84 + 16,
     .bytes_written = 480},
};

constexpr OpCase kGreedyCases[] = {
    {.what = "up to 20 tokens",
     .attributes = "eos_token_id=1 pad_token_id=0",
     .inputs = "i32[3,7] i32[1]{20}",
     .outputs = "i32[3,20]",
     .bytes_read = 84 + 4,
     .bytes_written = 240},
};

constexpr OpCase kRepeatBlockCases[] = {
    {.what = "3-grams of 14 tokens",
     .attributes = "ngram_size=3",
     .inputs = "i64[2,7] f32[2,100]",
     .outputs = "f32[2,100]",
     .flops = 42,
     .bytes_read = 112 + 800,
     .bytes_written = 800},
};

constexpr OpDef Make(std::string_view name, std::string_view formula, void (*infer)(OpContext&),
                     OpCost (*cost)(const OpContext&), std::span<const OpCase> cases) {
  return {.name = name,
          .domain = "com.microsoft",
          .formula = formula,
          .infer = infer,
          .cost = cost,
          .cases = cases};
}

constexpr std::string_view kFormula = "not counted: the decoder runs until it ends its sequences";

constexpr OpDef kOps[] = {
    Make("BeamSearch", kFormula, InferBeams, CostGeneration, kBeamCases),
    Make("WhisperBeamSearch", kFormula, InferBeams, CostGeneration, kBeamCases),
    Make("GreedySearch", kFormula, InferGreedy, CostGeneration, kGreedyCases),
    Make("Sampling", kFormula, InferGreedy, CostGeneration, kGreedyCases),
    Make("NGramRepeatBlock", "ngram_size compares per token", InferRepeatBlock, CostRepeatBlock,
         kRepeatBlockCases),
};

}  // namespace

std::span<const OpDef> ContribGenerationOps() { return kOps; }

}  // namespace dlcost
