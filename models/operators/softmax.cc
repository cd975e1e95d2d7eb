#include "estimator/core/error.h"
#include "models/operators/common.h"
#include "models/operators/counting.h"
#include "models/operators/families.h"

namespace dlcost {
namespace {

// Counting, with E elements in R rows. Softmax: E - R comparisons (the largest), E subtractions, E
// exps, E - R additions, E divisions. LogSoftmax: the same, with R logs and E subtractions in place
// of the divisions. Hardmax: E - R comparisons.
// Losses, with P positions: 1 negation per position, 1 multiplication when there are weights; mean
// and sum add P - 1 times; a mean divides once and sums the weights, P - 1 additions, where given.

// Before version 13 the input is flattened to two dimensions at `axis` (default 1) and rows are
// whole; since 13 one axis (default -1) is normalized.
ReduceNest SoftmaxNest(const OpContext& ctx) {
  const Shape& x = ctx.InputShape(0);
  const bool flattened = ctx.since() < 13;
  const std::int64_t axis = ctx.Int("axis", flattened ? 1 : -1);
  const Count elements = x.Elements();
  Count reduce = 1;
  if (flattened) {
    // One behind the last axis leaves rows of one element; the last itself is -1 (version 11).
    reduce = x.Product(NormalizeAxis(axis, x.rank(), /*for_insertion=*/axis >= 0), x.rank());
  } else if (x.rank() > 0) {
    reduce = x.At(axis);
  }
  return {.outer = reduce > Count(0) ? elements / reduce : Count(0), .reduce = reduce};
}

void InferSoftmax(OpContext& ctx) {
  InferSameAsInput(ctx);
  SoftmaxNest(ctx);  // checks the axis
}

void AddLogSoftmax(Work& work, DType type, Count elements, Count rows) {
  work.Add(OpClass::kCompare, type, Folds(elements, rows));
  work.Add(OpClass::kAdd, type, elements * 2 + Folds(elements, rows));
  work.Add(OpClass::kExp, type, elements);
  work.Add(OpClass::kLog, type, rows);
}

OpCost CostSoftmax(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const ReduceNest nest = SoftmaxNest(ctx);
  AddSoftmax(cost.work, ctx.InputType(0), nest.outer * nest.reduce, nest.outer);
  cost.nest = nest;
  return cost;
}

OpCost CostLogSoftmax(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const ReduceNest nest = SoftmaxNest(ctx);
  AddLogSoftmax(cost.work, ctx.InputType(0), nest.outer * nest.reduce, nest.outer);
  cost.nest = nest;
  return cost;
}

OpCost CostHardmax(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const ReduceNest nest = SoftmaxNest(ctx);
  cost.work.Add(OpClass::kCompare, ctx.InputType(0), Folds(nest.outer * nest.reduce, nest.outer));
  cost.nest = nest;
  return cost;
}

bool Reduced(const OpContext& ctx) {
  const std::string reduction = ctx.String("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean") {
    throw Error("reduction '{}' is not one of none, sum, mean", Printable(reduction));
  }
  return reduction != "none";
}

// Scores [N, C, d...], labels [N, d...], optional weights [C]. The loss is a scalar, or one number
// per label.
void InferLoss(OpContext& ctx) {
  ctx.SetOutputType(0, ctx.InputType(0));
  ctx.SetOutputType(1, ctx.InputType(0));
  const Shape& scores = ctx.InputShape(0);
  const Shape& labels = ctx.InputShape(1);
  if (scores.rank() < 2) throw Error("the scores {} have no class axis", ToString(scores));
  std::vector<std::int64_t> dims = scores.dims();
  dims.erase(dims.begin() + 1);
  if (Shape(dims) != labels) {
    throw Error("the labels {} do not fit the scores {}", ToString(labels), ToString(scores));
  }
  ctx.SetOutput(0, ctx.InputType(0), Reduced(ctx) ? Shape() : labels);
  ctx.SetOutput(1, ctx.InputType(0),
                scores);  // log probabilities; no such output of the plain loss
}

void AddLikelihood(OpCost& cost, const OpContext& ctx) {
  const DType type = ctx.InputType(0);
  const Count positions = ctx.InputShape(1).Elements();
  const bool weighted = ctx.HasInput(2);
  const bool mean = ctx.String("reduction", "mean") == "mean";
  cost.work.Add(OpClass::kAdd, type, positions);
  if (weighted) cost.work.Add(OpClass::kMul, type, positions);
  if (!Reduced(ctx)) return;
  cost.work.Add(OpClass::kAdd, type, Folds(positions, 1) * Count(mean && weighted ? 2 : 1));
  if (mean) cost.work.Add(OpClass::kDiv, type, 1);
}

// Reads one score per label.
OpCost CostNegativeLogLikelihoodLoss(const OpContext& ctx) {
  OpCost cost;
  AddPartialRead(cost, ctx, 0, ctx.InputShape(1).Elements(), AccessKind::kGather);
  AddRead(cost, ctx, 1);
  AddRead(cost, ctx, 2);
  AddWrite(cost, ctx, 0);
  AddLikelihood(cost, ctx);
  cost.nest = ElementwiseNest{ctx.InputShape(1).Elements()};
  return cost;
}

OpCost CostSoftmaxCrossEntropyLoss(const OpContext& ctx) {
  OpCost cost = StreamAll(ctx);
  const Count rows = ctx.InputShape(1).Elements();
  AddLogSoftmax(cost.work, ctx.InputType(0), ctx.InputShape(0).Elements(), rows);
  AddLikelihood(cost, ctx);
  cost.nest = ReduceNest{.outer = rows, .reduce = ctx.InputDim(0, 1)};
  return cost;
}

// Rows of 1000: 999 comparisons, 1000 subtractions, 999 additions, 1000 divisions; 1000 exps apart.
constexpr OpCase kSoftmaxCases[] = {
    {.what = "a thousand classes",
     .inputs = "f32[8,1000]",
     .outputs = "f32[8,1000]",
     .flops = 8 * 3998,
     .bytes_read = 32000,
     .bytes_written = 32000},
    {.what = "one inner axis: 12 rows of 3",
     .attributes = "axis=1",
     .inputs = "f32[2,3,6]",
     .outputs = "f32[2,3,6]",
     .flops = 12 * (2 + 3 + 2 + 3),
     .bytes_read = 144,
     .bytes_written = 144},
    {.what = "opset 11, flattened at axis 1: 2 rows of 18",
     .inputs = "f32[2,3,6]",
     .outputs = "f32[2,3,6]",
     .flops = 2 * (17 + 18 + 17 + 18),
     .bytes_read = 144,
     .bytes_written = 144,
     .opset = 11},
    {.what = "opset 11, axis -1 is the last: 6 rows of 6",
     .attributes = "axis=-1",
     .inputs = "f32[2,3,6]",
     .outputs = "f32[2,3,6]",
     .flops = 6 * (5 + 6 + 5 + 6),
     .bytes_read = 144,
     .bytes_written = 144,
     .opset = 11},
};

// 12 rows of 3: 2 comparisons, 3 + 2 + 3 additions each.
constexpr OpCase kLogSoftmaxCases[] = {
    {.what = "one inner axis",
     .attributes = "axis=1",
     .inputs = "f32[2,3,6]",
     .outputs = "f32[2,3,6]",
     .flops = 12 * 10,
     .bytes_read = 144,
     .bytes_written = 144},
};

constexpr OpCase kHardmaxCases[] = {
    {.what = "2 comparisons in each of 2 rows",
     .inputs = "f32[2,3]",
     .outputs = "f32[2,3]",
     .flops = 4,
     .bytes_read = 24,
     .bytes_written = 24},
};

constexpr OpCase kNegativeLogLikelihoodLossCases[] = {
    {.what = "weighted mean over 6 positions: 6 neg, 6 mul, 5 + 5 add, 1 div",
     .inputs = "f32[2,5,3] i64[2,3] f32[5]",
     .outputs = "f32[]",
     .flops = 6 + 6 + 10 + 1,
     .bytes_read = 24 + 48 + 20,
     .bytes_written = 4},
    {.what = "not reduced",
     .attributes = "reduction='none'",
     .inputs = "f32[2,5] i32[2]",
     .outputs = "f32[2]",
     .flops = 2,
     .bytes_read = 8 + 8,
     .bytes_written = 8},
};

// 2 rows of 5: 4 comparisons, 5 + 4 + 5 additions; 2 negations, 1 addition, 1 division.
constexpr OpCase kSoftmaxCrossEntropyLossCases[] = {
    {.what = "mean, with log probabilities",
     .inputs = "f32[2,5] i64[2]",
     .outputs = "f32[] f32[2,5]",
     .flops = 2 * 18 + 4,
     .bytes_read = 40 + 16,
     .bytes_written = 4 + 40},
};

constexpr OpDef kSoftmaxOps[] = {
    {.name = "Softmax",
     .since = {1, 11, 13},
     .formula = "1 compare, 2 add, 1 exp, 1 div per element, less 1 compare and 1 add per row",
     .infer = InferSoftmax,
     .cost = CostSoftmax,
     .role = FusionRole::kReduction,
     .cases = kSoftmaxCases},
    {.name = "LogSoftmax",
     .since = {1, 11, 13},
     .formula = "1 compare, 3 add, 1 exp per element, less 1 compare and 1 add, plus 1 log per row",
     .infer = InferSoftmax,
     .cost = CostLogSoftmax,
     .role = FusionRole::kReduction,
     .cases = kLogSoftmaxCases},
    {.name = "Hardmax",
     .since = {1, 11, 13},
     .formula = "1 compare per element, less 1 per row",
     .infer = InferSoftmax,
     .cost = CostHardmax,
     .role = FusionRole::kReduction,
     .cases = kHardmaxCases},
    {.name = "NegativeLogLikelihoodLoss",
     .since = {12, 13, 22},
     .formula = "per label 1 add (negation), 1 mul by its weight, 1 add into the sum",
     .infer = InferLoss,
     .cost = CostNegativeLogLikelihoodLoss,
     .role = FusionRole::kReduction,
     .cases = kNegativeLogLikelihoodLossCases},
    {.name = "SoftmaxCrossEntropyLoss",
     .since = {12, 13},
     .formula = "LogSoftmax of the scores and NegativeLogLikelihoodLoss of that",
     .infer = InferLoss,
     .cost = CostSoftmaxCrossEntropyLoss,
     .role = FusionRole::kReduction,
     .cases = kSoftmaxCrossEntropyLossCases},
};

}  // namespace

std::span<const OpDef> SoftmaxOps() { return kSoftmaxOps; }

}  // namespace dlcost
