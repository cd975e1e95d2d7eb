#include <algorithm>

#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"
#include "models/operators/generation.h"

namespace dlcost {
namespace {

// Text generation around subgraphs, which inference follows (estimator/infer/generation.cc): the
// encoder runs once, the decoder once per token up to max_length. NGramRepeatBlock compares every
// n-gram of the sequence with the last one: ngram_size integer comparisons each.

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

// Without subgraphs to ask: the vocabulary from the attribute.
OpCost CostGeneration(const OpContext& ctx) {
  const std::int64_t beams =
      ctx.HasInput(3) && ctx.op().ends_with("BeamSearch") ? Scalar(ctx, 3) : 1;
  return CostOfGeneration(ctx, {.steps = Count(Scalar(ctx, 1)) - ctx.InputDim(0, 1),
                                .rows = Count(ctx.InputDim(0, 0)) * beams,
                                .vocabulary = ctx.Int("vocab_size", 0)});
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

// 13 steps of 12 rows and 10 logits: log-softmax 10 - 1 compares, 3 * 10 - 1 adds; 10 adds, 10
// compares.
constexpr OpCase kBeamCases[] = {
    {.what = "4 beams, 2 of them returned, up to 20 tokens",
     .attributes = "eos_token_id=1 pad_token_id=0 vocab_size=10",
     .inputs = "i32[3,7] i32[1]{20} i32[1]{1} i32[1]{4} i32[1]{2}",
     .outputs = "i32[3,2,20]",
     .flops = 13 * 12 * (9 + 29 + 20),
     .bytes_read = 84 + 16,
     .bytes_written = 480},
};

// 13 steps of 3 rows: 9 comparisons of 10 logits.
constexpr OpCase kGreedyCases[] = {
    {.what = "up to 20 tokens",
     .attributes = "eos_token_id=1 pad_token_id=0 vocab_size=10",
     .inputs = "i32[3,7] i32[1]{20}",
     .outputs = "i32[3,20]",
     .flops = 13 * 3 * 9,
     .bytes_read = 84 + 4,
     .bytes_written = 240},
};

// Softmax of 10 logits: 9 compares, 10 + 9 adds, 10 div; a sort in 4 rounds, a running sum of 9.
constexpr OpCase kSamplingCases[] = {
    {.what = "up to 20 tokens",
     .attributes = "eos_token_id=1 pad_token_id=0 vocab_size=10",
     .inputs = "i32[3,7] i32[1]{20}",
     .outputs = "i32[3,20]",
     .flops = 13 * 3 * (38 + 40 + 9),
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

constexpr OpDef MakeContribGeneration(std::string_view name, std::string_view formula,
                                      void (*infer)(OpContext&), OpCost (*cost)(const OpContext&),
                                      std::span<const OpCase> cases,
                                      ControlFlow control = ControlFlow::kNone) {
  return {.name = name,
          .domain = "com.microsoft",
          .formula = formula,
          .infer = infer,
          .cost = cost,
          .cases = cases,
          .control = control};
}

constexpr auto kGeneration = ControlFlow::kGeneration;
constexpr std::string_view kBeamFormula =
    "encoder + steps * decoder, steps <= max_length - prompt; per step, beam and logit: "
    "log-softmax, "
    "1 add, 1 compare";

constexpr OpDef kContribGenerationOps[] = {
    MakeContribGeneration("BeamSearch", kBeamFormula, InferBeams, CostGeneration, kBeamCases,
                          kGeneration),
    MakeContribGeneration("WhisperBeamSearch", kBeamFormula, InferBeams, CostGeneration, kBeamCases,
                          kGeneration),
    MakeContribGeneration(
        "GreedySearch",
        "steps * decoder, steps <= max_length - prompt; per step and row 1 compare per logit",
        InferGreedy, CostGeneration, kGreedyCases, kGeneration),
    MakeContribGeneration(
        "Sampling",
        "steps * decoder, steps <= max_length - prompt; per step and row: softmax, sort, sum",
        InferGreedy, CostGeneration, kSamplingCases, kGeneration),
    MakeContribGeneration("NGramRepeatBlock", "ngram_size compares per token", InferRepeatBlock,
                          CostRepeatBlock, kRepeatBlockCases),
};

}  // namespace

OpCost CostOfGeneration(const OpContext& ctx, const GenerationRun& run) {
  OpCost cost = StreamAll(ctx);
  constexpr DType kType = DType::kFloat32;  // logits are scored in this type
  const Count rows = run.steps * run.rows, logits = rows * run.vocabulary;
  if (ctx.op() == "GreedySearch") {
    cost.work.Add(OpClass::kCompare, kType, Folds(logits, rows));
    return cost;
  }
  if (ctx.op() == "Sampling") {
    AddSoftmax(cost.work, kType, logits, rows);
    std::int64_t rounds = 0;
    while ((Count(std::int64_t{1} << rounds)) < run.vocabulary) ++rounds;
    cost.work.Add(OpClass::kCompare, kType, logits * rounds);
    cost.work.Add(OpClass::kAdd, kType, Folds(logits, rows));
    cost.work.Add(OpClass::kInteger, DType::kInt32, rows);
    return cost;
  }
  // Log-softmax: the largest, differences to it, exponentials, the logarithm of their sum.
  cost.work.Add(OpClass::kCompare, kType, Folds(logits, rows) + logits);
  cost.work.Add(OpClass::kAdd, kType, logits * 2 + Folds(logits, rows) + logits);
  cost.work.Add(OpClass::kExp, kType, logits);
  cost.work.Add(OpClass::kLog, kType, rows);
  return cost;
}

std::span<const OpDef> ContribGenerationOps() { return kContribGenerationOps; }

}  // namespace dlcost
